"""PODNet (Douillard et al., 2020): feature maps keep their energy by row and by column."""

from typing import Literal

import torch
from torch.nn import functional as F

from cassle.kinds import Weight
from cassle.networks.encoder import Embedding
from cassle.strategies.past import Distillation
from cassle.typing import Features, Maps, Scalar, full


class POD(Distillation):
    """L_D = s E_l E_i |p(h_li) - p(h'_li)| + w E_i [ 1 - cos(f_i, f'_i) ],   h_l the maps of stage l, h' and f' the past's

    p squares the maps, sums them by row and by column, and scales both sums together to length 1; l runs over all stages.
    # paper != code: PODNet's text squares the distances and not the maps; its code the maps and not the distances.
    Its maps are those before a stage's last ReLU, these come after it.

    Args:
        weight: of L_D; the paper tried five and does not say which.
        spatial: s; PODNet's is 3 on CIFAR-100.
        flat: w.
        past_norm: what the past's BatchNorm uses: the batch or its running statistics.
    """

    needs_maps = True

    def __init__(
        self, *, weight: Weight = 1.0, spatial: Weight = 3.0, flat: Weight = 1.0, past_norm: Literal["batch", "running"] = "batch"
    ):
        super().__init__(weight, past_norm)
        self.spatial, self.flat = spatial, flat

    def change(self, now: Embedding, past: Embedding) -> Scalar:
        pairs = [pair for views in zip(now.maps, past.maps) for pair in zip(*views)]
        spatial = torch.stack([(pooled(h) - pooled(before)).norm(dim=1).mean() for h, before in pairs]).mean()
        flat = 1 - F.cosine_similarity(full(now.f), full(past.f), dim=-1).mean()
        return self.spatial * spatial + self.flat * flat


def pooled(maps: Maps) -> Features:
    """By row, then by column, for every channel."""
    energy = full(maps).square()
    return F.normalize(torch.cat([energy.sum(3).flatten(1), energy.sum(2).flatten(1)], dim=1), dim=1)
