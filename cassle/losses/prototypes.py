"""Prototypes: belong where your target belongs."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.kinds import Count, Positive, Some
from cassle.losses.criterion import Criterion, exactly
from cassle.typing import Scalar, Views, full

Scores = Float[Tensor, "view batch prototype"]


class Prototypes(Criterion):
    """Both embeddings are assigned to prototypes; z must predict its target's assignment.

    L = -E_i sum_k a_ik log softmax_k(c_k z_i / T),   a_ik = softmax_k(c_k t_i / T),   z and t normalised

    (Caron et al., 2020, Eq. 2.)  A prototype is a direction times a length, both learned.

    Args:
        counts: how many prototypes; in each group, if there are several, which are then averaged over.
        unit: all lengths are 1, for good.
    """

    def __init__(self, dim: Count, counts: Some[Count] = (3000,), temperature: Positive = 0.1, unit: bool = False):
        super().__init__()
        self.dim, self.counts, self.temperature, count = dim, counts, temperature, sum(counts)
        direction = torch.empty(count, dim).uniform_(-(dim**-0.5), dim**-0.5)
        self.length = nn.Parameter(torch.ones(count, 1) if unit else direction.norm(dim=1, keepdim=True), requires_grad=not unit)
        self.direction = nn.Parameter(direction)

    def fresh(self) -> "Prototypes":
        """As many, but others, and free to move."""
        return Prototypes(self.dim, self.counts, self.temperature).to(self.direction)

    def scores(self, z: Views) -> Scores:
        """How near each embedding is to each prototype."""
        with exactly(z):
            return F.linear(F.normalize(full(z), dim=-1), F.normalize(self.direction, dim=1) * self.length)

    def forward(self, z: Views, target: Views, *, codes: Scores | None = None, student: Criterion | None = None) -> Scalar:
        """What a method may know besides.

        Args:
            codes: what the target's assignment is, instead of its softmax.
            student: prototypes of its own for z.
        """
        if codes is None:
            codes = torch.cat([part.softmax(-1) for part in self._groups(self.scores(target))], dim=-1).detach()
        predicted = torch.cat([part.log_softmax(-1) for part in self._groups((student or self).scores(z))], dim=-1)
        return -(codes * predicted).sum(-1).mean() / len(self.counts)

    def _groups(self, scores: Scores) -> tuple[Float[Tensor, "view batch _"], ...]:
        return (scores / self.temperature).split(self.counts, dim=-1)


@torch.no_grad()
def sinkhorn(scores: Float[Tensor, "*view batch prototype"], eps: float = 0.05, iterations: int = 3) -> Float[Tensor, "*view batch prototype"]:
    """Assignments near the scores under which all prototypes of a view are equally popular      (Cuturi, 2013)

    Rows sum to 1; columns, before the last division, to batch / prototypes.
    """
    with exactly(scores):
        log = full(scores) / eps
        for _ in range(iterations):
            log = log - log.logsumexp(-2, keepdim=True)
            log = log - log.logsumexp(-1, keepdim=True)
        return log.exp()
