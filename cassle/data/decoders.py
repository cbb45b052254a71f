"""Processes that decode files, side by side, and are replaced when a file was too much for one."""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from subprocess import DEVNULL, PIPE, Popen

from cassle.data import decode

WORKERS = min(32, os.cpu_count() or 1)

Group = tuple[str, ...]
Entry = tuple[str, Group | str]
"""A file's path below the root, and what it belongs to: (half, domain, class), say; or why it is not learned from."""
Found = tuple[int, int, bytes, bytes]
"""Height, width, the file's SHA-256, pixels."""


@contextmanager
def decoders(root: Path, short: int, square: bool) -> Iterator[Callable]:
    """Decodes one entry after the other: (path, group, what was found), in their order, a few ahead on all cores."""
    with ExitStack() as stack:
        idle: SimpleQueue[Decoder] = SimpleQueue()
        for _ in range(WORKERS):
            idle.put(stack.enter_context(Decoder(short, square)))
        pool = ThreadPoolExecutor(WORKERS)
        stack.callback(pool.shutdown, cancel_futures=True)

        def one(name: str, alone: bool = False) -> Found | str | None:
            decoder = idle.get()
            try:
                return decoder(root / name, alone)
            finally:
                idle.put(decoder)

        def all_of(entries: Iterator[Entry]) -> Iterator[tuple[str, Group | str, Found | str]]:
            waiting: deque = deque()
            for name, group in entries:
                waiting.append((name, group, pool.submit(one, name) if isinstance(group, tuple) else None))
                if len(waiting) >= 2 * WORKERS:
                    yield finished(*waiting.popleft())
            while waiting:
                yield finished(*waiting.popleft())

        def finished(name: str, group: Group | str, future: Future | None) -> tuple[str, Group | str, Found | str]:
            if future is None:
                return name, group, group
            return name, group, future.result() or one(name, alone=True)

        yield all_of


class Decoder:
    """A process that decodes; another one takes its place when a file was too much for it."""

    COMMAND = (sys.executable, "-P", decode.__file__)

    def __init__(self, short: int, square: bool):
        self.words, self.process = (str(short), "square" if square else "whole"), None

    def __enter__(self) -> "Decoder":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process:
            self.process.kill()
            self.process.communicate()

    def __call__(self, path: Path, alone: bool) -> Found | str | None:
        """What is in a file, or why nothing; None if it is to be asked for alone."""
        for _ in range(2):  # who was ended from outside may try again
            try:
                return self._ask(os.fsencode(path), alone)
            except (BrokenPipeError, EOFError):
                code = self.process.wait()
                self.__exit__()
                self.process = None
            if code in (-signal.SIGPROF, -signal.SIGALRM):
                return "takes too long to decode"
            if code >= 0:
                raise RuntimeError(f"the decoding process ended with {code} at {path}")
        return f"its decoder crashed ({signal.Signals(-code).name})"

    def _ask(self, path: bytes, alone: bool) -> Found | str | None:
        if self.process is None:
            single = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            self.process = Popen([*self.COMMAND, *self.words], stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=single)
        self.process.stdin.write(decode.question(path, alone))
        self.process.stdin.flush()
        fit, height, width, large, digest = decode.ANSWER.unpack(self._read(decode.ANSWER.size))
        if fit:
            return height, width, digest, self._read(3 * height * width)
        return None if large else self._read(height).decode()

    def _read(self, length: int) -> bytes:
        content = self.process.stdout.read(length)
        if len(content) < length:
            raise EOFError
        return content
