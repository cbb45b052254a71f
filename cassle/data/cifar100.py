"""CIFAR-100 (Krizhevsky, 2009): 60,000 photographs of a hundred kinds of things, at 32 pixels."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from cassle.data import archive
from cassle.data.dataset import Dataset, Split
from cassle.data.download import fetched
from cassle.data.images import Images
from cassle.errors import UserError
from cassle.kinds import Folder

URL, MD5 = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85"
FOLDER = "cifar-100-python"


def cifar100(root: Folder = "cifar100") -> Dataset:
    """The publisher's python archive; the root is the folder cifar-100-python, or holds it."""
    place = within(Path(root), FOLDER)
    classes = names(place / "meta", "fine_label_names")
    train, test = (split([place / half], "fine_labels", len(classes)) for half in ("train", "test"))
    return Dataset("cifar100", train, test, classes, ("cifar100",))


def fetch(root: Path | None) -> str:
    """Bring the publisher's archive."""
    return fetched("cifar100", URL, MD5, root, FOLDER, "train, test and meta")


def within(root: Path, inner: str) -> Path:
    """The folder that an archive unpacks to, if it is there."""
    return root / inner if (root / inner).is_dir() else root


def names(path: Path, key: str) -> tuple[str, ...]:
    """Of the classes."""
    return tuple(name if isinstance(name, str) else name.decode("utf-8", "replace") for name in _entry(path, archive.read(path), key, list))


def split(paths: Sequence[Path], key: str, classes: int) -> Split:
    """One half, out of archives whose rows are an image's red, then its green, then its blue bytes."""
    pixels, labels = [], []
    for path in paths:
        content = archive.read(path)
        rows, own = _entry(path, content, "data", np.ndarray), _entry(path, content, key, list)
        if rows.dtype != np.uint8 or rows.shape != (len(own), 3 * 32 * 32):
            raise UserError(f"{path}: want {len(own)} rows of 3072 bytes, got {rows.dtype} {rows.shape}")
        if not all(isinstance(label, int) and 0 <= label < classes for label in own):
            raise UserError(f"{path}: {key} has a label that is none of the {classes} classes")
        pixels.append(torch.from_numpy(np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))))
        labels += own
    known = torch.tensor(labels, dtype=torch.long)
    return Split(Images(torch.cat(pixels)), known, torch.zeros_like(known))


def _entry(path: Path, content: dict[str, archive.Part], key: str, kind: type) -> archive.Part:
    if not isinstance(content.get(key), kind):
        raise UserError(f"{path}: has no {key}, but {', '.join(map(repr, list(content)[:8]))}")
    return content[key]
