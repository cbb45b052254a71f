"""A set of images is pixels, decoded once."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from cassle.typing import Patches, Pixels

SHARE = 0.6
"""How much of a GPU's free memory images may take; more of them stay on the host, pinned if half of its memory suffices."""
SMALL = 1 << 28
"""Sets of fewer bytes are copied together: one row of pixels is quicker to take a batch from than several."""


class Images:
    """Many images of one size, behind one index: `images[index]` is a batch of raw pixels."""

    def __init__(self, pixels: UInt8[Tensor, "n height width 3"], device: torch.device | str | None = None):
        self.pixels, self.device = pixels, torch.device(device or pixels.device)

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width; None if they differ."""
        return tuple(self.pixels.shape[1:3])

    def __getitem__(self, index: Int[Tensor, " batch"]) -> UInt8[Tensor, "batch 3 height width"] | Patches:
        return self.pixels.index_select(0, index.to(self.pixels.device)).to(self.device, non_blocking=True).permute(0, 3, 1, 2)

    @property
    def bytes(self) -> int:
        return self.pixels.nbytes

    def to(self, device: torch.device | str) -> "Images":
        return self.placed(torch.device(device), self.bytes)

    def placed(self, device: torch.device, total: int) -> "Images":
        """Near a device; `total` bytes are to be placed, these and others."""
        return Images(_placed(self.pixels, device, total), device)

    def part(self, index: Int[Tensor, " k"]) -> "Images":
        """Some of them, copied."""
        return Images(self.pixels[index.to(self.pixels.device)], self.device)


class Ragged(Images):
    """Many images, of different sizes mostly, here and there in one long row of bytes."""

    def __init__(
        self,
        pixels: UInt8[Tensor, " bytes"],
        starts: Int[Tensor, " n"],
        sizes: Int[Tensor, "n 2"],
        device: torch.device | str | None = None,
    ):
        self.pixels, self.device = pixels, torch.device(device or pixels.device)
        self.starts, self.sizes = starts, sizes
        self.alike = len(sizes) > 0 and bool((sizes == sizes[0]).all())

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def size(self) -> tuple[int, int] | None:
        return tuple(self.sizes[0].tolist()) if self.alike else None

    def __getitem__(self, index: Int[Tensor, " batch"]) -> UInt8[Tensor, "batch 3 height width"] | Patches:
        index = index.cpu()
        places = zip(self.starts[index].tolist(), self.sizes[index].tolist())
        rows = [self.pixels[start : start + 3 * h * w].view(h, w, 3) for start, (h, w) in places]
        if self.alike:
            return torch.stack(rows).to(self.device, non_blocking=True).permute(0, 3, 1, 2)
        return Patches(tuple(row.to(self.device, non_blocking=True).permute(2, 0, 1) for row in rows))

    def placed(self, device: torch.device, total: int) -> "Ragged":
        return Ragged(_placed(self.pixels, device, total), self.starts, self.sizes, device)

    def part(self, index: Int[Tensor, " k"]) -> "Ragged":
        """Some of them, where they lie."""
        index = index.cpu()
        return Ragged(self.pixels, self.starts[index], self.sizes[index], self.device)


class Row(Images):
    """Several sets of images, one after the other, each where it lies."""

    def __init__(self, parts: Sequence[Images]):
        self.parts, self.device = tuple(parts), parts[0].device
        self.ends = torch.tensor([len(part) for part in parts]).cumsum(0)

    def __len__(self) -> int:
        return int(self.ends[-1])

    @property
    def size(self) -> tuple[int, int] | None:
        sizes = {part.size for part in self.parts}
        return sizes.pop() if len(sizes) == 1 else None

    def __getitem__(self, index: Int[Tensor, " batch"]) -> UInt8[Tensor, "batch 3 height width"] | Patches:
        index = index.cpu()
        owner = torch.bucketize(index, self.ends, right=True)
        places = [(owner == number).nonzero().flatten() for number in range(len(self.parts))]
        starts = (self.ends - self.ends.diff(prepend=self.ends.new_zeros(1))).tolist()
        found = [part[index[place] - start] for part, place, start in zip(self.parts, places, starts) if len(place)]
        order = torch.cat(places).argsort()
        if all(isinstance(batch, Tensor) for batch in found) and len({batch.shape[1:] for batch in found}) == 1:
            return torch.cat(found)[order.to(self.device)]
        pixels = [image for batch in found for image in (batch.unbind() if isinstance(batch, Tensor) else batch.pixels)]
        return Patches(tuple(pixels[place] for place in order.tolist()))

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    def placed(self, device: torch.device, total: int) -> Images:
        alike = self.size and all(type(part) is Images for part in self.parts)
        if alike and device.type == "cuda" and 2 * self.bytes < SHARE * torch.cuda.mem_get_info(device)[0]:
            return Images(torch.cat([part.pixels.to(device) for part in self.parts]))
        return Row([part.placed(device, total) for part in self.parts])

    def part(self, index: Int[Tensor, " k"]) -> Images:
        """Some of them, in the order that they have here."""
        index = index.cpu()
        edges = [0, *self.ends.tolist()]
        own = [index[(index >= start) & (index < end)] - start for start, end in zip(edges, edges[1:])]
        return joined([part.part(places) for part, places in zip(self.parts, own)])


def joined(parts: Sequence[Images]) -> Images:
    """Several sets as one; large ones stay where they lie."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    alike = {part.size if type(part) is Images else None for part in parts}
    if len(parts) > 1 and len(alike) == 1 and None not in alike and sum(part.bytes for part in parts) < SMALL:
        return Images(torch.cat([part.pixels for part in parts]))
    return parts[0] if len(parts) == 1 else Row(parts)


def mapped(path: Path) -> UInt8[Tensor, " bytes"]:
    """A file's bytes, read when they are looked at; to be looked at only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it cannot be written: a map that could would be charged to the memory
        return torch.from_numpy(np.memmap(path, np.uint8, "r"))


def normalized(images: UInt8[Tensor, "batch 3 height width"] | Pixels, mean: Float[Tensor, "3"], std: Float[Tensor, "3"]) -> Pixels:
    """What a network sees of an image that is not augmented."""
    return (images / 255 - mean[:, None, None]) / std[:, None, None]


def _placed(pixels: Tensor, device: torch.device, total: int) -> Tensor:
    """On the GPU if there is room, else in pinned memory, else where they are: mapped from the disk."""
    if device.type != "cuda" or pixels.is_cuda or pixels.nbytes < SHARE * torch.cuda.mem_get_info(device)[0]:
        return pixels.to(device)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return pixels.pin_memory() if total < memory / 2 else pixels
