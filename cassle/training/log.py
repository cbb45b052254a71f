"""What a run writes as it goes: one line of JSON for every few steps, and a text for people."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from cassle.distributed import summed, world
from cassle.training.learner import Losses


class Meter:
    """Sums on the device, so that a step never waits: the host reads their means once in a while."""

    def __init__(self, device: torch.device | str):
        self.sums, self.count = torch.zeros(4, dtype=torch.float64, device=device), 0

    def add(self, losses: Losses) -> None:
        self.sums += torch.stack([losses.total.detach(), losses.ssl.detach(), losses.keep.detach(), losses.now.spread])
        self.count += 1

    def means(self) -> dict[str, float]:
        """Since the last time, over all processes; this waits for the device."""
        values = (summed(self.sums) / world() / max(self.count, 1)).tolist()
        self.sums.zero_()
        self.count = 0
        return dict(zip(("loss", "ssl", "keep", "spread"), values))


@dataclass(frozen=True)
class Progress:
    """Where a run is: what a display is told."""

    doing: str
    task: int
    tasks: int
    epoch: int = 0
    epochs: int = 0
    step: int = 0
    steps: int = 0
    loss: float | None = None
    images_per_second: float | None = None


class Log:
    """`metrics.jsonl` holds only what the experiment decides, and a resumed run continues it without a seam;
    `log.txt` holds the rest: starts, stops, times."""

    def __init__(self, folder: Path, length: int = 0):
        self.metrics = open(folder / "metrics.jsonl", "ab")
        self.metrics.truncate(length)
        self.text = open(folder / "log.txt", "a", encoding="utf-8")

    def row(self, **values: object) -> None:
        self.metrics.write(json.dumps(values).encode() + b"\n")

    def say(self, text: str) -> None:
        print(time.strftime("%Y-%m-%d %H:%M:%S"), text, file=self.text, flush=True)

    def commit(self) -> int:
        """Put all rows on the disk; the number of bytes that a checkpoint may rely on."""
        self.metrics.flush()
        os.fsync(self.metrics.fileno())
        return self.metrics.tell()

    def close(self) -> None:
        self.metrics.close()
        self.text.close()


class Silence(Log):
    """What the other processes of several write: nothing."""

    def __init__(self):
        pass

    def row(self, **values: object) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def commit(self) -> int:
        return 0

    def close(self) -> None:
        pass
