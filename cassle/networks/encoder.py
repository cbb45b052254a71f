"""Backbone and projector: from views to embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cassle.networks.heads import Head
from cassle.typing import Pixels, Views


@dataclass(frozen=True)
class Embedding:
    """What the encoder makes of a batch: f = f_b(x), z = f_p(f), stacked by view."""

    f: Float[Tensor, "view batch features"]
    z: Views


class Encoder(nn.Module):
    """z = f_p(f_b(x)): the backbone f_b is what is kept in the end; the projector f_p is where the losses live."""

    def __init__(self, backbone: nn.Module, projector: Head):
        super().__init__()
        self.backbone, self.projector = backbone, projector

    @property
    def dim(self) -> int:
        """Of z."""
        return self.projector[-1].out_features

    def forward(self, views: Sequence[Pixels]) -> Embedding:
        f = torch.stack([self.backbone(x) for x in views])  # one view at a time: see Head
        return Embedding(f, self.projector(f))
