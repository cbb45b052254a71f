"""One image file to pixels, or one reason why not; and the process in which that is done for files that nobody vouches for.

A decoder may crash, take forever or ask for all memory there is, on bytes that lie.  So it runs in a process of its own, which
knows nothing but this file, and gives up by itself.
"""

import os
import resource
import signal
import stat
import struct
import sys
import warnings
from hashlib import file_digest
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "DIB", "GIF", "TIFF", "PPM")
PIXELS, SIDE = 100_000_000, 20_000
"""Hardly a camera makes more: a mistake, or a bomb."""
BYTES = 1 << 30
LARGE = 16_000_000
"""Images of more pixels are decoded one at a time."""
SECONDS, PATIENCE = 60, 600
"""Of computing, and in all, for one file."""
MEMORY = 6 << 30
"""For one process."""
QUESTION = struct.Struct("<?i")
"""Whether it is decoded alone; its path's length."""
ANSWER = struct.Struct("<?iii32s")
"""Whether it is an image; its height (else the reason's length) and width; whether it is to be decoded alone; its file's SHA-256."""


class Unfit(Exception):
    """Why a file is not learned from."""


class Large(Exception):
    """To be decoded when no other image is."""


def decode(path: Path | str | bytes, short: int = 0, square: bool = False, largest: int = PIXELS) -> tuple[np.ndarray, bytes]:
    """Height x width x 3 in whole grey levels, upright, on white where it was transparent; and the file's SHA-256.

    Args:
        short: its shorter side is brought down to this many pixels, if it is longer; 0 leaves it.
        square: its shorter side is brought to `short`, up as well, and the middle is cut out.
        largest: an image of more pixels is `Large`.
    """
    try:
        with open(path, "rb", opener=_opened) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise Unfit("not a file")
            if about.st_size == 0:
                raise Unfit("empty")
            if about.st_size > BYTES:
                raise Unfit(f"{about.st_size:,} bytes are too many")
            pixels = _read(file, short, square, largest)
            file.seek(0)
            return pixels, file_digest(file, "sha256").digest()
    except (Unfit, Large):
        raise
    except IsADirectoryError:
        raise Unfit("a folder that cannot be opened") from None
    except Image.UnidentifiedImageError:
        raise Unfit("not an image") from None
    except (MemoryError, Image.DecompressionBombError):
        raise Unfit("too large") from None
    except OSError as error:
        raise Unfit(error.strerror or f"broken: {error}") from None
    except Exception as error:  # a decoder may fail in any way
        raise Unfit(f"broken: {error or type(error).__name__}") from None


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # does not wait for anybody at the other end of a pipe


def _read(file: BinaryIO, short: int, square: bool, largest: int) -> np.ndarray:
    with warnings.catch_warnings(action="ignore"), Image.open(file, formats=FORMATS) as image:  # of metadata, which is not looked at
        width, height = image.size
        if width * height > PIXELS or max(width, height) > SIDE:
            raise Unfit(f"{width} x {height} pixels are too many")
        if image.format != "MPO" and getattr(image, "n_frames", 1) > 1:  # MPO: a photograph, and smaller ones beside it
            raise Unfit(f"animated: {image.n_frames} frames")
        if width * height > largest:
            raise Large
        image.load()
        rgb = ImageOps.exif_transpose(_eight_bits(image)).convert("RGB")
    if square:
        rgb = ImageOps.fit(rgb, (short, short), Image.Resampling.BICUBIC)
    elif short and short < min(rgb.size):
        ratio = short / min(rgb.size)
        rgb = rgb.resize(tuple(max(short, round(side * ratio)) for side in rgb.size), Image.Resampling.BICUBIC)
    return np.asarray(rgb)


def _eight_bits(image: Image.Image) -> Image.Image:
    """Where Pillow's own way to RGB would clip or let the invisible shine through."""
    orientation = image.getexif().get(0x0112, 1)
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        levels = np.asarray(image)
        deep = image.format == "TIFF" and image.tag_v2.get(258, (0,)) != (16,)  # 12 bits, or 32
        if image.mode == "F" or deep or levels.min() < 0 or levels.max() > 65535:
            raise Unfit("not grey levels of 8 or 16 bits")
        eight = (levels >> 8).astype(np.uint8)
        if "transparency" in image.info:
            eight[levels == image.info["transparency"]] = 255
        plain = Image.fromarray(eight)
    elif image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        plain = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    else:
        return image
    plain.info = {}
    plain.getexif()[0x0112] = orientation
    return plain


def question(path: bytes, alone: bool) -> bytes:
    """What the process below is asked."""
    return QUESTION.pack(alone, len(path)) + path


def _serve(short: int, square: bool) -> None:
    """Answer for one path after the other, until nobody asks any more."""
    ask, answer = sys.stdin.buffer, sys.stdout.buffer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it decides when it ends
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most), most))
    Image.init()
    while head := ask.read(QUESTION.size):
        alone, length = QUESTION.unpack(head)
        path = ask.read(length)
        for timer, seconds in ((signal.ITIMER_PROF, SECONDS), (signal.ITIMER_REAL, PATIENCE)):
            signal.setitimer(timer, seconds)  # the signal ends the process, whatever it is at
        try:
            pixels, digest = decode(path, short, square, PIXELS if alone else LARGE)
            answer.write(ANSWER.pack(True, *pixels.shape[:2], 0, digest) + pixels.tobytes())
        except Large:
            answer.write(ANSWER.pack(False, 0, 0, 1, b""))
        except Unfit as reason:
            text = " ".join(str(reason).split())[:500].encode("utf-8", "replace")
            answer.write(ANSWER.pack(False, len(text), 0, 0, b"") + text)
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        answer.flush()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2] == "square")
