"""STL-10 (Coates et al., 2011): ten kinds of things at 96 pixels, 5,000 images with labels and 100,000 without."""

from pathlib import Path

import torch

from cassle.data.cifar100 import within
from cassle.data.dataset import Dataset, Split
from cassle.data.download import fetched
from cassle.data.images import Images, joined, mapped
from cassle.errors import UserError
from cassle.kinds import Folder

URL, MD5 = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz", "91f7769df0f17e558f3565bffb0c7dfb"
FOLDER, SIDE = "stl10_binary", 96


def stl10(root: Folder = "stl10", unlabelled: bool = True) -> Dataset:
    """The publisher's binaries, mapped from the disk; the root is the folder stl10_binary, or holds it.

    Args:
        unlabelled: learn from the images without a label as well; a stream of classes leaves them out.
    """
    place = within(Path(root), FOLDER)
    try:
        classes = tuple((place / "class_names.txt").read_text("utf-8").split())
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read ({error.strerror}); see `cassle data stl10`") from None
    parts = [_images(place / "train_X.bin")] + ([_images(place / "unlabeled_X.bin")] if unlabelled else [])
    test = _images(place / "test_X.bin")
    known = _labels(place / "train_y.bin", len(parts[0]), len(classes))
    labels = torch.cat((known, torch.full((sum(map(len, parts[1:])),), -1)))
    judged = _labels(place / "test_y.bin", len(test), len(classes))
    train = Split(joined(parts), labels, torch.zeros_like(labels))
    return Dataset("stl10", train, Split(test, judged, torch.zeros_like(judged)), classes, ("stl10",))


def fetch(root: Path | None) -> str:
    """Bring the publisher's archive, 2.5 GB of it."""
    return fetched("stl10", URL, MD5, root, FOLDER, "train_X.bin, train_y.bin, unlabeled_X.bin ...")


def _images(path: Path) -> Images:
    """An image's red, then its green, then its blue bytes, each column by column."""
    rows = _mapped(path, 3 * SIDE * SIDE).unflatten(1, (3, SIDE, SIDE))
    return Images(rows.permute(0, 3, 2, 1))


def _labels(path: Path, n: int, classes: int) -> torch.Tensor:
    """They count from 1."""
    labels = _mapped(path, 1).flatten().long() - 1
    if len(labels) != n or (n and not 0 <= labels.min() <= labels.max() < classes):
        raise UserError(f"{path}: want {n:,} labels from 1 to {classes}, got {len(labels):,} others; see `cassle data stl10`")
    return labels


def _mapped(path: Path, row: int) -> torch.Tensor:
    try:
        size = path.stat().st_size
        if not size or size % row:
            raise UserError(f"{path}: {size:,} bytes are not rows of {row:,}; is it whole? see `cassle data stl10`")
        return mapped(path).view(-1, row)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); see `cassle data stl10`") from None
