"""A set of images is pixels, decoded once."""

import os

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from cassle.typing import Patches, Pixels

SHARE = 0.6
"""How much of a GPU's free memory images may take; more of them stay on the host, pinned if half of its memory suffices."""


class Images:
    """Many images of one size, behind one index: `images[index]` is a batch of raw pixels, channels last in memory."""

    def __init__(self, pixels: UInt8[Tensor, "n height width 3"], device: torch.device | str | None = None):
        self.pixels, self.device = pixels, torch.device(device or pixels.device)

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width."""
        return tuple(self.pixels.shape[1:3])

    def __getitem__(self, index: Int[Tensor, " batch"]) -> UInt8[Tensor, "batch 3 height width"] | Patches:
        return self.pixels.index_select(0, index.to(self.pixels.device)).to(self.device, non_blocking=True).permute(0, 3, 1, 2)

    def to(self, device: torch.device | str) -> "Images":
        return Images(_placed(self.pixels, torch.device(device)), device)


class Ragged(Images):
    """Many images of different sizes, one after the other in one long row of bytes."""

    def __init__(
        self,
        pixels: UInt8[Tensor, " bytes"],
        starts: Int[Tensor, " n"],
        sizes: Int[Tensor, "n 2"],
        device: torch.device | str | None = None,
    ):
        super().__init__(pixels, device)
        self.starts, self.sizes = starts, sizes

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def size(self) -> None:
        """They differ."""

    def __getitem__(self, index: Int[Tensor, " batch"]) -> Patches:
        index = index.cpu()
        places = zip(self.starts[index].tolist(), self.sizes[index].tolist())
        rows = [self.pixels[start : start + 3 * h * w].view(h, w, 3) for start, (h, w) in places]
        return Patches(tuple(row.to(self.device, non_blocking=True).permute(2, 0, 1) for row in rows))

    def to(self, device: torch.device | str) -> "Ragged":
        return Ragged(_placed(self.pixels, torch.device(device)), self.starts, self.sizes, device)


def normalized(images: UInt8[Tensor, "batch 3 height width"], mean: Float[Tensor, "3"], std: Float[Tensor, "3"]) -> Pixels:
    """What a network sees of an image that is not augmented."""
    return (images / 255 - mean[:, None, None]) / std[:, None, None]


def _placed(pixels: Tensor, device: torch.device) -> Tensor:
    """On the GPU if there is room, else in pinned memory, else where they are: mapped from the disk."""
    if device.type != "cuda" or pixels.is_cuda or pixels.nbytes < SHARE * torch.cuda.mem_get_info(device)[0]:
        return pixels.to(device)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return pixels.pin_memory() if pixels.nbytes < memory / 2 else pixels
