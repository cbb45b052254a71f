"""Which images a step sees."""

import torch
from jaxtyping import Int
from torch import Tensor

from cassle.clock import Clock
from cassle.data.dataset import Split
from cassle.distributed import rank, world
from cassle.randomness import key, permutation
from cassle.typing import Batch, Task


class Batches:
    """A task's images in batches, shuffled anew each epoch; the rest that does not fill a batch waits for the next.

    The order hangs on (seed, task, epoch) alone, so that any step can be had without those before it. Of several processes,
    each has its part of the batch that one would have.

    Args:
        purpose: another one has another order.
    """

    def __init__(self, split: Split, task: Task, batch_size: int, purpose: str = "order"):
        self.split, self.task, self.batch_size, self.purpose = split, task, batch_size, purpose
        self.device = split.images.device
        self.labels, self.index = split.labels.to(self.device), task.index.to(self.device)
        self.epoch, self.order = -1, self.index

    @property
    def epoch_steps(self) -> int:
        return len(self.task) // self.batch_size

    def __call__(self, clock: Clock) -> Batch:
        """The batch of the clock's step."""
        if clock.epoch != self.epoch:
            self.epoch = clock.epoch
            self.order = self._shuffled(clock)
        own = self.batch_size // world()
        start = clock.step % clock.epoch_steps % self.epoch_steps * self.batch_size + rank() * own
        index = self.order[start : start + own]
        return Batch(self.split.images[index], index, self.labels[index], clock.key, epoch=clock.epoch)

    def _shuffled(self, clock: Clock) -> Int[Tensor, " n"]:
        return self.index[permutation(key(clock.seed, self.purpose, clock.task, clock.epoch), len(self.index), self.device)]
