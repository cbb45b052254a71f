"""SwAV (Caron et al., 2020): predict the cluster of your other view, all clusters being equally large."""

import torch
from torch import nn

from cassle.clock import Clock
from cassle.distributed import gathered
from cassle.kinds import Count, Positive, Some, Weight, Whole
from cassle.losses import Prototypes, crossed, sinkhorn
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.networks.queue import Queue
from cassle.typing import Batch, Scalar, Task


class SwAV(Method):
    """L = -E_i sum_k q_ik' log softmax_k(c_k z_i / T),   q' the other view's assignment, made equal by Sinkhorn

    Small crops predict the assignments of both large views.

    Args:
        queue: how many past embeddings of each view help to balance the assignments (0 for none), from `queue_from` epochs on.
        freeze: epochs, at the beginning of each task, in which the prototypes do not move.
        eps: the smaller, the harder the assignments; made in `iterations` rounds.
    """

    multicrop = True

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (2048, 128),
        prototypes: Count = 3000,
        temperature: Positive = 0.1,
        eps: Positive = 0.05,
        iterations: Count = 3,
        queue: Whole = 3840,
        queue_from: Weight = 50,
        freeze: Weight = 2,
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector)), Prototypes(projector[-1], (prototypes,), temperature))
        self.eps, self.iterations, self.freeze, self.queue_from = eps, iterations, freeze, queue_from
        self.queue = Queue(queue, self.encoder.dim) if queue else None

    def begin_task(self, task: Task) -> None:
        if self.queue:
            self.queue.clear()  # published; the prototypes go on

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        z = gathered(now.z[:2].detach(), 1)
        crowd = torch.cat((z, self.queue.z.mT.to(z.dtype)), dim=1) if self.queue and batch.epoch >= self.queue_from else z
        codes = sinkhorn(self.criterion.scores(crowd).detach(), self.eps, self.iterations)[:, : z.shape[1]]
        z, codes = crossed(now.z, codes)
        return self.criterion(z, z, codes=codes)

    def after_backward(self, clock: Clock) -> None:
        if clock.epoch < self.freeze:
            for parameter in self.criterion.parameters():
                parameter.grad = None

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        if self.queue:
            self.queue.push(gathered(now.z[:2], 1))
