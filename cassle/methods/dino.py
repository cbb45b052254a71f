"""DINO (Caron et al., 2021): a slow copy of yourself tells you, ever so sharply, where the other view belongs."""

import torch
from torch import nn

from cassle.clock import Clock
from cassle.distributed import gathered
from cassle.kinds import Count, Positive, Share, Some, Weight
from cassle.losses import Prototypes, crossed
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.networks.twins import EMA
from cassle.typing import Batch, Scalar


class DINO(Method):
    """L = -E_i sum_k p_ik' log softmax_k(c_k z_i / T),   p' = softmax((c_k' z_i' - m_k) / T')

    c', z' and T' the slow copy's, of the other view, m the running mean of its scores: sharpening keeps p' from
    being flat, centring from being always the same.  Small crops predict both large views.

    Args:
        teacher: T' at first and after `warmup` epochs of a task.
        freeze: epochs, at the beginning of each task, in which the prototypes do not move.
    """

    multicrop = True

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (2048, 2048, 256),
        prototypes: Count = 4096,
        temperature: Positive = 0.1,
        teacher: tuple[Positive, Positive] = (0.04, 0.07),
        warmup: Weight = 30,
        centre: Share = 0.9,
        freeze: Weight = 1,
        momentum: tuple[Share, Share] = (0.9995, 1.0),
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector)), Prototypes(projector[-1], (prototypes,), temperature, unit=True))
        self.target, self.teacher = EMA(self.encoder, *momentum), EMA(self.criterion, *momentum)
        self.temperatures, self.warmup, self.keep, self.freeze, self.scores = teacher, warmup, centre, freeze, None
        self.register_buffer("centre", torch.zeros(prototypes))

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        self.scores = gathered(self.teacher.copy.scores(self.target(batch.views[:2]).z), 1)
        cold, warm = self.temperatures
        temperature = cold + (warm - cold) * min(1, batch.epoch / max(1, self.warmup))
        codes = ((self.scores - self.centre) / temperature).softmax(-1)
        z, codes = crossed(now.z, codes)
        return self.criterion(z, z, codes=codes)

    def after_backward(self, clock: Clock) -> None:
        if clock.epoch < self.freeze:
            self.criterion.direction.grad = None

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        self.target.update(self.encoder, clock.progress)
        self.teacher.update(self.criterion, clock.progress)
        self.centre.lerp_(self.scores.mean((0, 1)), 1 - self.keep)
