"""One image file to pixels, or one reason why not."""

import stat
import warnings
from pathlib import Path
from threading import Lock

import numpy as np
from PIL import Image, ImageOps

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "DIB", "GIF", "TIFF", "PPM")
PIXELS = 100_000_000
"""More in one image than any camera makes: a mistake, or a bomb."""
BYTES = 1 << 30
LARGE = 16_000_000
ONE_AT_A_TIME = Lock()
"""For images of more than LARGE pixels, so that many threads do not hold many of them."""

Image.init()  # all formats, not only those that Pillow knows at first
Image.MAX_IMAGE_PIXELS = None  # PIXELS is the limit here, told before anything is decoded


class Unfit(Exception):
    """Why a file is not learned from."""


def decode(path: Path, short: int = 0) -> np.ndarray:
    """Height x width x 3 in whole grey levels, upright, on white where it was transparent.

    Args:
        short: its shorter side is brought down to this many pixels, if it is longer; 0 leaves it.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise Unfit("not a file" if not stat.S_ISDIR(about.st_mode) else "a folder")
        if about.st_size == 0:
            raise Unfit("empty")
        if about.st_size > BYTES:
            raise Unfit(f"{about.st_size:,} bytes are too many")
        with warnings.catch_warnings(), Image.open(path, formats=FORMATS) as image:
            warnings.simplefilter("ignore")  # of metadata, which is not looked at
            width, height = image.size
            if width * height > PIXELS:
                raise Unfit(f"{width} x {height} pixels are too many")
            if image.format != "MPO" and getattr(image, "n_frames", 1) > 1:
                raise Unfit(f"animated: {image.n_frames} frames")
            if width * height <= LARGE:
                return _pixels(image, short)
            with ONE_AT_A_TIME:
                return _pixels(image, short)
    except Unfit:
        raise
    except Image.UnidentifiedImageError:
        raise Unfit("not an image") from None
    except MemoryError:
        raise Unfit("too large for this machine's memory") from None
    except Exception as error:  # a decoder may fail in any way on bytes that lie
        raise Unfit(f"broken: {error or type(error).__name__}") from None


def _pixels(image: Image.Image, short: int) -> np.ndarray:
    image.load()
    rgb = ImageOps.exif_transpose(_eight_bits(image)).convert("RGB")
    if short and short < min(rgb.size):
        ratio = short / min(rgb.size)
        rgb = rgb.resize(tuple(max(short, round(side * ratio)) for side in rgb.size), Image.Resampling.BICUBIC)
    return np.asarray(rgb)


def _eight_bits(image: Image.Image) -> Image.Image:
    """Where Pillow's own way to RGB would clip or let the invisible shine through."""
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        levels = np.asarray(image)
        if image.mode == "F" or levels.min() < 0 or levels.max() > 65535:
            raise Unfit("not grey levels of 8 or 16 bits")
        gray = Image.fromarray((levels >> 8).astype(np.uint8))
        gray.info, gray.getexif()[0x0112] = {}, image.getexif().get(0x0112, 1)
        return gray
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        exif, image = image.getexif(), image.convert("RGBA")
        flat = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        flat.getexif()[0x0112] = exif.get(0x0112, 1)
        return flat
    return image
