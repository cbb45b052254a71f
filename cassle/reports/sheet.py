"""Where a report goes: a file that is written whole, or refused in one line."""

from collections.abc import Callable
from pathlib import Path

from cassle.disk import check, write
from cassle.errors import UserError


def put(path: Path, writer: Callable[[Path], object]) -> None:
    """In one stroke; what cannot be is told before the writer begins."""
    check(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, writer)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from None
