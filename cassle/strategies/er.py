"""ER (Robins, 1995; Chaudhry et al., 2019): learn a few old images again with the new ones."""

from collections.abc import Callable
from dataclasses import replace

import torch

from cassle.kinds import Count, Whole
from cassle.strategies.memory import Rehearsal
from cassle.typing import Batch


class ER(Rehearsal):
    """L = L_SSL(batch and replayed images together): old images join every batch, as if they were new.

    Args:
        capacity: of the memory, in images; the paper's is 500.
        batch: how many old images join; the paper tried three numbers and does not say which.
    """

    def __init__(self, *, capacity: Count = 500, batch: Whole = 64):
        super().__init__(capacity)
        self.batch = batch

    def rehearse(self, batch: Batch, augment: Callable[[Batch], Batch]) -> Batch:
        if not (self.filled and self.batch):
            return batch
        old = self.recall(batch, augment, self.batch)
        both = {name: torch.cat((getattr(batch, name), getattr(old, name))) for name in ("images", "index", "labels")}
        return replace(batch, **both, views=tuple(torch.cat(pair) for pair in zip(batch.views, old.views)))
