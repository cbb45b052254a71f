"""Supervised learning: say which class it is. What the others try to do without."""

import torch
from torch import nn
from torch.nn import functional as F

from cassle.distributed import gathered
from cassle.kinds import Count
from cassle.losses import Cosine
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.typing import Batch, Scalar, full


class Supervised(Method):
    """L = -E_i log softmax_C(W f_i + b)_y,   y the label of i, C the classes in the batch

    Classes that are not there now, the past's above all, are not pushed down: that would tear up the features first.
    There is no projector: z is f, and distillation keeps its direction.
    """

    labelled = True

    def __init__(self, backbone: nn.Module, *, classes: Count):
        super().__init__(Encoder(backbone, nn.Identity()), Cosine())
        self.classifier = nn.Linear(backbone.dim, classes)

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        logits = full(self.classifier(now.f))
        absent = logits.new_full(logits.shape[-1:], -torch.inf).index_fill(0, gathered(batch.labels), 0.0)
        return F.cross_entropy((logits + absent).flatten(0, 1), batch.labels.repeat(len(now.f)))
