"""VICReg (Bardes et al., 2022): views agree, dimensions vary, and no two of them say the same."""

from torch import nn

from cassle.distributed import gathered
from cassle.kinds import Count, Some, Weight
from cassle.losses import Invariance, swap
from cassle.losses.criterion import exactly
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.typing import Batch, Scalar, Views, full


class VICReg(Method):
    """L = l E (z - z')^2 + m sum_v E_d max(0, 1 - std z_vd) + n sum_v sum_{d != e} cov(z_v)_de^2 / D

    CaSSLe distils it by the first term, at its weight.
    """

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (2048, 2048, 2048),
        invariance: Weight = 25.0,
        variance: Weight = 25.0,
        covariance: Weight = 1.0,
        local: bool = False,
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector)), Invariance(invariance))
        self.variance, self.covariance, self.local = variance, covariance, local

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        with exactly(now.z):
            z = full(now.z) if self.local else gathered(full(now.z), 1)
            return self.criterion(now.z, swap(now.z)) + self.variance * flatness(z) + self.covariance * redundancy(z)


def flatness(z: Views, eps: float = 1e-4) -> Scalar:
    """How far each dimension's standard deviation stays below 1: the mean, summed over views."""
    return (1 - (z.var(1, correction=min(1, z.shape[1] - 1)) + eps).sqrt()).relu().mean(1).sum()


def redundancy(z: Views) -> Scalar:
    """The squared covariances of unlike dimensions, summed; per dimension, summed over views."""
    z = z - z.mean(1, keepdim=True)
    c = z.mT @ z / max(1, z.shape[1] - 1)
    return (c.square().sum() - c.diagonal(dim1=1, dim2=2).square().sum()) / z.shape[2]
