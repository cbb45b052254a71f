"""Learning rates of a task, all known before its first step."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from cassle.kinds import Weight

Schedule = Float[Tensor, " steps"]


def warmup_cosine(
    peak: float,
    steps: int,
    epoch_steps: int,
    *,
    warmup: Weight = 10.0,
    start: Weight = 0.003,
    minimum: Weight = 0.0,
    by: Literal["epoch", "step"] = "epoch",
) -> Schedule:
    """A line from `start` up to `peak` in `warmup` epochs, then half a cosine down to `minimum` at the task's end.

    `by="epoch"` holds the rate within each epoch, as published; the line reaches the peak in the warm-up's last epoch.
    """
    unit = epoch_steps if by == "epoch" else 1
    now = torch.arange(steps, dtype=torch.float64).div(unit, rounding_mode="floor")
    rise, end = warmup * epoch_steps / unit, steps / unit
    up = start + (peak - start) * now / max(rise - 1, 1)
    down = minimum + (peak - minimum) * (1 + torch.cos(torch.pi * (now - rise) / max(end - rise, 1))) / 2
    return torch.where(now < rise, up, down)
