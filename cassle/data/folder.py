"""Any folder of images: train/CLASS/..., DOMAIN/train/CLASS/..., CLASS/..., or just images."""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from cassle.data.bank import Bank, Entry, bank
from cassle.data.dataset import IMAGENET_MEAN, IMAGENET_STD, Dataset, Split
from cassle.errors import UserError
from cassle.kinds import Folder, Share, Whole
from cassle.registry import suggest

HALVES = {"train": "train", "training": "train", "test": "test", "val": "test", "valid": "test", "validation": "test"}


def folder(
    root: Folder, domains: tuple[str, ...] = (), order: Literal["name", "size"] = "name", image_size: Whole = 0, test: Share = 0.1
) -> Dataset:
    """All images below a folder, at their own sizes; labels come from folders' names and are only for probes.

    Args:
        domains: which, and in this order; all if none are named.
        order: of all domains: by their names, or the largest first.
        image_size: of the shorter side, to save room; 0 keeps every image as it is.
        test: the share held out for probes where no folder is called test or val; which images, their paths decide.
    """
    images = banked(Path(root), image_size, test)
    found = sorted({group[1] for group in images.groups})
    if missing := [name for name in domains if name not in found]:
        raise UserError(f"data.domains: {root} has no domain {missing[0]!r}{suggest(missing[0], found)}")
    if order == "size":
        found.sort(key=lambda domain: -len(images.of(lambda group: group[:2] == ("train", domain))))
    return assembled(Path(root).name, images, IMAGENET_MEAN, IMAGENET_STD, domains or tuple(found))


def prepare(root: str, image_size: int = 0, test: float = 0.1, **order: object) -> None:
    """Decode what is not decoded yet, with progress."""
    banked(Path(root), image_size, test, show=True)


def fetch(root: Path | None) -> str:
    """Look a folder through, and decode it."""
    if root is None:
        raise UserError("folder: which? give --root FOLDER")
    dataset = folder(str(root))
    kinds = f"{len(dataset.classes)} classes" if dataset.classes else "no classes"
    text = f"{root}: {len(dataset.train):,} images to learn from and {len(dataset.test):,} to test on, {kinds}"
    return text + (f", {len(dataset.domains)} domains" if len(dataset.domains) > 1 else "") + _set_aside(dataset.aside)


def banked(root: Path, image_size: int, test: float, show: bool = False) -> Bank:
    """The bank of a folder's files, training images first."""
    return bank(root, lambda: sorted(entries(root, test), key=lambda e: (e[1][0] == "test", os.fsencode(e[0]))), image_size, show)


def assembled(name: str, images: Bank, mean: Sequence[float], std: Sequence[float], domains: tuple[str, ...] = ()) -> Dataset:
    """A data set out of a bank whose groups are (half, domain, class)."""
    domains = domains or tuple(dict.fromkeys(group[1] for group in images.groups))
    classes = sorted({kind for _, domain, kind in images.groups if domain in domains} - {""})
    label = np.array([classes.index(c) if c in classes else -1 for _, _, c in images.groups] or [0])
    domain = np.array([domains.index(d) if d in domains else -1 for _, d, _ in images.groups] or [0])
    splits = []
    for half in ("train", "test"):
        rows = images.of(lambda group: group[0] == half and group[1] in domains)
        group = images.table["group"][rows]
        splits.append(Split(images.images(rows), torch.from_numpy(label[group]), torch.from_numpy(domain[group])))
    if not len(splits[0]):
        raise UserError(f"data: no images to learn from were found{_set_aside(images.aside)}")
    return Dataset(name, *splits, tuple(classes), tuple(domains), mean, std, images.fingerprint, images.aside)


def entries(root: Path, test: float) -> Iterator[Entry]:
    """Every file below a folder, with its (half, domain, class) as the folders' names say."""
    top = {path.name for path in root.iterdir() if path.is_dir()}
    inner = {name: {p.name for p in (root / name).iterdir() if p.is_dir()} for name in top if os.access(root / name, os.R_OK | os.X_OK)}
    if top & HALVES.keys():
        parsed = lambda parts: (HALVES.get(parts[0]), "", parts[1] if len(parts) > 1 else "")  # noqa: E731
        halves = {HALVES[name] for name in top & HALVES.keys()}
    elif any(names & HALVES.keys() for names in inner.values()):
        parsed = lambda parts: (HALVES.get(parts[1]) if len(parts) > 1 else None, parts[0], parts[2] if len(parts) > 2 else "")  # noqa: E731
        halves = {HALVES[name] for names in inner.values() for name in names & HALVES.keys()}
    else:
        parsed, halves = lambda parts: ("train", "", parts[0] if parts else ""), {"train"}
    for path in files(root):
        parts = Path(path).parts[:-1]
        half, domain, kind = parsed(parts) if parts else ("train", "", "")
        if half == "train" and "test" not in halves and _chance(path) < test:
            half = "test"
        if half:
            yield path, (half, domain, kind)


def files(root: Path, below: str = "", above: frozenset[str] = frozenset()) -> Iterator[str]:
    """Paths of all files below a folder, in the order of their names; links are followed, but never in a circle."""
    real = os.path.realpath(root / below)
    if real in above:
        return
    try:
        found = sorted(os.scandir(root / below), key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        raise UserError(f"{root / below}: cannot be read ({error.strerror})") from None
    for entry in found:
        path = os.path.join(below, entry.name)
        try:
            inside = entry.is_dir()
        except OSError:
            inside = False
        if inside:
            yield from files(root, path, above | {real})
        else:
            yield path


def _set_aside(lines: Sequence[str]) -> str:
    """In words, with an example."""
    return f"; set aside: {len(lines)} ({lines[0]}{', ...' if len(lines) > 1 else ''})" if lines else ""


def _chance(path: str) -> float:
    """The same number between 0 and 1 for the same path, everywhere."""
    return int.from_bytes(sha256(os.fsencode(Path(path).as_posix())).digest()[:4]) / 2**32
