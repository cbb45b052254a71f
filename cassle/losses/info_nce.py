"""InfoNCE: find your target among everybody's."""

import torch
from torch.nn import functional as F

from cassle.kinds import Positive
from cassle.losses.criterion import Criterion
from cassle.typing import Scalar, Views


class InfoNCE(Criterion):
    """Each embedding must recognise its target among the targets of the whole batch, and each target its embedding.

    L = -1/2 E_i [ log softmax_j(cos(z_i, t_j) / T)_i + log softmax_j(cos(z_j, t_i) / T)_i ],   i, j over all views

    With `target=swap(z), exclude_self=True` this is NT-Xent, SimCLR's loss (Chen et al., 2020, Eq. 1).
    # paper != code: as a distillation loss, the text draws negatives from predicted and frozen features alike; the
    # published code, and this class, contrast with all of the other side only, the sibling view among them.
    """

    def __init__(self, temperature: Positive = 0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, z: Views, target: Views, *, exclude_self: bool = False) -> Scalar:
        """`exclude_self` says that target is swap(z): row (v, i) must not meet its own image's view v again."""
        z, target = (F.normalize(x.flatten(0, 1), dim=-1) for x in (z, target))
        logits = z @ target.T / self.temperature
        n = len(logits)
        if exclude_self:
            myself = torch.eye(n, dtype=torch.bool, device=z.device).roll(n // 2, dims=1)
            logits = logits.masked_fill(myself, float("-inf"))
        positive = torch.arange(n, device=z.device)
        return (F.cross_entropy(logits, positive) + F.cross_entropy(logits.T, positive)) / 2
