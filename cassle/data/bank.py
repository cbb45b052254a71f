"""Image files, decoded once into one row of bytes that is mapped into memory, and shared by all runs.

A bank is a folder under `$CASSLE_DATA/banks`, named after what went in: any file that comes, goes or changes makes
another.  It holds `pixels`, `table` (where each image lies, its size, its group and its file's SHA-256), `groups.json`,
`manifest.tsv` for people, and `quarantine.txt`: the files that are not learned from, each with the reason.  All are written
under another name first, `groups.json` last.  What a killed build left is taken up again.
"""

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from cassle.config import data_home
from cassle.data.decode import Unfit, decode
from cassle.data.images import Images, Ragged
from cassle.errors import UserError

ROW = np.dtype([("start", "<i8"), ("height", "<i4"), ("width", "<i4"), ("group", "<i4"), ("file", "<i4"), ("hash", "u1", 32)])
EVERY = 512
"""Files between two commits of a build."""

Group = tuple[str, ...]
Entry = tuple[str, Group]
"""A file's path below the root, and what it belongs to: (half, domain, class), say."""


@dataclass(frozen=True)
class Bank:
    """Decoded images, in the order of their paths."""

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
        """Some of them; as one block if all have one size and lie together."""
        table = self.table[rows]
        if not len(table):
            return Images(torch.zeros(0, 1, 1, 3, dtype=torch.uint8))
        pixels = torch.from_numpy(np.memmap(self.path / "pixels", np.uint8, "c"))  # a private map: nobody can write to the file
        height, width = int(table["height"][0]), int(table["width"][0])
        size = 3 * height * width
        if (table["height"] == height).all() and (table["width"] == width).all():
            blocks = _blocks(table["start"], size)
            parts = [pixels[start : start + count * size].view(count, height, width, 3) for start, count in blocks]
            return Images(parts[0] if len(parts) == 1 else torch.cat(parts))
        sizes = np.stack((table["height"], table["width"]), axis=1).astype(np.int64)
        return Ragged(pixels, torch.from_numpy(table["start"].copy()), torch.from_numpy(sizes))


def bank(root: Path, entries: Callable[[], Iterable[Entry]], short: int = 0, show: bool = False) -> Bank:
    """The bank of some files below `root`; built if it is not there, by all cores.

    Args:
        entries: lists them, in an order that hangs on their paths alone; called twice.
        short: see `decode`.
        show: progress, on stderr.
    """
    home = data_home() / "banks"
    path = home / _key(root, entries(), short)
    if not (path / "groups.json").is_file():
        try:
            path.mkdir(parents=True, exist_ok=True)
            with open(path / ".lock", "w") as lock:
                flock(lock, LOCK_EX)  # whoever else builds it: wait, and find it done
                if not (path / "groups.json").is_file():
                    _Build(path, Path(root), short).all(entries(), show)
        except OSError as error:
            raise UserError(f"{error.filename or path}: {error.strerror or error}; decoded images go there: give another $CASSLE_DATA") from None
    about = json.loads((path / "groups.json").read_text("utf-8"))
    table = np.fromfile(path / "table", ROW)
    aside = (path / "quarantine.txt").read_text("utf-8", "surrogateescape").splitlines()
    return Bank(path, tuple(map(tuple, about["groups"])), table, tuple(aside))


