"""Cross-correlation: every dimension predicts itself and no other."""

import torch

from cassle.kinds import Positive, Weight
from cassle.losses.criterion import Criterion
from cassle.typing import Scalar, Views


class CrossCorrelation(Criterion):
    """The correlation matrix of z and target over the batch should be the identity.

    L = s E_v [ sum_d (1 - C_dd)^2 + w sum_d,e!=d C_de^2 ]      (Barlow Twins: Zbontar et al., 2021, Eq. 1)
    """

    def __init__(self, off_diagonal: Weight = 5e-3, scale: Positive = 0.1):
        super().__init__()
        self.off_diagonal, self.scale = off_diagonal, scale

    def forward(self, z: Views, target: Views) -> Scalar:
        c = standardized(z).mT @ standardized(target) / z.shape[1]
        diagonal = c.diagonal(dim1=1, dim2=2)
        on, everything = (1 - diagonal).square().sum(1), c.square().sum((1, 2))
        off = everything - diagonal.square().sum(1)
        return self.scale * (on + self.off_diagonal * off).mean()


def standardized(z: Views, eps: float = 1e-5) -> Views:
    """Zero mean and unit variance over the batch, in every view and dimension: BatchNorm without its parameters."""
    variance, mean = torch.var_mean(z, dim=1, correction=0, keepdim=True)
    return (z - mean) / (variance + eps).sqrt()
