"""EWC (Kirkpatrick et al., 2017): hold on to the weights that mattered."""

from collections.abc import Iterator
from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor

from cassle.distributed import summed, world
from cassle.kinds import Weight
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.strategies.strategy import Strategy
from cassle.typing import Batch, Scalar, Task


class EWC(Strategy):
    """L = L_SSL + w/2 sum_k F_k / E_j[F_j] (q_k - q'_k)^2,   q' the encoder's weights when the task began, F their importance

    F = sum over past tasks of E_b [ (dL_SSL(b) / dq)^2 ], b the batches of one more epoch at a task's end.      (their Eq. 3)

    They square the gradient of each image's log-likelihood; as in CaSSLe's paper, L_SSL takes its place.  It relates the
    images of a batch and has no gradient by image, so those of whole batches are squared.  Where images pull in different
    directions, that is smaller by about the batch's size, and methods' losses differ in scale by a hundred: hence importance is
    measured by its mean, so that one w suits them all.

    Args:
        weight: w; the paper tried three and does not say which.
        relative: measured by its mean; without, the equation is theirs.
    """

    def __init__(self, *, weight: Weight = 0.003, relative: bool = True):
        super().__init__()
        self.weight, self.relative, self.anchored = weight, relative, False
        self.register_buffer("anchor", None)
        self.register_buffer("fisher", None)

    def begin_task(self, task: Task, method: Method) -> None:
        self.anchored = not task.first
        if self.anchor is None:
            self.anchor = flat(list(method.encoder.parameters())).detach()
            self.fisher = torch.zeros_like(self.anchor)

    def penalty(self, now: Embedding, batch: Batch, method: Method) -> Scalar:
        if not (self.anchored and self.weight):
            return super().penalty(now, batch, method)
        moved = flat(list(method.encoder.parameters())) - self.anchor
        unit = self.fisher.mean().clamp(min=torch.finfo(self.fisher.dtype).tiny) if self.relative else 1
        return self.weight / 2 * (self.fisher / unit * moved.square()).sum()

    def end_task(self, task: Task, method: Method, batches: Iterator[Batch]) -> None:
        self.fisher += fisher(deepcopy(method), batches)  # a copy: its BatchNorm moves on
        self.anchor.copy_(flat(list(method.encoder.parameters())).detach())


def fisher(method: Method, batches: Iterator[Batch]) -> Float[Tensor, " weights"]:
    """The mean over batches of the squared gradient of the method's loss by its encoder's weights."""
    weights = list(method.encoder.parameters())
    total, count = torch.zeros_like(flat(weights)), 0
    for batch in batches:
        loss = method.loss(method.encoder(batch.views), batch)
        gradient = flat(torch.autograd.grad(loss, weights, materialize_grads=True))
        total += (summed(gradient) / world()).square()
        count += 1
    return total / max(count, 1)


def flat(weights: list[Tensor] | tuple[Tensor, ...]) -> Float[Tensor, " weights"]:
    return torch.cat([w.flatten() for w in weights])