def _key(root: Path, entries: Iterable[Entry], short: int) -> str:
    """Of all paths, sizes and times of change: nothing is opened for it."""
    digest = sha256(f"1 {short} {root.absolute()}\n".encode("utf-8", "surrogateescape"))
    for name, group in entries:
        try:
            about = os.stat(root / name)
            facts = f"{about.st_size} {about.st_mtime_ns}"
        except OSError:
            facts = "?"
        digest.update(f"{name}\0{group}\0{facts}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:24]


def _blocks(starts: np.ndarray, size: int) -> list[tuple[int, int]]:
    """Runs of images without a gap: where each begins, and how many it has."""
    breaks = np.flatnonzero(np.diff(starts) != size) + 1
    return [(int(run[0]), len(run)) for run in np.split(starts, breaks)]


class _Build:
    """A bank in the making; every few hundred files it can be taken up from."""

    def __init__(self, path: Path, root: Path, short: int):
        self.path, self.root, self.short = path, root, short

    def all(self, entries: Iterable[Entry], show: bool) -> None:
        groups: dict[Group, int] = {}
        names = ["pixels.part", "table.part", "manifest.part", "quarantine.part"]
        state = self._state(names)
        entries = list(enumerate((name, groups.setdefault(group, len(groups))) for name, group in entries))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            files = [open(self.path / name, "r+b") for name in names]
            for file, size in zip(files, state["sizes"]):
                file.truncate(size)
                file.seek(size)
            with _progress(show, len(entries), state["files"]) as advance:
                for number, (name, group), found in _ordered(pool, self._one, entries[state["files"] :]):
                    self._write(files, number, name, group, found)
                    advance()
                    if (number + 1) % EVERY == 0:
                        self._commit(files, number + 1)
        self._commit(files, len(entries))
        for file, name in zip(files, names):
            file.close()
            os.replace(self.path / name, self.path / _final(name))
        (self.path / "state.json").unlink()
        about = {"root": str(self.root.absolute()), "short side": self.short or None, "groups": list(groups)}
        _put(self.path / "groups.json", json.dumps(about))

    def _state(self, names: list[str]) -> dict:
        """Where a build before this one got to."""
        try:
            return json.loads((self.path / "state.json").read_text("utf-8"))
        except (OSError, ValueError):
            for name in names:
                (self.path / name).write_bytes(b"")
            return {"files": 0, "sizes": [0] * len(names)}

    def _one(self, entry: tuple[int, Entry]) -> tuple[np.ndarray, bytes] | str:
        path = self.root / entry[1][0]
        try:
            pixels = decode(path, self.short)
            with open(path, "rb") as file:
                return pixels, file_digest(file, "sha256").digest()
        except (Unfit, OSError) as reason:
            return str(reason)

    def _write(self, files: list, number: int, name: str, group: int, found: tuple[np.ndarray, bytes] | str) -> None:
        pixels, table, manifest, quarantine = files
        text = name.encode("unicode_escape").decode() if not name.isprintable() else name
        if isinstance(found, str):
            quarantine.write(f"{text}: {' '.join(found.split())}\n".encode())
            return
        image, digest = found
        height, width = image.shape[:2]
        row = np.array([(pixels.tell(), height, width, group, number, np.frombuffer(digest, np.uint8))], ROW)
        pixels.write(image.tobytes())
        table.write(row.tobytes())
        manifest.write(f"{digest.hex()}\t{height}\t{width}\t{text}\n".encode())

    def _commit(self, files: list, done: int) -> None:
        for file in files:
            file.flush()
            os.fsync(file.fileno())
        _put(self.path / "state.json", json.dumps({"files": done, "sizes": [file.tell() for file in files]}))


def _ordered(pool: ThreadPoolExecutor, work: Callable, items: list) -> Iterator[tuple]:
    """(number, entry, result) in order, with as many under way as keep all threads busy and memory small."""
    items, waiting = iter(items), deque()
    for item in islice(items, 4 * (os.cpu_count() or 1)):
        waiting.append((item, pool.submit(work, item)))
    while waiting:
        (number, entry), future = waiting.popleft()
        found = future.result()
        for item in islice(items, 1):
            waiting.append((item, pool.submit(work, item)))
        yield number, entry, found


def _progress(show: bool, total: int, done: int):
    if not show:
        return nullcontext(lambda: None)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    class Bar(Progress):
        def __enter__(self):
            super().__enter__()
            task = self.add_task("decoding images", total=total, completed=done)
            return lambda: self.advance(task)

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Bar(*columns, console=Console(stderr=True), transient=True)


def _final(name: str) -> str:
    return {"manifest.part": "manifest.tsv", "quarantine.part": "quarantine.txt"}.get(name, name.removesuffix(".part"))


def _put(path: Path, text: str) -> None:
    from cassle.disk import write

    write(path, lambda part: part.write_text(text, "utf-8"))
