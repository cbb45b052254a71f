"""Barlow Twins (Zbontar et al., 2021): the views' dimensions agree, each with itself and with no other."""

from torch import nn

from cassle.kinds import Count, Positive, Some, Weight
from cassle.losses import CrossCorrelation, swap
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.typing import Batch, Scalar


class BarlowTwins(Method):
    """L = s sum_d (1 - C_dd)^2 + s w sum_d,e!=d C_de^2,   C the correlation of z^A and z^B over the batch"""

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (2048, 2048, 2048),
        off_diagonal: Weight = 5e-3,
        scale: Positive = 0.1,
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector)), CrossCorrelation(off_diagonal, scale))

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        return self.criterion(now.z, swap(now.z))
