"""A queue of past embeddings."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.typing import Views


class Queue(nn.Module):
    """The last `size` embeddings of each view; at first, random directions.      (He et al., 2020)"""

    def __init__(self, size: int, dim: int, views: int = 2):
        super().__init__()
        self.register_buffer("z", F.normalize(torch.randn(views, dim, size), dim=1))
        self.register_buffer("head", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def push(self, z: Views) -> None:
        """The newest take the place of the oldest, without the host knowing where that is."""
        size = self.z.shape[2]
        z = z[:, -size:].to(self.z.dtype)
        place = (self.head + torch.arange(z.shape[1], device=z.device)) % size
        self.z.index_copy_(2, place, z.mT)
        self.head.copy_((self.head + z.shape[1]) % size)

    def nearest(self, z: Views) -> Views:
        """Of all that are queued for the first view, the one that points most nearly where each z points."""
        supports = self.z[0].to(z.dtype)
        return supports.T[(F.normalize(z, dim=-1) @ supports).argmax(-1)].type_as(z)

    @torch.no_grad()
    def clear(self) -> None:
        """Nothing but zeros."""
        self.z.zero_()
        self.head.zero_()
