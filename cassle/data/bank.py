"""Image files, decoded once into one row of bytes that is mapped into memory, and shared by all runs.

A bank is a folder under `$CASSLE_DATA/banks`, named after what went in: any file that comes, goes or changes makes
another.  It holds `pixels`, `table` (where each image lies, its size, its group and its file's SHA-256), `manifest.tsv` for
people, `quarantine.txt`: the files that are not learned from, each with the reason; and `groups.json`, which is written last
and vouches for the others.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import sha256
from pathlib import Path
from typing import TextIO

import numpy as np
import torch

from cassle.config import data_home
from cassle.data.build import FILES, ROW, build
from cassle.data.decoders import Entry, Group
from cassle.data.images import Images, Ragged, mapped
from cassle.errors import UserError


@dataclass(frozen=True)
class Bank:
    """Decoded images, in the order of their listing."""

    path: Path
    groups: tuple[Group, ...]
    table: np.ndarray
    aside: tuple[str, ...]
    """The lines of `quarantine.txt`."""

    @property
    def fingerprint(self) -> str:
        """Of every image's bytes, and of what each belongs to."""
        return sha256(self.table["hash"].tobytes() + self.table["group"].tobytes() + repr(self.groups).encode()).hexdigest()[:16]

    def of(self, group: Callable[[Group], bool]) -> np.ndarray:
        """The rows whose group is wanted."""
        wanted = np.array([group(g) for g in self.groups], dtype=bool)
        return np.flatnonzero(wanted[self.table["group"]]) if len(self.table) else np.zeros(0, np.int64)

    def images(self, rows: np.ndarray) -> Images:
        """Some of them, where they lie."""
        table = self.table[rows]
        if not len(table):
            return Images(torch.zeros(0, 1, 1, 3, dtype=torch.uint8))
        sizes = np.stack((table["height"], table["width"]), axis=1).astype(np.int64)
        ends = table["start"] + 3 * sizes.prod(1)
        first, last = int(table["start"].min()), int(ends.max())
        pixels = mapped(self.path / "pixels")[first:last]  # what others have of the bank need not come along to the GPU
        if (sizes == sizes[0]).all() and (table["start"][1:] == ends[:-1]).all():
            return Images(pixels.view(-1, *sizes[0].tolist(), 3))
        return Ragged(pixels, torch.from_numpy(table["start"] - first), torch.from_numpy(sizes))


def bank(root: Path, entries: Callable[[], Iterable[Entry]], short: int = 0, square: bool = False) -> Bank:
    """The bank of some files below `root`; built if it is not there, by all cores, with progress on stderr.

    Args:
        entries: lists them, in an order that hangs on their paths alone; called more than once.
        short: see `decode`; likewise `square`.
    """
    if square and not short:
        raise UserError("data.square: say which size, with data.image_size")
    key = lambda: _key(root, entries(), short, square)  # noqa: E731
    path = data_home() / "banks" / key()
    about = path / "groups.json"
    if not about.is_file():
        try:
            path.mkdir(parents=True, exist_ok=True)
            with open(path / ".lock", "w") as lock:
                _alone(lock, root)
                if not about.is_file() and not build(path, Path(root), entries, short, square, unchanged=lambda: key() == path.name):
                    raise UserError(f"{root} changed while its images were decoded; when nobody writes there any more, start again")
        except OSError as error:
            reason = f"{error.filename or path}: {error.strerror or error}"
            raise UserError(f"{reason}; decoded images go there: give another $CASSLE_DATA") from None
    return _opened(path)


def _alone(lock: TextIO, root: Path) -> None:
    """Whoever else builds it: wait, and find it done."""
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another process, which decodes {root}", file=sys.stderr)
        flock(lock, LOCK_EX)


def _opened(path: Path) -> Bank:
    """A finished bank, as large as it was when it was finished."""
    try:
        about = json.loads((path / "groups.json").read_text("utf-8"))
        if [(path / name).stat().st_size for name in FILES] != about["sizes"]:
            raise ValueError
        aside = (path / "quarantine.txt").read_text("utf-8").splitlines()
        return Bank(path, tuple(map(tuple, about["groups"])), np.fromfile(path / "table", ROW), tuple(aside))
    except (OSError, ValueError, LookupError, TypeError):
        raise UserError(f"{path}: this bank of decoded images is damaged; delete it, and it is made again") from None


def _key(root: Path, entries: Iterable[Entry], short: int, square: bool) -> str:
    """Of all paths, sizes and times of change: nothing is opened for it."""
    digest = sha256(f"2 {short} {square} {root.absolute()}\n".encode("utf-8", "surrogateescape"))
    for name, group in entries:
        try:
            about = os.stat(os.path.join(root, name))
            facts = f"{about.st_size} {about.st_mtime_ns}"
        except OSError:
            facts = "?"
        digest.update(f"{name}\0{group}\0{facts}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:24]
