"""Publishers' python archives, read without executing any of them: what they name is looked up in the short list below.

An archive is a program for a small machine, which may name any function of any module.  Here it gets none of them, not even
NumPy's own: stand-ins note what an array would be, and it is made from the noted bytes when the program has ended.
"""

import io
import math
import pickle
import pickletools
from pathlib import Path

import numpy as np

from cassle.errors import UserError

BYTES = 1 << 30
"""More than any archive that is read here."""
TYPES = {code: np.dtype(code) for code in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "b1")}
BROKEN = (pickle.UnpicklingError, EOFError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError, RecursionError)

Part = np.ndarray | list | bytes | str | int


def read(path: Path) -> dict[str, Part]:
    """The archive's dictionary: arrays, lists, texts and numbers by name; names of Python 2 become texts."""
    try:
        with open(path, "rb") as file:
            code = file.read(BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        if len(code) > BYTES:
            raise Foreign(f"it is larger than {BYTES:,} bytes")
        _measured(code)
        found = _Reader(io.BytesIO(code), fix_imports=False, encoding="bytes").load()
        if type(found) is not dict:
            raise Foreign("it is not a dictionary")
        return {_text(name): _part(value) for name, value in found.items()}
    except Foreign as reason:
        raise UserError(f"{path}: was not opened, for {reason}; fetch it again from its publisher") from None
    except BROKEN as error:
        reason = " ".join(str(error).split())[:120]
        raise UserError(f"{path}: is not a whole archive ({reason}); fetch it again from its publisher") from None


class Foreign(Exception):
    """What an archive of images has no need of."""


class _Kind:
    """Stands for a number type: only its name is listened to."""

    def __init__(self, name: str | bytes, *flags: object):
        self.type = TYPES.get(_text(name).lstrip("|<="))
        if self.type is None:
            raise Foreign(f"it has an array of {_text(name)[:40]!r}")

    def __setstate__(self, state: tuple) -> None:
        if state[1] not in ("|", "<", "=", b"|", b"<", b"="):
            raise Foreign("it has an array of another byte order")


class _Array:
    """Stands for an array: made of (version, shape, type, whether columns come first, bytes)."""

    def __init__(self):
        self.parts = None

    def __setstate__(self, state: tuple) -> None:
        _, shape, kind, columns_first, content = state
        self.parts = (shape, kind, columns_first, content)

    def made(self) -> np.ndarray:
        if self.parts is None:
            raise Foreign("it has an array without content")
        shape, kind, columns_first, content = self.parts
        plain = type(shape) is tuple and all(type(side) is int and side >= 0 for side in shape)
        if not plain or type(kind) is not _Kind or not isinstance(content, (bytes, bytearray)):
            raise Foreign("it has an array of objects")
        if len(content) != math.prod(shape) * kind.type.itemsize:
            raise Foreign(f"it has an array of {shape} with {len(content):,} bytes")
        return np.frombuffer(content, kind.type).reshape(shape, order="F" if columns_first else "C")


def _begun(kind: object, shape: tuple, letter: str | bytes) -> _Array:
    return _Array()


def _buffered(content: bytes | bytearray, kind: _Kind, shape: tuple, order: str) -> _Array:
    array = _Array()
    array.parts = (shape, kind, order == "F", content)
    return array


def _encoded(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes for Python 2; none at all, as below."""
    if encoding not in ("latin1", b"latin1"):
        raise Foreign(f"it asks for the encoding {encoding!r}")
    return text.encode("latin1")


def _nothing() -> bytes:
    return b""


STAND_INS = {("_codecs", "encode"): _encoded, ("__builtin__", "bytes"): _nothing} | {
    (f"numpy{module}", name): stand_in
    for module, name, stand_in in (
        ("", "ndarray", _Array),
        ("", "dtype", _Kind),
        (".core.multiarray", "_reconstruct", _begun),
        ("._core.multiarray", "_reconstruct", _begun),
        (".core.numeric", "_frombuffer", _buffered),
        ("._core.numeric", "_frombuffer", _buffered),
    )
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in STAND_INS:
            raise Foreign(f"it asks for {module}.{name}"[:120])
        stand_in = STAND_INS[module, name]
        return stand_in if isinstance(stand_in, type) else lambda *given: stand_in(*given)  # its own, lest an archive alter ours


def _measured(code: bytes) -> None:
    """Refuse, before anything is built, what would make room for more than the archive has."""
    for count, (opcode, value, _) in enumerate(pickletools.genops(code)):
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and not 0 <= value <= max(count, 255):
            raise Foreign(f"it wants to remember {value:,} things")


def _text(name: object) -> str:
    if not isinstance(name, (str, bytes)):
        raise Foreign(f"it has a name that is a {type(name).__name__}")
    return name if isinstance(name, str) else name.decode("utf-8", "replace")


def _part(value: object) -> Part:
    if type(value) is _Array:
        return value.made()
    if type(value) is list and not {type(item) for item in value} <= {int, str, bytes}:
        raise Foreign("it has a list of neither numbers nor texts")
    if type(value) not in (list, bytes, str, int):
        raise Foreign(f"it has a {type(value).__name__.lstrip('_')}")
    return value
