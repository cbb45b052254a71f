"""The one question every loss answers: how well does z predict its target?"""

from abc import ABC, abstractmethod

import torch
from torch import nn

from cassle.typing import Scalar, Views, full


class Criterion(nn.Module, ABC):
    """How well z predicts target, view by view: z[v, i] should match target[v, i].

    What a method knows beyond its two operands (a queue, labels, "do not contrast me with myself") goes in keyword
    extras that default to nothing.  Distillation is the call without extras.
    """

    def __call__(self, z: Views, target: Views, **extras) -> Scalar:
        """Every criterion computes in float32 at least, whatever precision the networks ran in."""
        with torch.autocast(z.device.type, enabled=False):
            return super().__call__(full(z), full(target), **extras)

    @abstractmethod
    def forward(self, z: Views, target: Views) -> Scalar: ...


def swap(z: Views) -> Views:
    """The other view of every image: swap(z)[A] = z[B]."""
    return z.flip(0)
