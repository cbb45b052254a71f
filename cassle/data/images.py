"""A set of images is pixels, decoded once."""

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from cassle.typing import Pixels


class Images:
    """Many images of one size, behind one index: `images[index]` is a batch of raw pixels, channels last in memory."""

    def __init__(self, pixels: UInt8[Tensor, "n height width 3"]):
        self.pixels = pixels

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return tuple(self.pixels.shape[1:3])

    def __getitem__(self, index: Int[Tensor, " batch"]) -> UInt8[Tensor, "batch 3 height width"]:
        return self.pixels.index_select(0, index).permute(0, 3, 1, 2)

    def to(self, device: torch.device | str) -> "Images":
        return type(self)(self.pixels.to(device))


def normalized(images: UInt8[Tensor, "batch 3 height width"], mean: Float[Tensor, "3"], std: Float[Tensor, "3"]) -> Pixels:
    """What a network sees of an image that is not augmented."""
    return (images / 255 - mean[:, None, None]) / std[:, None, None]
