"""Any folder of images: train/CLASS/..., DOMAIN/train/CLASS/..., CLASS/..., or just images."""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from cassle.config import data_home
from cassle.config import folder as resolved
from cassle.data.bank import Bank, bank
from cassle.data.dataset import IMAGENET_MEAN, IMAGENET_STD, Dataset, Split
from cassle.data.decoders import Entry
from cassle.data.images import joined
from cassle.errors import UserError
from cassle.kinds import Folder, Share, Whole
from cassle.registry import suggest

HALVES = {"train": "train", "training": "train", "test": "test", "val": "test", "valid": "test", "validation": "test"}


def folder(
    root: Folder,
    domains: tuple[str, ...] = (),
    order: Literal["name", "size"] = "name",
    image_size: Whole = 0,
    square: bool = False,
    test: Share = 0.1,
) -> Dataset:
    """All images below a folder, at their own sizes; labels come from folders' names and are only for probes.

    Where there are folders called train or test, what lies beside them is not looked at.

    Args:
        domains: which, and in this order; all if none are named.
        order: of all domains: by their names, or the largest first.
        image_size: of the shorter side, to save room: longer ones are brought down to it; 0 keeps every image as it is.
        square: all images become squares of `image_size`, smaller ones too: the shorter side is brought to it, and the middle cut
            out.  A strategy with a memory needs images of one size.
        test: the share held out for probes where no folder is called test or val; which images, their paths decide.
    """
    images = banked(Path(root), image_size, square, test)
    found = sorted({group[1] for group in images.groups})
    if missing := [name for name in domains if name not in found]:
        raise UserError(f"data.domains: {root} has no domain {missing[0]!r}{suggest(missing[0], found)}")
    if order == "size":
        found.sort(key=lambda domain: -len(images.of(lambda group: group[:2] == ("train", domain))))
    return assembled(Path(root).name, [images], domains or tuple(found))


def fetch(root: Path | None) -> str:
    """Look a folder through, and decode it."""
    if root is None:
        raise UserError("folder: which? give --root FOLDER")
    return described(folder(resolved(str(root), "--root")), root, f"data=folder data.root={root}")


def banked(root: Path, short: int, square: bool, test: float) -> Bank:
    """The bank of a folder's files, training images first."""

    def listed() -> Iterator[Entry]:
        for half in ("train", "test"):  # two walks, not one list
            yield from (entry for entry in entries(root, test) if (entry[1][0] == "test") == (half == "test"))

    return bank(root, listed, short, square)


def described(dataset: Dataset, root: Path, words: str) -> str:
    """What a folder holds, in one line, and the words that choose it."""
    kinds = f"{len(dataset.classes)} classes" if dataset.classes else "no classes"
    text = f"{root}: {len(dataset.train):,} images to learn from and {len(dataset.test):,} to test on, {kinds}"
    text += f", {len(dataset.domains)} domains ({', '.join(dataset.domains)})" if len(dataset.domains) > 1 else ""
    return text + _set_aside(dataset.aside) + f"; use {words}"


def assembled(
    name: str, banks: Sequence[Bank], domains: Sequence[str], mean: Sequence[float] = IMAGENET_MEAN, std: Sequence[float] = IMAGENET_STD
) -> Dataset:
    """A data set out of banks whose groups are (half, domain, class), domains in the given order."""
    classes = sorted({kind for bank in banks for _, domain, kind in bank.groups if domain in domains} - {""})
    splits = []
    for half in ("train", "test"):
        images, labels, places = [], [], []
        for bank in banks:
            rows = bank.of(lambda group: group[0] == half and group[1] in domains)
            group = bank.table["group"][rows]
            label = np.array([classes.index(kind) if kind in classes else -1 for *_, kind in bank.groups], dtype=np.int64)
            domain = np.array([domains.index(own) if own in domains else -1 for _, own, _ in bank.groups], dtype=np.int64)
            images.append(bank.images(rows))
            labels.append(torch.from_numpy(label[group]))
            places.append(torch.from_numpy(domain[group]))
        splits.append(Split(joined(images), torch.cat(labels), torch.cat(places)))
    aside = tuple(line for bank in banks for line in bank.aside)
    if not len(splits[0]):
        raise UserError(f"data: no images to learn from were found{_set_aside(aside)}")
    fingerprint = sha256("".join(bank.fingerprint for bank in banks).encode()).hexdigest()[:16]
    return Dataset(name, *splits, tuple(classes), tuple(domains), tuple(mean), tuple(std), fingerprint, aside)


def entries(root: Path, test: float) -> Iterator[Entry]:
    """Every file below a folder, with its (half, domain, class) as the folders' names say."""
    inner = {name: _folders(root / name) for name in _folders(root)}
    if halves := {HALVES[name] for name in inner.keys() & HALVES.keys()}:
        place = 0
    else:
        halves = {HALVES[name] for names in inner.values() for name in names & HALVES.keys()}
        place = 1 if halves else None
    for path in files(root):
        parts = path.split(os.sep)[:-1]
        if place is None:
            half, domain, kind = "train", "", parts[0] if parts else ""
        elif len(parts) > place and parts[place] in HALVES:
            half, domain, kind = HALVES[parts[place]], parts[0] if place else "", parts[place + 1] if len(parts) > place + 1 else ""
        else:
            yield path, "lies beside the folders train and test, not in one"
            continue
        if half == "train" and "test" not in halves and _chance(path) < test:
            half = "test"
        yield path, (half, domain, kind)


def _folders(root: Path) -> set[str]:
    """Their names; none if nobody may look."""
    try:
        with os.scandir(root) as found:
            return {entry.name for entry in found if _is_folder(entry)}
    except OSError:
        return set()


def files(root: Path, below: str = "", above: frozenset[str] = frozenset()) -> Iterator[str]:
    """Paths of all files below a folder, in the order of their names; links are followed, but never in a circle, nor into banks."""
    real = os.path.realpath(root / below)
    if real in above or real == os.path.realpath(data_home() / "banks"):
        return
    try:
        with os.scandir(root / below) as found:
            names = sorted(((entry.name, _is_folder(entry)) for entry in found), key=lambda pair: os.fsencode(pair[0]))
    except OSError as error:
        if not below:
            raise UserError(f"{root}: cannot be read ({error.strerror})") from None
        yield below  # whoever tries to decode it says why it cannot be
        return
    for name, inside in names:
        path = os.path.join(below, name)
        if inside:
            yield from files(root, path, above | {real})
        else:
            yield path


def _is_folder(entry: os.DirEntry) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, say
        return False


def _set_aside(lines: Sequence[str]) -> str:
    """In words, with an example."""
    return f"; set aside: {len(lines)} ({lines[0]}{', ...' if len(lines) > 1 else ''})" if lines else ""


def _chance(path: str) -> float:
    """The same number between 0 and 1 for the same path, everywhere."""
    return int.from_bytes(sha256(os.fsencode(path.replace(os.sep, "/"))).digest()[:4]) / 2**32
