"""The world around a run: what it ran on, and requests to stop."""

import os
import platform
import re
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from types import FrameType

import torch

import cassle
from cassle.errors import UserError

SCARCE = re.compile(r"(not enough|allocate|out of) memory|Storage size calculation overflowed|integer multiplication overflow")
"""What torch says when a tensor is too large for this machine, or for any."""


def describe(device: torch.device) -> dict[str, object]:
    """What `environment.json` holds."""
    return {
        "cassle": cassle.__version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("torch", "numpy", "pillow", "safetensors")},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": platform.platform(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def peak_memory(device: torch.device) -> int:
    """Bytes: on the GPU since the last call, on a CPU of the whole process since its start."""
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        return peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def in_a_line(place: Path) -> Iterator[None]:
    """What the machine has too little of, room on the disk or memory, as the user is to be told."""
    try:
        yield
    except OSError as error:
        where = error.filename or place
        raise UserError(f"{where}: {error.strerror or error}; what was saved before is whole; that put right, the same command continues") from error
    except (MemoryError, RuntimeError) as error:  # torch has no error of its own for a CPU's memory
        if not (isinstance(error, (MemoryError, torch.OutOfMemoryError)) or SCARCE.search(str(error))):
            raise
        asked = re.search(r"[Tt]ried to allocate [\d.]+ \w+", str(error))
        what = asked[0].lower() if asked else "a tensor is too large for any machine"
        raise UserError(f"not enough memory ({what}); take a smaller backbone, method, memory of the strategy or batch_size") from error


class StopSignal:
    """Turns SIGTERM and the first Ctrl-C into a request; a second Ctrl-C interrupts at once."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __enter__(self) -> "StopSignal":
        self.asked = False
        main = threading.current_thread() is threading.main_thread()  # nobody else may set a handler
        self.before = {number: signal.signal(number, self._ask) for number in self.SIGNALS if main}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True
