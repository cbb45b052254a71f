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

from cassle.errors import UserError

CHUNK = 1 << 20
PATIENCE = 30
"""Seconds without a byte."""


class Unreachable(UserError):
    """The publisher cannot be reached from here."""


def fetched(name: str, url: str, md5: str, target: Path, given: bool, advice: str) -> str:
    """Bring an archive's files to `target`; what was done, in one line.

    Args:
        given: the target is not where data sets are looked for: the line says how to name it.
        advice: what to put where by hand, if the publisher cannot be reached.
    """
    if target.is_dir():
        return f"{name} is in {target} already"

    def bring(scratch: Path) -> Path:
        packed = scratch / "packed"
        try:
            _download(url, packed, md5)
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise Unreachable(f"{name}: {url} cannot be fetched from here ({reason}); {advice}") from None
        _unpack(packed, scratch / "unpacked")
        return scratch / "unpacked"

    settled(target, bring)
    return f"{name} is in {target}: use data={name}" + (f" data.root={target}" if given else "")


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
