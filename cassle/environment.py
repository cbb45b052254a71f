"""The world around a run: what it ran on, and requests to stop."""

import os
import platform
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
