"""CCSSL (Lin et al., 2021): old images keep their likenesses to each other."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from cassle.distributed import gathered
from cassle.kinds import Count, Positive, Weight
from cassle.losses.criterion import exactly
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding
from cassle.networks.twins import Frozen
from cassle.strategies.memory import Rehearsal
from cassle.typing import Batch, Scalar, Task, Views, full


class CCSSL(Rehearsal):
    """L_D = E_i KL(p'_i || p_i),   p_ij = softmax_{j != i}(cos(z_i, z_j) / T) over old images, p' the frozen past's

    From "Continual Contrastive Self-supervised Learning for Image Classification" (Lin, Wang, Lin): old images are not
    learned again; the encoder mimics the distribution of similarity that the past finds among them.  Not taken: the extra
    queue of old samples as negatives, which is a part of MoCo's loss and of no other method's.  Not known here, so chosen:
    T, w, how many images a step brings (all views of all of them are compared), and how they are chosen (uniformly).

    Args:
        capacity: of the memory, in images.
        batch: how many old images join each step.
        weight: of L_D.
        temperature: T.
        past_norm: what the past's BatchNorm uses: the batch or its running statistics.
    """

    def __init__(
        self,
        *,
        capacity: Count = 500,
        batch: Count = 64,
        weight: Weight = 1.0,
        temperature: Positive = 0.2,
        past_norm: Literal["batch", "running"] = "batch",
    ):
        super().__init__(capacity)
        self.batch, self.weight, self.temperature, self.past_norm, self.past = batch, weight, temperature, past_norm, None

    def begin_task(self, task: Task, method: Method) -> None:
        super().begin_task(task, method)
        if not task.first:
            self.past = Frozen(method.encoder, self.past_norm)

    def rehearse(self, batch: Batch, augment: Callable[[Batch], Batch]) -> Batch:
        if not (self.filled and self.weight):  # at weight 0 not even BatchNorm's statistics may see them
            return batch
        return replace(batch, old=self.recall(batch, augment, self.batch))

    def penalty(self, now: Embedding, batch: Batch, method: Method) -> Scalar:
        if batch.old is None:
            return super().penalty(now, batch, method)
        views = batch.old.views
        p, past = (self.likeness(e(views).z) for e in (method.encoder, self.past))
        return self.weight * F.kl_div(p, past, reduction="batchmean", log_target=True)

    def likeness(self, z: Views) -> Float[Tensor, "each other"]:
        """log p: of each embedding, to all others."""
        z = F.normalize(gathered(full(z), 1).flatten(0, 1), dim=1)
        with exactly(z):
            logits, n = z @ z.T / self.temperature, len(z)
        others = logits.flatten()[1:].view(n - 1, n + 1)[:, :-1].reshape(n, n - 1)  # all but the diagonal
        return others.log_softmax(1)
