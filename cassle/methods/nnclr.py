"""NNCLR (Dwibedi et al., 2021): be recognised by your nearest neighbour's eyes."""

from torch import nn

from cassle.clock import Clock
from cassle.distributed import gathered
from cassle.kinds import Count, Positive, Some
from cassle.losses import InfoNCE, swap
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.networks.queue import Queue
from cassle.typing import Batch, Scalar


class NNCLR(Method):
    """L = -E_i log [ e(n_i, h(z_i')) / sum_j e(n_i, h(z_j')) ],   e = exp(cos / T), n_i the queue's nearest to z_i, z' the other view"""

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (2048, 2048, 256),
        predictor: Count = 4096,
        temperature: Positive = 0.2,
        queue: Count = 65536,
        local: bool = False,
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector)), InfoNCE(temperature, local))
        self.h = mlp(self.encoder.dim, predictor, self.encoder.dim)
        self.queue = Queue(queue, self.encoder.dim, views=1)

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        return self.criterion(self.queue.nearest(now.z.detach()), swap(self.h(now.z)), one_way=True)

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        self.queue.push(gathered(nn.functional.normalize(now.z[:1].detach(), dim=-1), 1))
