"""Backbone and projector: from views to embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.networks.heads import Head
from cassle.networks.norm import Norm
from cassle.typing import Features, Maps, Pixels, Scalar, Views, full


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

    together = False
    """Whether views of one size are encoded in one pass: the same numbers but for rounding, and faster on a GPU."""

    def __init__(self, backbone: nn.Module, projector: Head | nn.Identity, *, unit: bool = False):
        super().__init__()
        self.backbone, self.projector, self.unit = backbone, projector, unit

    @property
    def dim(self) -> int:
        """Of z."""
        outputs = [layer.out_features for layer in self.projector.modules() if isinstance(layer, nn.Linear)]
        return outputs[-1] if outputs else self.backbone.dim

    def forward(self, views: Sequence[Pixels], *, maps: bool = False) -> Embedding:
        f, stages = [], []
        for group in self._groups(views):
            x = self._stacked(group)
            seen = self.backbone.stages(x) if maps else ()
            f.extend((seen[-1].mean((2, 3)) if maps else self.backbone(x)).chunk(len(group)))
            stages.extend(zip(*(stage.chunk(len(group)) for stage in seen)))
        f = torch.stack(f)
        z = self.projector(f)
        return Embedding(f, F.normalize(z, dim=-1) if self.unit else z, tuple(stages))

    def features(self, view: Pixels) -> Features:
        """f of one view, without what lies beyond."""
        return self.backbone(self._stacked([view]))

    def _stacked(self, views: Sequence[Pixels]) -> Float[Tensor, "all 3 _ _"]:
        """One batch of several views, which BatchNorm will keep apart."""
        for norm in self.backbone.modules():
            if isinstance(norm, Norm):
                norm.views = len(views)
        return torch.cat(views) if len(views) > 1 else views[0]

    def _groups(self, views: Sequence[Pixels]) -> list[list[Pixels]]:
        """Views that are encoded in one pass: neighbours of one size, or each by itself."""
        numbered = groupby(enumerate(views), key=lambda pair: pair[1].shape if self.together else pair[0])
        return [[x for _, x in group] for _, group in numbered]
