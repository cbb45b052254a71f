"""Supervised learning: say which class it is. What the others try to do without."""

from torch import nn
from torch.nn import functional as F

from cassle.kinds import Count
from cassle.losses import Cosine
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.typing import Batch, Scalar, full


class Supervised(Method):
    """L = -E_i log softmax(W f_i + b)_y,   y the label of i

    There is no projector: z is f, and distillation keeps its direction.
    """

    labelled = True

    def __init__(self, backbone: nn.Module, *, classes: Count):
        super().__init__(Encoder(backbone, nn.Identity()), Cosine())
        self.classifier = nn.Linear(backbone.dim, classes)

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        return F.cross_entropy(full(self.classifier(now.f)).flatten(0, 1), batch.labels.repeat(len(now.f)))
