"""SupCon (Khosla et al., 2020): SimCLR with labels; find everybody of your kind."""

from torch import nn

from cassle.distributed import gathered
from cassle.kinds import Count, Positive, Some
from cassle.losses import InfoNCE, swap
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.typing import Batch, Scalar


class SupCon(Method):
    """L = -E_i E_{p in P(i)} log [ exp(cos(z_i, z_p) / T) / sum_{j != i} exp(cos(z_i, z_j) / T) ],   P(i) all others with i's label

    The bound that labels give; distilled without them.
    # paper != code: its T is .1, but the published code distils it with .2: `strategy.criterion={name="info_nce", temperature=0.2}`.
    """

    labelled = True

    def __init__(
        self, backbone: nn.Module, *, projector: Some[Count] = (2048, 128), temperature: Positive = 0.1, local: bool = False
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector, norm=False)), InfoNCE(temperature, local))

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        labels = batch.labels if self.criterion.local else gathered(batch.labels)
        return self.criterion(now.z, swap(now.z), exclude_self=True, labels=labels)
