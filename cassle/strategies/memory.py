"""A memory of a few past images, and what all strategies have in common that rehearse them."""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Int
from torch import Tensor, nn

from cassle.distributed import gathered, rank, world
from cassle.methods.method import Method
from cassle.randomness import branch, fold
from cassle.strategies.strategy import Strategy
from cassle.typing import Batch, Task

LARGEST = (1 << 63) - 1


class Reservoir(nn.Module):
    """A uniform sample of all images ever offered, in a fixed place.      (Vitter, 1985, Algorithm R)

    The first `capacity` images are all kept; then image number s takes the place j = floor(u (s + 1)) if there is one.

    Args:
        capacity: how many images: each costs 3 x height x width bytes, 8 for its label and 4 for each of `dim`.
        size: their height and width.
        dim: of an embedding that is kept with each image; none if 0.
    """

    def __init__(self, capacity: int, size: tuple[int, int], dim: int = 0):
        super().__init__()
        self.register_buffer("images", torch.zeros(capacity, 3, *size, dtype=torch.uint8))
        self.register_buffer("labels", torch.zeros(capacity, dtype=torch.long))
        self.register_buffer("z", torch.zeros(capacity, dim) if dim else None)
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    @property
    def bytes(self) -> int:
        """What it occupies, full or empty."""
        return sum(buffer.nbytes for buffer in self.buffers())

    @torch.no_grad()
    def add(self, batch: Batch) -> None:
        """Offer it a batch; of several processes, everybody's, so that all hold the same."""
        images = gathered(batch.images)
        place = torch.arange(len(images), device=images.device)
        number, capacity = self.seen + place, len(self.images)
        chance = (fold(branch(batch.key, "reservoir"), number) & LARGEST) % (number + 1)
        slot = torch.where(number < capacity, number, chance).clamp(max=capacity)  # the last slot is for those who stay out
        # Of several newcomers to a slot the last one stays, as if they had come one by one.
        newcomer = place.new_full((capacity + 1,), -1).scatter_reduce(0, slot, place, "amax")[:capacity]
        for old, new in ((self.images, images), (self.labels, gathered(batch.labels)), *self._embeddings(batch)):
            stays = (newcomer < 0).view(-1, *[1] * (old.ndim - 1))
            old.copy_(torch.where(stays, old, new[newcomer.clamp(min=0)]))
        self.seen += len(images)

    def sample(self, key: Int[Tensor, ""], n: int) -> Batch:
        """n different images, as far as there are so many; then the round begins again.

        Several processes share one draw, and each has its part of it.  An image's index is negative, and another at each place
        of the draw: the task's own are not, and no two are augmented alike.
        """
        slots = torch.arange(len(self.images), device=self.images.device)
        filled = self.seen.clamp(1, len(self.images))
        order = torch.where(slots < filled, fold(branch(key, "draw"), slots), LARGEST).argsort(stable=True)
        own = -(-n // world())
        place = rank() * own + torch.arange(own, device=slots.device)
        slot = order[place % filled]
        return Batch(self.images[slot], -1 - place, self.labels[slot], key, z=None if self.z is None else self.z[slot])

    def _embeddings(self, batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
        if self.z is not None:
            yield self.z, gathered(batch.z)


class Rehearsal(Strategy):
    """A strategy with a memory.

    It is filled at the end of a task: in the first there is nothing to rehearse, and an image's chance to be kept does not
    hang on how many epochs it was seen.
    # paper != code: Mammoth's ER, DER and LUMP fill it at every step, so that the present task is rehearsed as well.
    """

    one_size = True

    def __init__(self, capacity: int):
        super().__init__()
        self.capacity, self.memory, self.filled = capacity, None, False

    def begin_task(self, task: Task, method: Method) -> None:
        self.memory = self.memory or Reservoir(self.capacity, task.size)
        self.filled = not task.first

    def recall(self, batch: Batch, augment: Callable[[Batch], Batch], n: int) -> Batch:
        """n images of the past for this step, augmented by chances of their own."""
        return augment(self.memory.sample(branch(batch.key, "memory"), n))

    def end_task(self, task: Task, method: Method, batches: Iterator[Batch]) -> None:
        for batch in batches:
            self.memory.add(batch)
