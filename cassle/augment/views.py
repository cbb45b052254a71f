"""The recipe of a view, and the module that makes all views of a batch."""

import dataclasses
import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn

from cassle.augment.blur import gaussian_blur
from cassle.augment.colour import grayscale, jitter, solarize
from cassle.augment.resize import choose, hflip, resized_crop
from cassle.kinds import Count, Positive, Share, Span, Weight
from cassle.randomness import fold, uniform
from cassle.typing import Batch, Patches, Pixels

ATTEMPTS = 10
DRAWS = {"crop": 4 * ATTEMPTS, "factor": 4, "order": 4, "jitter": 1, "gray": 1, "blur": 1, "sigma": 1, "solarize": 1, "flip": 1}
"""How many random numbers a view takes for what; new ones go to the end, lest old runs change."""

CACHE = 96 * 32**2
"""How many pixels a CPU augments at a time: as many as its cache holds, and its allocator keeps."""

TOGETHER, ROOM = 32, 32 * 1024**2
"""How many images of different sizes a GPU augments at a time, each in a square as large as the longest side; and their pixels in all."""


@dataclass(frozen=True)
class View:
    """How one view of an image is made, in this order; the defaults are SimCLR's for CIFAR (Chen et al., 2020)."""

    size: Count = 32
    scale: Span[Share] = (0.08, 1.0)
    """The crop's share of the image's area."""
    ratio: Span[Positive] = (0.75, 1.3333333333333333)
    """The crop's width over its height."""
    brightness: Weight = 0.8
    """The jitter's factor is between 1 - this and 1 + this; likewise for the next two."""
    contrast: Weight = 0.8
    saturation: Weight = 0.8
    hue: Share = 0.2
    """Of the colour circle, each way."""
    jitter: Share = 0.8
    """The chance of it; likewise for gray, blur, solarize and flip."""
    gray: Share = 0.2
    blur: Share = 0.0
    sigma: Span[Positive] = (0.1, 2.0)
    """Of the blur, in pixels."""
    solarize: Share = 0.0
    flip: Share = 0.5


def crop_boxes(
    u: Float[Tensor, "batch 40"],
    height: int | Int[Tensor, "batch 1"],
    width: int | Int[Tensor, "batch 1"],
    scale: tuple[float, float] = View.scale,
    ratio: tuple[float, float] = View.ratio,
) -> Int[Tensor, "batch 4"]:
    """(top, left, height, width) with a uniform area and log-ratio: the first of ten attempts that fits the image.

    If none fits, the largest centred box whose ratio is allowed.
    """
    area, shape, down, right = u.double().view(-1, ATTEMPTS, 4).unbind(2)  # float64: the same boxes everywhere, none beyond the edge
    height, width = (torch.as_tensor(side, dtype=area.dtype, device=u.device) for side in (height, width))
    area = height * width * _between(*scale, area)
    shape = _between(math.log(ratio[0]), math.log(ratio[1]), shape).exp()
    h, w = (area / shape).sqrt().round(), (area * shape).sqrt().round()
    fits = (h > 0) & (h <= height) & (w > 0) & (w <= width)
    top = (down * (height - h + 1)).floor()
    left = (right * (width - w + 1)).floor()
    attempts = torch.stack((top, left, h, w), dim=2)
    first = torch.where(fits, torch.arange(ATTEMPTS, device=u.device), ATTEMPTS).amin(1)
    chosen = attempts.gather(1, first.clamp(max=ATTEMPTS - 1)[:, None, None].expand(-1, 1, 4)).squeeze(1)
    h = height.minimum((width / ratio[0]).round())
    w = width.minimum((height * ratio[1]).round())
    centred = torch.stack((((height - h) / 2).floor(), ((width - w) / 2).floor(), h, w), dim=-1).reshape(-1, 4)
    return torch.where(first[:, None] < ATTEMPTS, chosen, centred).long()


class Augment(nn.Module):
    """Every view of every image, from the step's key and the images' indices alone: whatever batch an image is in."""

    def __init__(self, views: tuple[View, ...], mean: tuple[float, ...], std: tuple[float, ...]):
        super().__init__()
        self.views = views
        mean, std = (torch.tensor(x).view(3, 1, 1) for x in (mean, std))
        self.register_buffer("scale", 1 / (255 * std), persistent=False)
        self.register_buffer("shift", -mean / std, persistent=False)

    def forward(self, batch: Batch) -> Batch:
        return dataclasses.replace(batch, views=tuple(self.view(batch, number) for number in range(len(self.views))))

    def view(self, batch: Batch, number: int) -> Pixels:
        """One of them; by negative numbers, from the last, the same recipes with chances of their own."""
        view = self.views[number]
        u = uniform(fold(batch.key, torch.full_like(batch.key, number)), batch.index, sum(DRAWS.values()))
        ragged, host = isinstance(batch.images, Patches), batch.images.device.type == "cpu"
        if not ragged and not host:
            return self.normalise(augmented(batch.images, view, u))
        largest = 0 if ragged else math.prod(batch.images.shape[2:])
        if host:
            length = 1 if ragged else max(1, CACHE // max(view.size**2, largest))
        else:
            side = max(max(image.shape[1:]) for image in batch.images.pixels)
            length = max(1, min(TOGETHER, ROOM // side**2))
        pairs = zip(batch.images.split(length), u.split(length))
        return torch.cat([self.normalise(augmented(images, view, u)) for images, u in pairs])

    def normalise(self, images: UInt8[Tensor, "batch 3 height width"] | Pixels) -> Pixels:
        """(x / 255 - mean) / std, channels last, as networks want it; alone, this is how test images are prepared."""
        return (images * self.scale).add_(self.shift).contiguous(memory_format=torch.channels_last)


def augmented(
    images: UInt8[Tensor, "batch 3 height width"] | Patches, view: View, u: Float[Tensor, "batch draws"]
) -> Float[Tensor, "batch 3 size size"]:
    """One view of the images, in whole grey levels; what the recipe excludes (a chance of 0) costs nothing."""
    drawn = dict(zip(DRAWS, u.split(list(DRAWS.values()), dim=1)))
    happens = {name: (drawn[name] < getattr(view, name)).squeeze(1) for name in ("jitter", "gray", "blur", "solarize", "flip")}
    images, sizes = images.padded() if isinstance(images, Patches) else (images, None)
    height, width = images.shape[2:] if sizes is None else sizes.split(1, dim=1)
    x = resized_crop(images, crop_boxes(drawn["crop"], height, width, view.scale, view.ratio), view.size)
    if view.jitter:
        spans = [(max(0.0, 1 - s), 1 + s, 1) for s in (view.brightness, view.contrast, view.saturation)] + [(-view.hue, view.hue, 0)]
        columns = zip(spans, drawn["factor"].unbind(1))
        factors = [torch.where(happens["jitter"], _between(low, high, u), still) for (low, high, still), u in columns]
        x = jitter(x, torch.stack(factors, dim=1), drawn["order"].argsort(dim=1, stable=True))
    if view.gray:
        x = choose(happens["gray"], grayscale(x), x)
    if view.blur:
        sigma = torch.where(happens["blur"], _between(*view.sigma, drawn["sigma"].squeeze(1)), 0)
        x = gaussian_blur(x, sigma, largest=view.sigma[1])
    if view.solarize:
        x = solarize(x, torch.where(happens["solarize"], 128.0, 256.0))
    return choose(happens["flip"], hflip(x), x) if view.flip else x


def _between(low: float, high: float, u: Tensor) -> Tensor:
    return low + (high - low) * u
