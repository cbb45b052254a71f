"""SimCLR (Chen et al., 2020): find the other view of your image among all views of the batch."""

from torch import nn

from cassle.kinds import Count, Positive, Some
from cassle.losses import InfoNCE, swap
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.typing import Batch, Scalar


class SimCLR(Method):
    """L = -E_i log [ exp(cos(z_i, z_i') / T) / sum_{j != i} exp(cos(z_i, z_j) / T) ],   z_i' the other view of z_i

    Of more than two views, each must find all the others of its image.
    """

    multicrop = True

    def __init__(
        self, backbone: nn.Module, *, projector: Some[Count] = (2048, 256), temperature: Positive = 0.2, local: bool = False
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector, norm=False)), InfoNCE(temperature, local))

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        return self.criterion(now.z, swap(now.z), exclude_self=True)
