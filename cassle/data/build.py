"""A bank in the making: parallel, in the order of the listing, and taken up again where a killed build left it."""

import json
import os
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from cassle.data.decoders import Entry, Found, Group, decoders
from cassle.disk import write

ROW = np.dtype([("start", "<i8"), ("height", "<i4"), ("width", "<i4"), ("group", "<i4"), ("file", "<i4"), ("hash", "u1", 32)])
FILES = ("pixels", "table", "manifest.tsv", "quarantine.txt")
SAVE = 5.0
"""Seconds between two commits of a build."""


def build(path: Path, root: Path, entries: Callable[[], Iterable[Entry]], short: int, square: bool, unchanged: Callable[[], bool]) -> bool:
    """Write a bank's files; whether its sources stayed as they were meanwhile."""
    groups: dict[Group, int] = {}
    state = _state(path)
    again, total = _seen_before(root, entries())
    originals: dict[int, str] = {}
    saved = time.monotonic()
    with ExitStack() as stack:
        files = [stack.enter_context(open(path / name, "r+b")) for name in FILES]
        for file, size in zip(files, state["sizes"]):
            file.truncate(size)
            file.seek(size)
        decoded = stack.enter_context(decoders(root, short, square))
        advance = stack.enter_context(_progress(f"decoding {root.name or root}", total, state["files"]))

        def listed() -> Iterator[tuple[str, Group | str]]:
            """What is not done yet; the groups of what is done are counted as well."""
            for number, (name, group) in enumerate(entries()):
                if number in again and again[number] == number:
                    originals[number] = name
                elif number in again:
                    group = f"the same file as {originals[again[number]]}"
                if isinstance(group, tuple):
                    groups.setdefault(group, len(groups))
                if number >= state["files"]:
                    yield name, group

        done = state["files"]
        for name, group, found in decoded(listed()):
            _put(files, done, name, groups.get(group), found)
            done += 1
            advance()
            if time.monotonic() - saved > SAVE:
                _commit(path, files, done)
                saved = time.monotonic()
        _commit(path, files, done)
        sizes = [file.tell() for file in files]
    if not unchanged():
        (path / "state.json").unlink()
        return False
    about = {"root": str(root.absolute()), "short side": short, "square": square, "groups": list(groups), "sizes": sizes}
    write(path / "groups.json", lambda part: part.write_text(json.dumps(about), "utf-8"))
    (path / "state.json").unlink()
    if sizes[FILES.index("quarantine.txt")]:
        print(f"{root}: some files are not learned from; which, and why: {path / 'quarantine.txt'}", file=sys.stderr)
    return True


def _state(path: Path) -> dict:
    """Where a build before this one got to."""
    try:
        return json.loads((path / "state.json").read_text("utf-8"))
    except (OSError, ValueError):
        for name in FILES:
            (path / name).write_bytes(b"")
        return {"files": 0, "sizes": [0] * len(FILES)}


def _commit(path: Path, files: list, done: int) -> None:
    for file in files:
        file.flush()
        os.fsync(file.fileno())
    state = json.dumps({"files": done, "sizes": [file.tell() for file in files]})
    write(path / "state.json", lambda part: part.write_text(state, "utf-8"))


def _put(files: list, number: int, name: str, group: int | None, found: Found | str) -> None:
    pixels, table, manifest, quarantine = files
    if isinstance(found, str):
        quarantine.write(f"{_printable(name)}: {_printable(found)}\n".encode())
        return
    height, width, digest, image = found
    table.write(np.array([(pixels.tell(), height, width, group, number, np.frombuffer(digest, np.uint8))], ROW).tobytes())
    pixels.write(image)
    manifest.write(f"{digest.hex()}\t{height}\t{width}\t{_printable(name)}\n".encode())


def _printable(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _seen_before(root: Path, entries: Iterable[Entry]) -> tuple[dict[int, int], int]:
    """Which entries lead by links to one file, each with the first that does; and how many entries there are."""
    places = array("Q")
    for number, (name, _) in enumerate(entries):
        try:
            about = os.stat(os.path.join(root, name))
            places.extend((about.st_dev, about.st_ino))
        except OSError:
            places.extend((2**64 - 1, number))
    total = len(places) // 2
    rows = np.frombuffer(places, np.uint64).reshape(-1, 2) if total else np.zeros((0, 2), np.uint64)
    _, first, owner, count = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    owner = owner.reshape(-1)
    several = np.flatnonzero(count[owner] > 1)
    return dict(zip(several.tolist(), first[owner[several]].tolist())), total


@contextmanager
def _progress(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """On stderr: a bar for people, a line now and then for logs."""
    if not sys.stderr.isatty():
        count, told = done, time.monotonic()

        def advance() -> None:
            nonlocal count, told
            count += 1
            if time.monotonic() - told > 10:
                told = time.monotonic()
                print(f"{what}: {count:,} of {total:,} files", file=sys.stderr)

        yield advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(task)
