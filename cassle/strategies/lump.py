"""LUMP (Madaan et al., 2022): learn from mixtures of new and old images."""

from collections.abc import Callable
from dataclasses import replace

import torch

from cassle.distributed import world
from cassle.kinds import Count, Positive
from cassle.randomness import branch, uniform
from cassle.strategies.memory import Rehearsal
from cassle.typing import Batch, Scalar

QUANTILES = 4096


class LUMP(Rehearsal):
    """L = L_SSL(l x + (1 - l) m),   x the views of the batch, m those of as many old images, l ~ Beta(alpha, alpha)

    One l for all views and images of a step, as published, and for all processes.  Labels, for methods that are supervised,
    remain those of the new images.

    Args:
        capacity: of the memory, in images; CaSSLe's paper has 500.
        alpha: below 1, most mixtures are nearly the one or the other.
    """

    def __init__(self, *, capacity: Count = 500, alpha: Positive = 0.4):
        super().__init__(capacity)
        from scipy.special import betaincinv  # a second to load, and for nobody else

        middles = (torch.arange(QUANTILES, dtype=torch.float64) + 0.5) / QUANTILES
        self.register_buffer("quantiles", torch.from_numpy(betaincinv(alpha, alpha, middles.numpy())).float())

    def rehearse(self, batch: Batch, augment: Callable[[Batch], Batch]) -> Batch:
        if not self.filled:
            return batch
        old, mix = self.recall(batch, augment, len(batch) * world()), self.mixture(batch)
        return replace(batch, views=tuple(mix * x + (1 - mix) * m for x, m in zip(batch.views, old.views)))

    def mixture(self, batch: Batch) -> Scalar:
        """l of the batch's step: a number that hangs on the step's key, sent through the inverse distribution function."""
        u = uniform(branch(batch.key, "mixture"), torch.zeros_like(batch.key)[None], 1).squeeze()
        return self.quantiles.take((u * QUANTILES).long())
