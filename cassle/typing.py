"""The vocabulary of shapes, and the batch: what every room passes to the next."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

Views = Float[Tensor, "view batch dim"]
"""Embeddings stacked by view: z[v, i] is view v of image i."""
Scalar = Float[Tensor, ""]
Pixels = Float[Tensor, "batch 3 _ _"]
Maps = Float[Tensor, "batch _ _ _"]
Features = Float[Tensor, "batch dim"]


@dataclass(frozen=True)
class Task:
    """One piece of the stream: the images that are there now, and will be gone."""

    number: int
    """0 for the first."""
    index: Int[Tensor, " n"]
    """Which images of the training set it has."""
    size: tuple[int, int] | None = (32, 32)
    """The height and width of its images, before augmentation; None if they differ."""

    @property
    def first(self) -> bool:
        return self.number == 0

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class Patches:
    """Raw images of different sizes, where they lie: what a batch has instead of one tensor."""

    pixels: "tuple[UInt8[Tensor, '3 _ _'], ...]"

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def device(self) -> torch.device:
        return self.pixels[0].device

    def split(self, length: int) -> "list[Patches]":
        return [Patches(self.pixels[i : i + length]) for i in range(0, len(self), length)]

    def padded(self) -> "tuple[UInt8[Tensor, 'batch 3 height width'], Int[Tensor, 'batch 2']]":
        """One tensor, each image in its upper left corner, and their heights and widths."""
        sizes = torch.tensor([image.shape[1:] for image in self.pixels])
        whole = self.pixels[0].new_zeros(len(self), 3, *sizes.amax(0).tolist())
        for place, image in zip(whole, self.pixels):
            place[:, : image.shape[1], : image.shape[2]] = image
        return whole, sizes.to(whole.device)


@dataclass(frozen=True)
class Batch:
    """Images on their way through one step: raw first, then with their augmented views."""

    images: UInt8[Tensor, "batch 3 height width"] | Patches
    index: Int[Tensor, " batch"]
    """Which image of the training set each one is: what its augmentation's random numbers hang on."""
    labels: Int[Tensor, " batch"]
    """For methods that are supervised by name; nothing else reads them."""
    key: Int[Tensor, ""]
    """This step's key (`cassle.randomness`)."""
    views: tuple[Pixels, ...] = ()
    epoch: int = 0
    """Of its task."""
    old: "Batch | None" = None
    """Images of the past that a memory brings along, beside the task's own."""
    z: Features | None = None
    """What the encoder made of each when a memory took it in."""

    def __len__(self) -> int:
        return len(self.images)


def full(x: Tensor) -> Tensor:
    """At least float32: losses, norms and Sinkhorn lose too much in half precision."""
    return x if x.dtype == torch.float64 else x.float()
