"""Files that are either there or not."""

import os
from collections.abc import Callable
from pathlib import Path

from cassle.errors import UserError


def check(path: Path) -> None:
    """Refuse a file that cannot be written; write nothing."""
    if path.is_dir():
        raise UserError(f"{path} cannot be written: it is a folder")
    check_folder(path.absolute().parent, path)


def check_folder(folder: Path, path: Path | None = None) -> None:
    """Refuse a folder that cannot be written or made, for the sake of `path`, if that is another."""
    standing = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK | os.X_OK):
        raise UserError(f"{path or folder} cannot be written: {standing} is {'read-only' if standing.is_dir() else 'not a folder'}")


def write(path: Path, writer: Callable[[Path], object]) -> None:
    """All or nothing: to a file beside it, to the disk, then over the old one."""
    temporary = path.with_name(f".{path.name}.writing")
    try:
        writer(temporary)
        temporary.chmod(0o644)  # some writers keep their files to themselves
        _to_disk(temporary)
        os.replace(temporary, path)
    except BaseException:  # half a file is of no use, and a full disk has no room for it
        temporary.unlink(missing_ok=True)
        raise
    _to_disk(path.parent)


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
