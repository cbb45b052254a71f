"""One training step, from raw images to the two losses."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cassle.methods import Method
from cassle.networks.encoder import Embedding
from cassle.networks.norm import passes, statistics
from cassle.strategies import Strategy
from cassle.typing import Batch, Scalar


@dataclass(frozen=True)
class Losses:
    """What a step costs, and what it saw."""

    ssl: Scalar
    keep: Scalar
    now: Embedding
    batch: Batch
    watched: Scalar | float = 0.0
    """Of the probes that learn along: no gradient of it reaches the encoder."""

    @property
    def total(self) -> Scalar:
        return self.ssl + self.keep  # Eq. 5


class Learner(nn.Module):
    """Augment, rehearse, encode, and ask the method and the strategy for their losses.      (Eq. 5)

    Args:
        pupils: probes that learn beside the encoder, from batches of their own.
    """

    def __init__(
        self,
        method: Method,
        strategy: Strategy,
        augment: nn.Module,
        precision: torch.dtype = torch.float32,
        pupils: Sequence[nn.Module] = (),
    ):
        super().__init__()
        self.method, self.strategy, self.augment, self.precision = method, strategy, augment, precision
        self.pupils = nn.ModuleList(pupils)

    def forward(self, batch: Batch, shown: Batch | None = None) -> Losses:
        """`shown` is what the pupils learn from."""
        before = self._statistics() if self.pupils else None
        batch = self.augment(batch)  # x^A, x^B = aug(x), aug(x)
        batch = self.strategy.rehearse(batch, self.augment)  # a memory brings old images along
        with torch.autocast(batch.images.device.type, self.precision, enabled=self.precision != torch.float32):
            now = self.method.encoder(batch.views, maps=self.strategy.needs_maps)  # f = f_b(x), z = f_p(f)
            ssl = self.method.loss(now, batch)  # L_SSL(z^A, z^B)
            keep = self.strategy.penalty(now, batch, self.method)  # L_D, or any other price of change
            watched = self._watched(shown, before) if self.pupils else 0.0
        return Losses(ssl, keep, now, batch, watched)

    def _watched(self, shown: Batch, before: tuple[Tensor, Tensor]) -> Scalar:
        """What the pupils' lesson costs; `before`: the backbone's statistics, and how often they had moved, when the step began."""
        encoder, view = self.method.encoder, self.augment.view(shown, -1)
        moved = passes(encoder.backbone) - before[1]
        return torch.stack([pupil(encoder, view, shown.labels, before[0], moved) for pupil in self.pupils]).sum()

    def _statistics(self) -> tuple[Tensor, Tensor]:
        return statistics(self.method.encoder.backbone), passes(self.method.encoder.backbone)
