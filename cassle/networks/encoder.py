"""Backbone and projector: from views to embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.networks.heads import Head
from cassle.typing import Maps, Pixels, Scalar, Views, full


@dataclass(frozen=True)
class Embedding:
    """What the encoder makes of a batch: f = f_b(x), z = f_p(f), stacked by view."""

    f: Float[Tensor, "view batch features"]
    z: Views
    maps: tuple[tuple[Maps, ...], ...] = ()
    """By view, then by stage of the backbone: what it computed on its way to f, if asked for."""

    @property
    def spread(self) -> Scalar:
        """How much the directions of z differ over the batch: about 1 if they point everywhere, 0 if collapsed into one.

        The mean standard deviation of the normalised embeddings' dimensions, times sqrt(dim).
        """
        directions = F.normalize(full(self.z.detach()), dim=-1)
        return directions.std(1, correction=0).mean() * directions.shape[-1] ** 0.5


class Encoder(nn.Module):
    """z = f_p(f_b(x)): the backbone f_b is what is kept in the end; the projector f_p is where the losses live.

    Args:
        unit: z has length 1.
    """

    def __init__(self, backbone: nn.Module, projector: Head | nn.Identity, *, unit: bool = False):
        super().__init__()
        self.backbone, self.projector, self.unit = backbone, projector, unit

    @property
    def dim(self) -> int:
        """Of z."""
        outputs = [layer.out_features for layer in self.projector.modules() if isinstance(layer, nn.Linear)]
        return outputs[-1] if outputs else self.backbone.dim

    def forward(self, views: Sequence[Pixels], *, maps: bool = False) -> Embedding:
        stages = tuple(self.backbone.stages(x) for x in views) if maps else ()
        f = torch.stack([s[-1].mean((2, 3)) for s in stages] or [self.backbone(x) for x in views])  # one view at a time: see Head
        z = self.projector(f)
        return Embedding(f, F.normalize(z, dim=-1) if self.unit else z, stages)
