"""Fetching what a publisher gives to everybody: to a place beside the target, checked, unpacked, and there in one stroke."""

import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable
from hashlib import md5 as md5_of
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from cassle.config import data_home
from cassle.errors import UserError

CHUNK = 1 << 20
PATIENCE = 30
"""Seconds without a byte."""


class Unreachable(UserError):
    """The publisher cannot be reached from here."""


def fetched(name: str, url: str, md5: str, root: Path | None, inner: str, holds: str) -> str:
    """Bring an archive's files to the folder `name` below the root; what was done, in one line.

    Args:
        root: where data sets are looked for, if not given.
        inner: the folder that the archive unpacks to.
        holds: what is in it, in words.
    """
    target = (root or data_home()) / name
    found = f"{name} is in {target}" + ("" if root is None else f": use data={name} data.root={target}")
    if (target / inner).is_dir():
        return found

    def bring(scratch: Path) -> Path:
        packed = scratch / "packed"
        try:
            _download(url, packed, md5)
        except OSError as error:
            reason = getattr(error, "reason", error)
            advice = f"fetch it elsewhere and unpack it, so that {target / inner} holds {holds}"
            raise Unreachable(f"{name}: {url} cannot be fetched from here ({reason}); {advice}") from None
        _unpack(packed, scratch / "unpacked")
        return scratch / "unpacked"

    settled(target, bring)
    return found


def settled(target: Path, bring: Callable[[Path], Path]) -> None:
    """Let `bring` make a folder in a scratch place on the same disk, and move it to the target."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".fetching-", dir=target.parent) as scratch:
            bring(Path(scratch)).rename(target)
    except OSError as error:
        raise UserError(f"{error.filename or target}: {error.strerror or error}") from None


def _download(url: str, path: Path, md5: str) -> None:
    digest, told = md5_of(usedforsecurity=False), time.monotonic()
    with urlopen(url, timeout=PATIENCE) as answer, open(path, "wb") as file:
        total = int(answer.headers.get("Content-Length") or 0)
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
            if time.monotonic() - told > 5:
                told = time.monotonic()
                print(f"fetching {url}: {file.tell() >> 20:,} of {total >> 20 or '?'} MiB", file=sys.stderr)
    if digest.hexdigest() != md5:
        raise UserError(f"{url}: what came has not the known checksum; nothing was unpacked")


def _unpack(packed: Path, target: Path) -> None:
    """Whatever an archive says, nothing lands outside the target."""
    try:
        if zipfile.is_zipfile(packed):
            with zipfile.ZipFile(packed) as archive:
                archive.extractall(target)  # drops "..", leading slashes and links by itself
        else:
            with tarfile.open(packed) as archive:
                archive.extractall(target, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UserError(f"what was fetched cannot be unpacked: {error}") from None
