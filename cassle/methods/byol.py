"""BYOL (Grill et al., 2020): predict what a slow copy of yourself sees in the other view."""

from torch import nn

from cassle.clock import Clock
from cassle.kinds import Count, Share, Some
from cassle.losses import Cosine, swap
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.networks.twins import EMA
from cassle.typing import Batch, Scalar


class BYOL(Method):
    """L = sum over the views of E_i [ 2 - 2 cos(h(z_i), z'_i) ],   z' the slow copy's embedding of the other view

    # paper != code: a sum over the views here, their mean in the distillation; both as published.
    """

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (4096, 256),
        predictor: Count = 4096,
        momentum: tuple[Share, Share] = (0.99, 1.0),
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector)), Cosine())
        self.h = mlp(self.encoder.dim, predictor, self.encoder.dim)
        self.target = EMA(self.encoder, *momentum)

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        return len(now.z) * self.criterion(self.h(now.z), swap(self.target(batch.views).z))

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        self.target.update(self.encoder, clock.progress)
