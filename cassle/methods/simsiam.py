"""SimSiam (Chen and He, 2021): predict the other view, without letting it move."""

from torch import nn

from cassle.kinds import Count, Some
from cassle.losses import Cosine, swap
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.typing import Batch, Scalar


class SimSiam(Method):
    """L = -E_i cos(h(z_i), stop(z_i')),   z_i' the other view of z_i"""

    def __init__(self, backbone: nn.Module, *, projector: Some[Count] = (2048, 2048, 2048), predictor: Count = 512):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector, bias=False, last_norm=True)), Cosine())
        self.h = mlp(self.encoder.dim, predictor, self.encoder.dim, bias=False)

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        return self.criterion(self.h(now.z), swap(now.z).detach()) / 2 - 1
