"""Tiny ImageNet (Stanford CS231n, 2015): 200 classes of 500 images at 64 pixels."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cassle.data.bank import bank
from cassle.data.cifar100 import within
from cassle.data.dataset import Dataset
from cassle.data.decoders import Entry
from cassle.data.download import fetched
from cassle.data.folder import assembled, files
from cassle.errors import UserError
from cassle.kinds import Folder

URL, MD5 = "http://cs231n.stanford.edu/tiny-imagenet-200.zip", "90528d7ca1a48142e341f4ef8d21d0de"
FOLDER = "tiny-imagenet-200"


def tiny_imagenet(root: Folder = "tiny_imagenet") -> Dataset:
    """Train, and the publisher's val as test images; the root is the folder tiny-imagenet-200, or holds it."""
    place = within(Path(root), FOLDER)
    return assembled("tiny_imagenet", [bank(place, partial(_listed, place))], ("",))


def fetch(root: Path | None) -> str:
    """Bring the publisher's archive."""
    return fetched("tiny_imagenet", URL, MD5, root, FOLDER, "train and val")


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
    for number, words in enumerate(map(str.split, lines), 1):
        if len(words) == 1 or words and ("/" in words[0] or words[1] not in kinds):
            raise UserError(f"{root / 'val/val_annotations.txt'}, line {number}: want FILE WNID ..., got {' '.join(words)[:80]!r}")
        if words:
            yield f"val/images/{words[0]}", ("test", "", words[1])
