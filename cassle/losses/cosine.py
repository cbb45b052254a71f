"""Cosine: point the same way."""

from torch.nn import functional as F

from cassle.losses.criterion import Criterion
from cassle.typing import Scalar, Views


class Cosine(Criterion):
    """The squared distance of the normalised vectors: L = E_i [ 2 - 2 cos(z_i, t_i) ]      (Grill et al., 2020, Eq. 2)"""

    def forward(self, z: Views, target: Views) -> Scalar:
        return 2 - 2 * F.cosine_similarity(z, target, dim=-1).mean()
