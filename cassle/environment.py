"""The world around a run: what it ran on, and requests to stop."""

import os
import platform
import resource
import signal
import threading
import time
from importlib import metadata
from types import FrameType

import torch

import cassle


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
