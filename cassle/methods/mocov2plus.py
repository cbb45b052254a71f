"""MoCo v2+ (He et al., 2020; Chen et al., 2020): find your slow copy's other view among a long queue of others."""

from torch import nn

from cassle.clock import Clock
from cassle.distributed import gathered
from cassle.kinds import Count, Positive, Share, Some
from cassle.losses import InfoNCE, swap
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.networks.queue import Queue
from cassle.networks.twins import EMA
from cassle.typing import Batch, Scalar


class MoCoV2Plus(Method):
    """L = -E_i log [ e(z_i, k_i') / (e(z_i, k_i') + sum_q e(z_i, q)) ],   e = exp(cos / T), k' the slow copy's other view, q queued

    One queue for each view.  The queues are kept when a new task begins, as published.
    """

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (2048, 128),
        temperature: Positive = 0.2,
        queue: Count = 65536,
        momentum: tuple[Share, Share] = (0.99, 0.999),
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector, norm=False), unit=True), InfoNCE(temperature))
        self.target, self.queue, self.keys = EMA(self.encoder, *momentum), Queue(queue, self.encoder.dim), None

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        self.keys = self.target(batch.views).z
        return self.criterion(now.z, swap(self.keys), negatives=swap(self.queue.z))

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        self.target.update(self.encoder, clock.progress)
        self.queue.push(gathered(self.keys, 1))
