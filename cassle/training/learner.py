"""One training step, from raw images to the two losses."""

from dataclasses import dataclass

import torch
from torch import nn

from cassle.methods import Method
from cassle.networks.encoder import Embedding
from cassle.strategies import Strategy
from cassle.typing import Batch, Scalar


@dataclass(frozen=True)
class Losses:
    """What a step costs, and what it saw."""

    ssl: Scalar
    keep: Scalar
    now: Embedding
    batch: Batch

    @property
    def total(self) -> Scalar:
        return self.ssl + self.keep  # Eq. 5


class Learner(nn.Module):
    """Augment, rehearse, encode, and ask the method and the strategy for their losses.      (Eq. 5)"""

    def __init__(self, method: Method, strategy: Strategy, augment: nn.Module, precision: torch.dtype = torch.float32):
        super().__init__()
        self.method, self.strategy, self.augment, self.precision = method, strategy, augment, precision

    def forward(self, batch: Batch) -> Losses:
        batch = self.augment(batch)  # x^A, x^B = aug(x), aug(x)
        batch = self.strategy.rehearse(batch, self.augment)  # a memory brings old images along
        with torch.autocast(batch.images.device.type, self.precision, enabled=self.precision != torch.float32):
            now = self.method.encoder(batch.views, maps=self.strategy.needs_maps)  # f = f_b(x), z = f_p(f)
            ssl = self.method.loss(now, batch)  # L_SSL(z^A, z^B)
            keep = self.strategy.penalty(now, batch, self.method)  # L_D, or any other price of change
        return Losses(ssl, keep, now, batch)
