"""Files that are either there or not."""

import os
from collections.abc import Callable
from pathlib import Path


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
