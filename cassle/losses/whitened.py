"""Whitened: compare shapes, not correlations."""

import torch

from cassle.kinds import Weight
from cassle.losses.cosine import Cosine
from cassle.losses.criterion import Criterion
from cassle.typing import Scalar, Views


class Whitened(Criterion):
    """Another criterion on whitened operands: L(W z, W' t), with W cov(z) W^T = 1, view by view      (Ermolov et al., 2021)

    W is the inverse of the covariance's Cholesky factor.  A batch no larger than the dimension has a singular
    covariance; `eps` mixes the identity in.
    """

    def __init__(self, criterion: Criterion | None = None, eps: Weight = 1e-4):
        super().__init__()
        self.criterion, self.eps = criterion or Cosine(), eps

    def forward(self, z: Views, target: Views) -> Scalar:
        return self.criterion(self.whiten(z), self.whiten(target))

    def whiten(self, z: Views) -> Views:
        """Each view with zero mean and, over the batch, the identity as its covariance."""
        z = z - z.mean(1, keepdim=True)
        one = torch.eye(z.shape[2], dtype=z.dtype, device=z.device)
        covariance = (1 - self.eps) * (z.mT @ z) / max(1, z.shape[1] - 1) + self.eps * one
        factor, _ = torch.linalg.cholesky_ex(covariance)
        return torch.linalg.solve_triangular(factor, z.mT, upper=False).mT
