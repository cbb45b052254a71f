"""Gaussian blur as Pillow means it: three box blurs in each direction (Gwosdek et al., 2011)."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cassle.typing import Pixels

PASSES = 3
ONE = 1 << 24  # a weight of 1, in Pillow's fixed point


def gaussian_blur(images: Pixels, sigma: Float[Tensor, " batch"], largest: float = 2.0) -> Pixels:
    """Each image blurred with its own sigma, none above `largest`; a sigma of 0 changes nothing.

    Exact.  A box of radius r + a weighs the 2r + 1 nearest pixels fully and their two neighbours by a share; its sums
    fill 32 bits, which is why they are made in int32, whose overflow the last shift undoes.
    """
    reach = 1 + int((math.sqrt(4 * largest**2 + 1) - 1) / 2)
    weights = _box(_radius(sigma), reach)
    levels = images.int()
    for axis in (3, 2):
        for _ in range(PASSES):
            levels = _pass(levels, weights, axis)
    return levels.float()


def _radius(sigma: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """The box whose three passes have the variance sigma^2; rounded to float32 where Pillow is."""
    variance = ((sigma * sigma).double() / PASSES).float()
    whole = (((12 * variance.double() + 1).sqrt().float() - 1) / 2).floor()
    rest = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance)
    return whole + (rest.double() / (6 * (variance - (whole + 1) * (whole + 1)))).float()


def _box(radius: Float[Tensor, " batch"], reach: int) -> list[Int[Tensor, "batch 1 1 1"]]:
    """The weight of the pixels at each distance from 0 to `reach`."""
    whole = radius.int()
    inner = (ONE / (radius * 2 + 1).double()).float().int()
    outer = (ONE - (2 * whole + 1) * inner) // 2
    return [(inner * (whole >= d) + outer * (whole + 1 == d)).view(-1, 1, 1, 1) for d in range(reach + 1)]


def _pass(levels: Int[Tensor, "batch 3 height width"], weights: list[Tensor], axis: int) -> Int[Tensor, "batch 3 height width"]:
    length, reach = levels.shape[axis], len(weights) - 1
    first, last = levels.narrow(axis, 0, 1), levels.narrow(axis, length - 1, 1)
    line = torch.cat((*[first] * reach, levels, *[last] * reach), axis)
    total = levels * weights[0]
    for distance in range(1, reach + 1):
        left, right = line.narrow(axis, reach - distance, length), line.narrow(axis, reach + distance, length)
        total.add_((left + right).mul_(weights[distance]))
    return total.add_(ONE // 2).bitwise_right_shift_(24).bitwise_and_(255)
