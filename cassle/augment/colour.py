"""The operations that change a pixel's colour, as Pillow computes them on whole grey levels.

Each is exact on every pixel.  Masks are arithmetic on whole numbers (`clamp` for a comparison, `lerp` for a choice),
which is exact too, and which every device computes many at a time.
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
    """Turns the colour circle by a share of it, in Pillow's HSV of 256 levels each; exact for all 2^24 colours."""
    angle, depth, value = _hsv(images)
    angle.add_((factor * 255).trunc().remainder(256).view(-1, 1, 1, 1))
    return _rgb(angle.sub_((angle - 255).clamp_(0, 1), alpha=256), depth, value)


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
    """Rounded twice, like Pillow; a compiler that fuses product and sum moves 6 pixels in a million by one level."""
    return (images - degenerate).mul_(factor.view(-1, 1, 1, 1)).add_(degenerate).clamp_(0, 255).floor_()


def _gray(images: Pixels) -> Gray:
    red, green, blue = images.split(1, dim=1)
    luma = (red * (19595 / 65536)).add_(green, alpha=38470 / 65536).add_(blue, alpha=7471 / 65536)
    return luma.add_(0.5).floor_()  # 24 bits: no step of this rounds


def _mean(gray: Gray) -> Float[Tensor, "batch 1 1 1"]:
    total, count = gray.sum(3).long().sum((1, 2)), gray[0].numel()  # whole: a large image's sum would not fit float32
    return ((2 * total + count) // (2 * count)).float().view(-1, 1, 1, 1)


def _hsv(images: Pixels) -> tuple[Gray, Gray, Gray]:
    """Hue, saturation and value as levels.

    Around the circle (0 to 6) the weakest channel tells the place: if it is blue, yellow (1) + (green - red) / chroma,
    and likewise about cyan (3) and magenta (5).
    """
    red, green, blue = images.split(1, dim=1)
    small, large = torch.minimum(red, green), torch.maximum(red, green)
    low, value = torch.minimum(small, blue), torch.maximum(large, blue)
    chroma = value - low
    not_blue, not_red = (blue - low).clamp_(max=1), (red - low).clamp_(max=1)
    green_least = not_blue * not_red
    lead = torch.lerp(green - red, torch.lerp(blue - green, red - blue, not_red), not_blue)
    centre = (not_blue + green_least).mul_(2).add_(1)
    below = lead.clamp(0, 1).mul_(green_least)  # from magenta to red: Pillow's angle is negative, and so is its rounding
    angle = _ratio(lead, chroma).add_(centre.sub_(below, alpha=6))
    return _level((angle.double() / 6 + below).float()), _level(_ratio(chroma, value)), value


def _rgb(angle: Gray, depth: Gray, value: Gray) -> Pixels:
    """Each channel is the value, less what the depth of the colour takes away at this angle (in 1530ths)."""
    angle = angle * 6
    red, green, blue = (angle - 765).abs_().neg_().add_(510), (angle - 510).abs_().sub_(255), (angle - 1020).abs_().sub_(255)
    fade = torch.cat((red, green, blue), dim=1).clamp_(0, 255)
    return torch.addcmul(value, depth.mul_(value).mul_(1 / 255**2), fade, value=-1).round_()


def _ratio(part: Gray, whole: Gray) -> Gray:
    """The float32 nearest to the quotient (0 for 0 / 0): by way of float64, as a GPU may divide float32 carelessly."""
    return (part.double() / whole.clamp(min=1)).float()


def _level(share: Gray) -> Gray:
    """A share as a level of 0 to 255; in float64, for a product just below a whole number must stay below."""
    return share.double().mul_(255).floor_().float()


def _column(x: Tensor) -> Tensor:
    return x.float().view(-1, 1, 1, 1)
