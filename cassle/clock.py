"""Where a run is: the task, the step, and what hangs on them, without asking the device."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from cassle.randomness import fold, key
from cassle.typing import Scalar


@dataclass
class Clock:
    """Counts the steps of one task, on the host and on the device alike.

    The host's count steers the loop; all arithmetic in a step hangs on the device's, so that no step waits for the
    other side and a captured step can be replayed.
    """

    seed: int
    task: int
    epoch_steps: int
    steps: int
    """In this task."""
    step: int = 0
    """Of the step under way, or due: 0 .. steps - 1."""
    device: torch.device | str = "cpu"

    def __post_init__(self):
        self.now: Int[Tensor, ""] = torch.tensor(self.step, device=self.device)

    @property
    def epoch(self) -> int:
        return self.step // self.epoch_steps

    @property
    def done(self) -> bool:
        return self.step >= self.steps

    @property
    def progress(self) -> Scalar:
        """The share of the task's steps that were taken before this one, on the device."""
        return self.now.double() / self.steps

    @property
    def key(self) -> Int[Tensor, ""]:
        """This step's own key to chance, on the device."""
        return fold(key(self.seed, "step", self.task), self.now)

    def tick(self) -> None:
        self.step += 1
        self.now += 1
