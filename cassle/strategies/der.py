"""DER (Buzzega et al., 2020): old images must be embedded as they once were."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from torch.nn import functional as F

from cassle.kinds import Count, Weight
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding
from cassle.networks.twins import Frozen
from cassle.strategies.memory import Rehearsal, Reservoir
from cassle.typing import Batch, Scalar, Task, full


class DER(Rehearsal):
    """L = L_SSL + w E_i E_v E_d (z_vid - z'_id)^2,   i in the memory, z' its embedding when it was stored

    As in the paper, projections stand for the logits.  What is stored is of one augmented view, at the end of its task;
    all views of a replayed image are drawn to it.

    Args:
        capacity: of the memory, in images; the paper's is 500.
        batch: how many old images join each step.
        weight: w.
    """

    def __init__(self, *, capacity: Count = 500, batch: Count = 64, weight: Weight = 0.5):
        super().__init__(capacity)
        self.batch, self.weight = batch, weight

    def begin_task(self, task: Task, method: Method) -> None:
        self.memory = self.memory or Reservoir(self.capacity, task.size, method.encoder.dim)
        super().begin_task(task, method)

    def rehearse(self, batch: Batch, augment: Callable[[Batch], Batch]) -> Batch:
        if not (self.filled and self.weight):  # at weight 0 not even BatchNorm's statistics may see them
            return batch
        return replace(batch, old=self.recall(batch, augment, self.batch))

    def penalty(self, now: Embedding, batch: Batch, method: Method) -> Scalar:
        if batch.old is None:
            return super().penalty(now, batch, method)
        z = full(method.encoder(batch.old.views).z)
        return self.weight * F.mse_loss(z, batch.old.z.expand_as(z))

    def end_task(self, task: Task, method: Method, batches: Iterator[Batch]) -> None:
        encoder = Frozen(method.encoder)  # so that looking leaves no trace in the statistics
        super().end_task(task, method, (replace(batch, z=encoder(batch.views[:1]).z[0]) for batch in batches))
