"""Where a report goes: a file that is written whole, or refused in one line."""

import os
from collections.abc import Callable
from pathlib import Path

from cassle.disk import write
from cassle.errors import UserError


def put(path: Path, writer: Callable[[Path], object]) -> None:
    """In one stroke; what cannot be is told before the writer begins."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
            raise UserError(f"{path} cannot be written: {'it is a folder' if path.is_dir() else f'{path.parent} is read-only'}")
        write(path, writer)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from None
