"""Crop and resize, and mirror: the operations that move pixels.

Pillow resamples in fixed point, and a pixel is what an exact sum of whole numbers says.  Here every weight of 22 bits
is cut into two of 11, whose products with a pixel add up below 2^24: float32 is exact on them in any order, even in
TF32.  So a pixel depends neither on the device nor on the other images of the batch.
"""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn import functional as F

from cassle.typing import Pixels

Filter = Literal["bicubic", "bilinear"]
SUPPORT = {"bicubic": 2, "bilinear": 1}
HALF = 1 << 11  # half of a weight's 22 bits


def resized_crop(
    images: UInt8[Tensor, "batch 3 height width"],
    boxes: Int[Tensor, "batch 4"],
    size: int,
    filter: Filter = "bicubic",
) -> Float[Tensor, "batch 3 size size"]:
    """The box (top, left, height, width) of each image, resized to a square with antialiasing, as Pillow 13 does it.

    Exact up to an eightfold reduction.  Two passes, with rounding between them, horizontal first, except where a box
    loses more than twice as many rows as columns: such an image is turned over its diagonal before and after, with
    the weights exchanged, so that one order of computing serves both.
    """
    top, left, height, width = boxes.unbind(1)
    side = max(images.shape[2:])
    rows, columns = _weights(torch.cat((top, left)), torch.cat((height, width)), side, size, filter).chunk(2)
    square = F.pad(images, (0, side - images.shape[3], 0, side - images.shape[2]))
    lines = square.transpose(1, 2).to(torch.float32, memory_format=torch.contiguous_format)
    if images.shape[2] <= size:  # no box can lose rows
        return _resample(lines, columns, rows)
    turned = (height > size) & (height - size > 2 * (width - size))
    first, second = choose(turned, rows, columns), choose(turned, columns, rows)
    resized = _resample(choose(turned, lines.transpose(1, 3), lines), first, second)
    return choose(turned, resized.mT, resized)


def hflip(images: Pixels) -> Pixels:
    """Left becomes right."""
    return images.flip(-1)


def choose(mask: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """Per sample, `yes` where the mask is true and `no` elsewhere: exact for whole numbers, and faster on a CPU than torch.where."""
    return torch.lerp(no, yes, mask.to(no.dtype).view(-1, *[1] * (no.ndim - 1)))


def _resample(
    lines: Float[Tensor, "batch row 3 column"],
    columns: Float[Tensor, "batch weight column"],
    rows: Float[Tensor, "batch weight row"],
) -> Float[Tensor, "batch 3 size size"]:
    wide = lines.flatten(1, 2) @ columns.mT
    narrow = _rounded(*wide.chunk(2, dim=2)).view(*lines.shape[:3], -1)
    tall = rows @ narrow.flatten(2)
    low, high = (part.unflatten(2, (3, -1)).transpose(1, 2) for part in tall.chunk(2, dim=1))
    return _rounded(low, high)


def _rounded(low: Tensor, high: Tensor) -> Tensor:
    """The two halves of a fixed-point sum, to the nearest grey level; both are already divided by 2^11."""
    return torch.add(high, low.floor(), alpha=1 / HALF).add_(0.5).floor_().clamp_(0, 255).contiguous()


def _weights(
    start: Int[Tensor, " batch"], length: Int[Tensor, " batch"], limit: int, size: int, filter: Filter
) -> Float[Tensor, "batch weight old"]:
    """What each of `size` new pixels takes from the old ones, as rows of low halves, then of high halves."""
    scale = length.double()[:, None] / size  # float64 as in Pillow: the 22nd bit of a weight must be right
    stretch = scale.clamp(min=1)
    reach = SUPPORT[filter] * stretch
    centre = (torch.arange(size, device=start.device) + 0.5) * scale
    first = (centre - reach + 0.5).floor().clamp(min=0)
    taps = torch.arange(2 * math.ceil(SUPPORT[filter] * max(1, limit / size)) + 1, device=start.device)
    old = first[..., None] + taps
    end = (centre + reach + 0.5).floor().minimum(length[:, None])
    share = _KERNELS[filter](((old - centre[..., None] + 0.5) / stretch[..., None]).abs()) * (old < end[..., None])
    fixed = share / share.sum(-1, keepdim=True) * HALF**2
    fixed = (fixed + 0.5 * fixed.sign()).trunc()
    high = (fixed / HALF).floor()
    halves = torch.cat((fixed - high * HALF, high), dim=1).float() / HALF
    place = (old.long() + start[:, None, None]).repeat(1, 2, 1)
    dense = halves.new_zeros(len(start), 2 * size, limit + len(taps))  # taps beyond the box weigh nothing, but need a place
    return dense.scatter_(2, place, halves)[..., :limit]


def _bicubic(x: Tensor) -> Tensor:
    near = (1.5 * x - 2.5) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * -0.5
    return torch.where(x < 1, near, torch.where(x < 2, far, 0))


def _bilinear(x: Tensor) -> Tensor:
    return (1 - x).clamp(min=0)


_KERNELS = {"bicubic": _bicubic, "bilinear": _bilinear}
