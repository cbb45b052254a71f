"""What an encoder makes of a data set, computed once and shared by all probes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cassle.augment.resize import resized_crop
from cassle.data.dataset import Dataset, Split
from cassle.data.images import normalized
from cassle.networks.encoder import Encoder
from cassle.typing import Features, Patches, Pixels, full

BATCH = 512
MIDDLE = 7 / 8
"""How much of the shorter side is judged of images that are brought to one size: 224 of 256, say."""

Layer = Literal["backbone", "projector"]


@dataclass(frozen=True)
class Seen:
    """Some images of a split as an encoder sees them: f by its backbone, z by its projector."""

    f: Float[Tensor, "n dim"]
    z: Float[Tensor, "n projected"]
    labels: Int[Tensor, " n"]
    index: Int[Tensor, " n"]
    """Their places in the split, ascending."""

    def of(self, features: Layer) -> Features:
        return self.f if features == "backbone" else self.z

    def rows(self, index: Int[Tensor, " k"]) -> Int[Tensor, " rows"]:
        """Where those of the split's images are that are among these."""
        index = index.to(self.index.device)
        place = torch.searchsorted(self.index, index).clamp(max=len(self.index) - 1)
        return place[self.index[place] == index]


@dataclass(frozen=True)
class Encoded:
    """An encoder and the data set it is judged on: features of both splits, made when first asked for."""

    encoder: Encoder
    dataset: Dataset
    precision: torch.dtype = torch.float32
    size: int | None = None
    """The side that images are brought to; as they are, if None."""
    pause: Callable[[], None] = lambda: None
    """Called before each batch: a request to stop is heeded there."""

    @cached_property
    def train(self) -> Seen:
        """Of the labelled images: nobody can learn from others what to call them."""
        return self.seen(self.dataset.train, (self.dataset.train.labels >= 0).nonzero().flatten())

    @cached_property
    def test(self) -> Seen:
        return self.seen(self.dataset.test, torch.arange(len(self.dataset.test)))

    def seen(self, split: Split, index: Int[Tensor, " n"]) -> Seen:
        """Some images of a split."""
        device = split.images.device
        index = index.to(device)
        mean, std = self.dataset.pixel_statistics(device)
        parts = [self.embedded(normalized(sized(split.images[part], self.size), mean, std)) for part in index.split(BATCH)]
        empty = torch.zeros(0, 1, device=device)
        f, z = (torch.cat(both or [empty]) for both in (list(zip(*parts)) or [(), ()]))
        return Seen(f, z, split.labels.to(device)[index], index)

    @torch.no_grad()
    def embedded(self, x: Pixels) -> tuple[Features, Float[Tensor, "batch projected"]]:
        """f and z, in evaluation mode, which leaves every byte of the encoder as it was."""
        self.pause()
        training = self.encoder.training
        self.encoder.eval()
        with torch.autocast(x.device.type, self.precision, enabled=self.precision != torch.float32):
            now = self.encoder((x,))
        self.encoder.train(training)
        return full(now.f[0]), full(now.z[0])


def sized(images: Tensor | Patches, size: int | None) -> Float[Tensor, "batch 3 _ _"] | Tensor:
    """The middle of each image, brought to one size, if one is asked for."""
    if size is None:
        return images
    if isinstance(images, Patches):
        parts = images.split(1 if images.device.type == "cpu" else 32)
        return torch.cat([resized_crop(whole, _middle(sides), size) for whole, sides in (part.padded() for part in parts)])
    sides = torch.tensor(images.shape[2:], device=images.device).expand(len(images), 2)
    return resized_crop(images, _middle(sides), size)


def _middle(sides: Int[Tensor, "batch 2"]) -> Int[Tensor, "batch 4"]:
    """A square box around the centre."""
    side = (sides.amin(1, keepdim=True) * MIDDLE).round().long()
    return torch.cat(((sides - side) // 2, side, side), dim=1)
