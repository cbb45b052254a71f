"""Invariance: be equal."""

from torch.nn import functional as F

from cassle.kinds import Weight
from cassle.losses.criterion import Criterion
from cassle.typing import Scalar, Views


class Invariance(Criterion):
    """The mean squared error, over views, images and dimensions: L = w E_i,d [ (z_id - t_id)^2 ]

    VICReg's first term, at its weight of 25 (Bardes et al., 2022, Eq. 5).
    """

    def __init__(self, weight: Weight = 25.0):
        super().__init__()
        self.weight = weight

    def forward(self, z: Views, target: Views) -> Scalar:
        return self.weight * F.mse_loss(z, target)
