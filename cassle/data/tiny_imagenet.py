"""Tiny ImageNet (Stanford CS231n, 2015): 200 classes of 500 images at 64 pixels."""

from collections.abc import Iterator
from pathlib import Path

from cassle.data.bank import Bank, Entry, bank
from cassle.data.dataset import IMAGENET_MEAN, IMAGENET_STD, Dataset
from cassle.data.folder import assembled, files
from cassle.errors import UserError
from cassle.kinds import Folder


def tiny_imagenet(root: Folder = "tiny-imagenet-200") -> Dataset:
    """Train, and the publisher's val as test images."""
    return assembled("tiny_imagenet", _banked(Path(root)), IMAGENET_MEAN, IMAGENET_STD)


def prepare(root: str = "tiny-imagenet-200") -> None:
    """Decode what is not decoded yet, with progress."""
    _banked(Path(root), show=True)


def _banked(root: Path, show: bool = False) -> Bank:
    return bank(root, lambda: _listed(root), show=show)


def _listed(root: Path) -> Iterator[Entry]:
    """train/WNID/images/FILE, and val/images/FILE with val_annotations.txt, whose lines are `FILE WNID ...`."""
    try:
        lines = (root / "val/val_annotations.txt").read_text("utf-8").splitlines()
        kinds = sorted(path.name for path in (root / "train").iterdir() if path.is_dir())
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read ({error.strerror}); see `cassle data tiny_imagenet`") from None
    for kind in kinds:
        for path in files(root, f"train/{kind}/images"):
            yield path, ("train", "", kind)
    for file, kind, *_ in (line.split() for line in lines if line.strip()):
        yield f"val/images/{file}", ("test", "", kind)
