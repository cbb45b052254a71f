"""Any file is either decoded right or refused with the reason; nothing hangs, nothing is silently wrong."""

import io
import os
import socket
import struct
import zlib
from hashlib import sha256

import numpy as np
import pytest
from PIL import Image

from cassle.data import decode as module
from cassle.data.decode import Large, Unfit, decode
from tests.data.layouts import pixels

RGB = pixels(1, 6, 9)
GRAY, ALPHA = RGB[..., 0], RGB[..., 1]


def png(width, height, kind, rows, *chunks):
    """A PNG written by hand: bits and colour type, rows with their filter bytes."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, *kind, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunk(*c) for c in chunks) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def saved(image, kind="PNG", **options):
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, kind, **options)
    return buffer.getvalue()


def on_white(rgb, alpha):
    a = alpha[..., None] / 255
    return rgb * a + 255 * (1 - a)


def gray(levels):
    return np.repeat(levels[..., None], 3, axis=2)


def palette(transparent=None):
    image = Image.fromarray(GRAY % 5)
    image.putpalette(bytes(range(15)), "RGB")
    return image, {} if transparent is None else {"transparency": transparent}


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags


COLOURS = np.arange(15, dtype=np.uint8).reshape(5, 3)[GRAY % 5]
DEEP = (GRAY.astype(np.uint16) << 8) + RGB[..., 2]
CMYK = np.dstack((RGB, GRAY[::-1]))
INK = (255.0 - RGB) * (255.0 - GRAY[::-1, :, None]) / 255
LONG = np.dstack([(RGB[..., c].astype(">u2") << 8) + GRAY for c in range(3)]).astype(">u2")
TURNED = {1: RGB, 2: RGB[:, ::-1], 3: RGB[::-1, ::-1], 4: RGB[::-1], 5: RGB.transpose(1, 0, 2), 6: np.rot90(RGB, -1), 7: RGB[::-1, ::-1].transpose(1, 0, 2), 8: np.rot90(RGB)}

RIGHT = {
    "png": (saved(RGB), RGB),
    "bmp": (saved(RGB, "BMP"), RGB),
    "ppm": (saved(RGB, "PPM"), RGB),
    "tiff": (saved(RGB, "TIFF"), RGB),
    "webp": (saved(RGB, "WEBP", lossless=True), RGB),
    "gray": (saved(GRAY), gray(GRAY)),
    "one bit": (saved(Image.fromarray(GRAY > 99)), gray((GRAY > 99) * 255)),
    "alpha": (saved(np.dstack((RGB, ALPHA))), on_white(RGB, ALPHA)),
    "alpha webp": (saved(np.dstack((RGB, ALPHA)), "WEBP", lossless=True, exact=True), on_white(RGB, ALPHA)),
    "gray and alpha": (saved(Image.merge("LA", [Image.fromarray(np.ascontiguousarray(x)) for x in (GRAY, ALPHA)])), on_white(gray(GRAY), ALPHA)),
    "palette": (saved(palette()[0]), COLOURS),
    "palette, one transparent": (saved(palette()[0], transparency=2), np.where((GRAY % 5 == 2)[..., None], 255, COLOURS)),
    "palette, each transparent": (saved(palette()[0], transparency=bytes([0, 50, 100, 200, 255])), on_white(COLOURS, np.array([0, 50, 100, 200, 255])[GRAY % 5])),
    "gif": (saved(palette()[0], "GIF"), COLOURS),
    "gif, transparent": (saved(palette()[0], "GIF", transparency=3), np.where((GRAY % 5 == 3)[..., None], 255, COLOURS)),
    "colour that is transparent": (saved(RGB, transparency=tuple(map(int, RGB[2, 3]))), np.where((RGB == RGB[2, 3]).all(2)[..., None], 255, RGB)),
    "16 bits": (saved(DEEP), gray(DEEP >> 8)),
    "16 bits tiff": (saved(DEEP, "TIFF"), gray(DEEP >> 8)),
    "16 bits, one transparent": (saved(DEEP, transparency=int(DEEP[1, 2])), gray(np.where(DEEP == DEEP[1, 2], 255, DEEP >> 8))),
    "16 bits pgm": (b"P5 9 6 65535\n" + DEEP.astype(">u2").tobytes(), gray(DEEP >> 8)),
    "16 bits of colour": (png(9, 6, (16, 2), b"".join(b"\0" + row.tobytes() for row in LONG)), LONG >> 8),
    "cmyk": (saved(Image.frombytes("CMYK", (9, 6), CMYK.tobytes()), "TIFF"), INK),
    **{f"turned {o}": (saved(RGB, exif=exif(o)), want) for o, want in TURNED.items()},
    "turned, with alpha": (saved(np.dstack((RGB, ALPHA)), exif=exif(6)), np.rot90(on_white(RGB, ALPHA), -1)),
    "turned, palette": (saved(palette()[0], exif=exif(8), transparency=2), np.rot90(np.where((GRAY % 5 == 2)[..., None], 255, COLOURS))),
    "turned, 16 bits": (saved(DEEP, exif=exif(3)), gray(DEEP >> 8)[::-1, ::-1]),
}


@pytest.mark.parametrize("case", RIGHT)
def test_pixels_are_what_the_file_means(tmp_path, case):
    content, want = RIGHT[case]
    (tmp_path / "image.jpg").write_bytes(content)  # a wrong name does not matter
    got, digest = decode(tmp_path / "image.jpg")
    assert got.dtype == np.uint8 and got.shape == want.shape and np.abs(got - want.astype(float)).max() <= 1
    assert digest == sha256(content).digest()
    if np.issubdtype(want.dtype, np.integer):
        assert np.array_equal(got, want)


def test_jpegs_are_near_what_they_were_made_of(tmp_path):
    smooth = np.dstack([np.add.outer(np.arange(64), np.arange(48) * c).astype(np.uint8) for c in (1, 2, 3)]) // 2
    cmyk = Image.frombytes("CMYK", (48, 64), np.dstack((255 - smooth, np.zeros((64, 48), np.uint8))).tobytes())
    for name, content in {
        "plain": saved(smooth, "JPEG", quality=95, subsampling=0),
        "cmyk": saved(cmyk, "JPEG", quality=95, subsampling=0),
        "mpo": saved(smooth, "MPO", quality=95, subsampling=0, save_all=True, append_images=[Image.new("RGB", (20, 20))]),
    }.items():
        (tmp_path / name).write_bytes(content)
        got, _ = decode(tmp_path / name)
        assert got.shape == smooth.shape and np.abs(got.astype(float) - smooth).mean() < 4, name


JPEG = saved(pixels(2, 80, 80), "JPEG")
FRAMES = {"save_all": True, "append_images": [Image.fromarray(pixels(4, 6, 9))]}
WRONG = {
    "empty": (b"", "empty"),
    "text": (b"this is not a picture", "not an image"),
    "html": (b"<html>404</html>" * 50, "not an image"),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not an image"),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "not an image"),
    "cut jpeg": (JPEG[: len(JPEG) // 2], "broken: .*truncated"),
    "cut png": (saved(pixels(3, 80, 80))[:9000], "broken|image file is truncated"),
    "cut webp": (saved(pixels(3, 80, 80), "WEBP", lossless=True)[:5000], "broken|not an image"),
    "head alone": (JPEG[:20], "broken|not an image|image file"),
    "wrong sum": (saved(RGB)[:60] + b"xxxx" + saved(RGB)[64:], "broken"),
    "animated gif": (saved(RGB, "GIF", **FRAMES), "animated: 2 frames"),
    "animated webp": (saved(RGB, "WEBP", **FRAMES), "animated: 2 frames"),
    "animated png": (saved(RGB, "PNG", **FRAMES), "animated: 2 frames"),
    "pages": (saved(RGB, "TIFF", **FRAMES), "animated: 2 frames"),
    "bomb": (png(60_000, 60_000, (8, 2), b"\0"), "too large"),
    "smaller bomb": (png(12_000, 12_000, (8, 2), b"\0"), "12000 x 12000 pixels are too many"),
    "thread": (png(20_001, 1, (8, 2), b"\0" * 60_004), "20001 x 1 pixels are too many"),
    "floats": (saved(Image.fromarray(np.ones((4, 4), np.float32)), "TIFF"), "not grey levels of 8 or 16 bits"),
    "32 bits": (saved(Image.fromarray(np.full((4, 4), 1000, np.int32)), "TIFF"), "not grey levels of 8 or 16 bits"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(tmp_path, case):
    content, reason = WRONG[case]
    (tmp_path / "image.jpg").write_bytes(content)
    with pytest.raises(Unfit, match=reason):
        decode(tmp_path / "image.jpg")


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "folder.jpg").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket"))
    (tmp_path / "zeros").symlink_to("/dev/zero")
    with open(tmp_path / "enormous", "wb") as file:
        file.truncate(1 << 40)
    for name, reason in {
        "pipe": "not a file",
        "loop": "symbolic links",
        "nowhere": "No such file",
        "folder.jpg": "folder|not a file",
        "socket": "No such device",
        "zeros": "not a file",
        "enormous": "bytes are too many",
    }.items():
        with pytest.raises(Unfit, match=reason):
            decode(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is open to root")
def test_what_may_not_be_read_is_said(tmp_path):
    (tmp_path / "closed").write_bytes(saved(RGB))
    (tmp_path / "closed").chmod(0)
    with pytest.raises(Unfit, match="Permission denied"):
        decode(tmp_path / "closed")


def test_sizes(tmp_path):
    (tmp_path / "a").write_bytes(saved(pixels(5, 40, 60)))
    for options, shape in {(0, False): (40, 60), (20, False): (20, 30), (50, False): (40, 60), (20, True): (20, 20), (50, True): (50, 50)}.items():
        assert decode(tmp_path / "a", *options)[0].shape == (*shape, 3)
    whole = np.asarray(Image.fromarray(pixels(5, 40, 60)).resize((30, 20), Image.Resampling.BICUBIC))
    assert np.array_equal(decode(tmp_path / "a", 20, True)[0], whole[:, 5:25])
    (tmp_path / "thin").write_bytes(saved(pixels(5, 3, 400)))
    assert decode(tmp_path / "thin", 2)[0].shape == (2, 267, 3)


def test_large_images_wait_for_their_turn(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(saved(pixels(5, 40, 60)))
    with pytest.raises(Large):
        decode(tmp_path / "a", largest=2399)
    assert decode(tmp_path / "a", largest=2400)[0].shape == (40, 60, 3)
    monkeypatch.setattr(module, "PIXELS", 2399)
    with pytest.raises(Unfit, match="40 pixels are too many"):
        decode(tmp_path / "a")


def test_random_bytes_and_random_damage_never_end_in_another_error(tmp_path):
    """Of a damaged file, either its pixels or the reason comes out."""
    chance = np.random.default_rng(0)
    whole = [saved(pixels(7, 24, 24), kind) for kind in ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM")]
    path = tmp_path / "a"
    for turn in range(300):
        content = bytearray(whole[turn % len(whole)])
        for place in chance.integers(0, len(content), 1 + turn % 5):
            content[place] = chance.integers(256)
        path.write_bytes(content)
        try:
            got, _ = decode(path)
            assert got.ndim == 3 and got.shape[2] == 3 and got.dtype == np.uint8
        except (Unfit, Large):
            pass
