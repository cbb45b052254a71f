"""The one-file example and the library are the same mathematics: their losses agree step for step."""

import importlib.util
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from cassle.clock import Clock
from cassle.methods.simclr import SimCLR
from cassle.strategies.cassle import CaSSLe
from cassle.training.learner import Learner
from cassle.training.loop import step
from cassle.training.optim import LARS
from cassle.typing import Batch, Task

spec = importlib.util.spec_from_file_location("one_file", Path(__file__).parents[1] / "examples" / "cassle_in_one_file.py")
one_file = importlib.util.module_from_spec(spec)
spec.loader.exec_module(one_file)

STEPS, BATCH = 6, 16


class SameViews(nn.Module):
    """The example's images and augmentation in the library's step."""

    def __init__(self, images, generator):
        super().__init__()
        self.images, self.generator = images, generator

    def forward(self, batch):
        index = torch.randint(len(self.images), (BATCH,), generator=self.generator)
        return replace(batch, views=tuple(one_file.two_views(self.images[index], self.generator)))


def test_losses_agree_step_for_step_over_two_tasks():
    torch.manual_seed(0)
    tasks = torch.rand(2, 40, 3, 32, 32, dtype=torch.float64)
    encoder, g = one_file.Encoder().double(), one_file.predictor().double()

    method = SimCLR(deepcopy(encoder.backbone), projector=(128, 32), temperature=one_file.TEMPERATURE).double()
    method.encoder.projector.load_state_dict(encoder.projector.state_dict())
    strategy = CaSSLe(hidden=64)

    past = None
    for number, images in enumerate(tasks):
        if number:
            past = deepcopy(encoder).requires_grad_(False)
        theirs = list(one_file.learn(encoder, images, torch.Generator().manual_seed(number), past, g, STEPS, BATCH))

        strategy.begin_task(Task(number, torch.arange(40)), method)
        if number:
            strategy.double().g.load_state_dict(g_before)
        learner = Learner(method, strategy, SameViews(images, torch.Generator().manual_seed(number))).train()
        optimizer = LARS([p for p in learner.parameters() if p.requires_grad], weight_decay=1e-4)
        optimizer.param_groups[0]["lr"] = torch.zeros((), dtype=torch.float64)
        clock, rates, ours = Clock(0, number, STEPS, STEPS), torch.full((1, STEPS), one_file.LR, dtype=torch.float64), []
        batch = Batch(torch.zeros(BATCH, 3, 32, 32, dtype=torch.uint8), torch.arange(BATCH), torch.zeros(BATCH).long(), clock.key)
        while not clock.done:
            losses = step(learner, optimizer, rates, batch, clock)
            ours.append((float(losses.ssl.detach()), float(losses.keep.detach())))
            clock.tick()
        assert ours == [pytest.approx(pair, rel=1e-9) for pair in theirs]
        assert (theirs[0][1] > 0) == (number > 0)
        g_before = deepcopy(g.state_dict())
