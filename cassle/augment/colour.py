"""The operations that change a pixel's colour, as Pillow computes them on whole grey levels.

Masks are arithmetic on whole numbers (`clamp` for a comparison, `lerp` for a choice): exact, and vectorised everywhere.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cassle.augment.resize import choose
from cassle.typing import Pixels

Factor = Float[Tensor, " batch"]
Gray = Float[Tensor, "batch 1 height width"]


def brightness(images: Pixels, factor: Factor) -> Pixels:
    """Away from black, or towards it."""
    return _blend(torch.zeros_like(images[:, :1]), images, factor)


def contrast(images: Pixels, factor: Factor) -> Pixels:
    """Away from the image's mean grey, or towards it."""
    return _blend(_mean(_gray(images)), images, factor)


def saturation(images: Pixels, factor: Factor) -> Pixels:
    """Away from the image in grey, or towards it."""
    return _blend(_gray(images), images, factor)


def grayscale(images: Pixels) -> Pixels:
    """The luma of each pixel (ITU-R 601-2), three times."""
    return _gray(images).expand_as(images)


def solarize(images: Pixels, threshold: Factor | float = 128.0) -> Pixels:
    """Inverts what is at least the threshold; none is, if that is 256."""
    if isinstance(threshold, Tensor):
        threshold = threshold.view(-1, 1, 1, 1)
    return torch.lerp(images, 255 - images, (images - threshold).add_(1).clamp_(0, 1))


def hue(images: Pixels, factor: Factor) -> Pixels:
    """Turns the colour circle by a share of it, with hue, saturation and value on 256 levels each, as in Pillow's HSV.

    Exact for all 2^24 colours.  The hue (0 to 6 around the circle) is told by the weakest channel: it lies between
    the two others, at 1 (yellow) + (green - red) / chroma when that is blue, and so on around.
    """
    red, green, blue = images.split(1, dim=1)
    small, large = torch.minimum(red, green), torch.maximum(red, green)
    low, value = torch.minimum(small, blue), torch.maximum(large, blue)
    chroma = value - low
    not_blue, not_red = (blue - low).clamp_(max=1), (red - low).clamp_(max=1)
    not_either = not_blue * not_red
    lead = torch.lerp(green - red, torch.lerp(blue - green, red - blue, not_red), not_blue)
    beyond = lead.clamp(0, 1).mul_(not_either)  # magenta to red: an angle below 0 to Pillow, and rounded as such
    centre = (not_blue + not_either).mul_(2).add_(1).sub_(beyond, alpha=6)
    angle = _level(lead.div_(chroma.clamp(min=1)).add_(centre).div_(6).add_(beyond))
    angle = angle.add_((factor * 255).trunc().view(-1, 1, 1, 1).remainder(256))
    angle = angle.sub_((angle - 255).clamp_(0, 1), alpha=256).mul_(6)  # in 1530ths: whole numbers again
    fade = torch.cat(((angle - 765).abs_().neg_().add_(510), (angle - 510).abs_().sub_(255), (angle - 1020).abs_().sub_(255)), 1)
    depth = _level(chroma / value.clamp(min=1)).mul_(value).mul_(1 / 255**2)
    return torch.addcmul(value, depth, fade.clamp_(0, 255), value=-1).round_()


def jitter(images: Pixels, factors: Float[Tensor, "batch 4"], order: Int[Tensor, "batch 4"]) -> Pixels:
    """Brightness, contrast, saturation and hue (0 to 3), each image in its own order.  Factors 1, 1, 1, 0 change nothing.

    The first three are one operation, a blend with a grey image.  Each image takes its turns before the hue, all
    images turn their hue together, and each takes its turns after it: a blend that is not due has factor 1.
    """
    slot, turn = torch.arange(4, device=order.device), order.argmax(1, keepdim=True)
    factor = factors.gather(1, order)
    early, late = torch.where(slot < turn, factor, 1), torch.where(slot > turn, factor, 1)
    for i in (0, 1, 2):
        images = _blend(_degenerate(images, order[:, i]), images, early[:, i])
    images = choose(factors[:, 3] != 0, hue(images, factors[:, 3]), images)
    for i in (1, 2, 3):
        images = _blend(_degenerate(images, order[:, i]), images, late[:, i])
    return images


def _degenerate(images: Pixels, kind: Int[Tensor, " batch"]) -> Gray:
    """What brightness (0), contrast (1) and saturation (2) blend with: black, the mean grey, the grey image."""
    gray = _gray(images)
    mean = _mean(gray).mul_(_column(kind == 1))
    return gray.mul_(_column(kind == 2)).add_(mean)


def _blend(degenerate: Tensor, images: Pixels, factor: Factor) -> Pixels:
    return (images - degenerate).mul_(factor.view(-1, 1, 1, 1)).add_(degenerate).clamp_(0, 255).floor_()


def _gray(images: Pixels) -> Gray:
    red, green, blue = images.split(1, dim=1)
    luma = (red * (19595 / 65536)).add_(green, alpha=38470 / 65536).add_(blue, alpha=7471 / 65536)
    return luma.add_(0.5).floor_()  # 24 bits: no step of this rounds


def _mean(gray: Gray) -> Float[Tensor, "batch 1 1 1"]:
    total = gray.sum(3).double().sum((1, 2))  # a row's sum is exact in float32, a large image's may not be
    return total.div_(gray[0].numel()).add_(0.5).floor_().float().view(-1, 1, 1, 1)


def _level(share: Tensor) -> Tensor:
    """A share as a level of 0 to 255; in float64, for a product just below a whole number must stay below."""
    return share.double().mul_(255).floor_().float()


def _column(x: Tensor) -> Tensor:
    return x.float().view(-1, 1, 1, 1)
