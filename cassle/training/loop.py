"""One task, step by step."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer

from cassle.clock import Clock
from cassle.data.batches import Batches
from cassle.distributed import parallel
from cassle.training.learner import Learner, Losses
from cassle.training.log import Meter
from cassle.typing import Batch

EVERY = 10
"""Steps between two rows of metrics: the only times when the host waits for the device."""


def train(
    learner: Learner,
    optimizer: Optimizer,
    rates: Float[Tensor, "group steps"],
    batches: Batches,
    clock: Clock,
    report: Callable[[dict[str, float]], None],
    lessons: Batches | None = None,
) -> None:
    """From the clock's step to the end of its task; `report` hears the mean losses of every few steps.

    Args:
        lessons: what probes learn from that learn along.
    """
    meter, forward = Meter(clock.device), parallel(learner)
    while not clock.done:
        if clock.step % clock.epoch_steps == 0:
            learner.method.begin_epoch(clock)
        meter.add(step(learner, optimizer, rates, batches(clock), clock, forward, lessons and lessons(clock)))
        clock.tick()
        if clock.step % EVERY == 0 or clock.done:
            report(meter.means())


def step(
    learner: Learner,
    optimizer: Optimizer,
    rates: Float[Tensor, "group steps"],
    batch: Batch,
    clock: Clock,
    forward: Callable[[Batch, Batch | None], Losses] | None = None,
    shown: Batch | None = None,
) -> Losses:
    """One descent, with everything that moves along; nothing in it waits for the device.

    Args:
        rates: of each group of parameters.
        forward: the learner as several processes call it.
        shown: to the probes that learn along.
    """
    for group, own in zip(optimizer.param_groups, rates):
        group["lr"].copy_(own.take(clock.now))
    losses = (forward or learner)(batch, shown)
    optimizer.zero_grad()
    (losses.total + losses.watched).backward()
    learner.method.after_backward(clock)
    optimizer.step()
    with torch.no_grad():
        learner.method.after_step(clock, losses.now, losses.batch)
        learner.strategy.after_step(clock, losses.now, losses.batch)
    return losses
