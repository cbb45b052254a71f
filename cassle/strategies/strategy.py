"""What a continual strategy is: nothing, unless it says otherwise."""

from collections.abc import Callable, Iterator
from abc import ABC

from torch import nn

from cassle.clock import Clock
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding
from cassle.typing import Batch, Scalar, Task


class Strategy(nn.Module, ABC):
    """What a learner does so as not to forget.  Every hook does nothing: that is fine-tuning.

    Tensors to remember (a memory, Fisher information, a past encoder) are buffers or submodules made in `begin_task`
    from the task alone: that is what makes a killed run resume, by loading their contents strictly over them.
    """

    needs_maps = False
    """Whether `penalty` wants to see the backbone's feature maps, in `now.maps`."""
    one_size = False
    """Whether all images must be of one size."""

    def check(self, method: Method) -> None:
        """Refuse a method that it does not go with, before anything is learned."""

    def begin_task(self, task: Task, method: Method) -> None:
        """Keep a copy of the past."""

    def rehearse(self, batch: Batch, augment: Callable[[Batch], Batch]) -> Batch:
        """Bring old images along."""
        return batch

    def penalty(self, now: Embedding, batch: Batch, method: Method) -> Scalar:
        """The price of change, added to the method's loss."""
        return now.z.new_zeros(())

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        """Fill a memory."""

    def end_task(self, task: Task, method: Method, batches: Iterator[Batch]) -> None:
        """Look at the task's augmented batches once more, before they are gone."""

    @classmethod
    def indifferent_to_the_first_task(cls) -> bool:
        """Whether the first task leaves nothing in it, so that its training can be shared with fine-tuning."""
        hooks = ("rehearse", "after_step", "end_task")
        return all(getattr(cls, hook) is getattr(Strategy, hook) for hook in hooks)
