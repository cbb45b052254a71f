"""ReSSL (Zheng et al., 2021): be as near to everybody as your slow copy's other view is."""

from torch import nn

from cassle.clock import Clock
from cassle.distributed import gathered
from cassle.kinds import Count, Positive, Share, Some
from cassle.losses import Cosine, swap
from cassle.losses.criterion import exactly
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.networks.queue import Queue
from cassle.networks.twins import EMA
from cassle.typing import Batch, Scalar, full


class ReSSL(Method):
    """L = -E_i sum_q p_iq' log softmax_q(cos(z_i, q) / T),   p' = softmax_q(cos(k_i', q) / T'),   k' the slow copy's other view, q queued

    Both directions, where the original keeps one view weak for the slow copy; distilled by direction.

    Args:
        teacher: T'.
    """

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (4096, 512),
        temperature: Positive = 0.1,
        teacher: Positive = 0.04,
        queue: Count = 65536,
        momentum: tuple[Share, Share] = (0.99, 1.0),
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector), unit=True), Cosine())
        self.target, self.queue, self.keys = EMA(self.encoder, *momentum), Queue(queue, self.encoder.dim, views=1), None
        self.temperature, self.warmth = temperature, teacher

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        self.keys = self.target(batch.views).z
        with exactly(now.z):
            crowd = self.queue.z[0].to(full(now.z).dtype)
            relations = (swap(full(self.keys)) @ crowd / self.warmth).softmax(-1)
            return -(relations * (full(now.z) @ crowd / self.temperature).log_softmax(-1)).sum(-1).mean()

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        self.target.update(self.encoder, clock.progress)
        self.queue.push(gathered(self.keys[:1], 1))
