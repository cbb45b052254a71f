"""The one question every loss answers: how well does z predict its target?"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cassle.distributed import gathered
from cassle.typing import Scalar, Views, full


class Criterion(nn.Module, ABC):
    """How well z predicts target, view by view: z[v, i] should match target[v, i].

    What a method knows beyond its two operands (a queue, labels, "do not contrast me with myself") goes in keyword
    extras that default to nothing.  Distillation is the call without extras.
    """

    local = False
    """Whether each process of several looks at its own part of the batch alone, instead of at the whole."""

    def __call__(self, z: Views, target: Views, **extras) -> Scalar:
        """Every criterion computes in float32 at least, whatever precision the networks ran in, on the whole batch."""
        with exactly(z):
            z, target = full(z), full(target)
            if not self.local:
                z, target = gathered(z, 1), gathered(target, 1)
            return super().__call__(z, target, **extras)

    @abstractmethod
    def forward(self, z: Views, target: Views) -> Scalar: ...


def exactly(x: Tensor) -> AbstractContextManager:
    """No half precision in here."""
    return torch.autocast(x.device.type, enabled=False)


def swap(z: Views) -> Views:
    """The other view of every image: swap(z)[A] = z[B]. Of more than two views, the one before."""
    return z.roll(1, 0)


def crossed(z: Views, target: Float[Tensor, "large batch code"]) -> tuple[Float[Tensor, "pair batch dim"], Float[Tensor, "pair batch code"]]:
    """Every view beside every target but its own: with two of each, z and swap(target).

    With more views than targets, all of them predict the few: how multi-crop is meant (Caron et al., 2020, Eq. 3).
    """
    pairs = [(v, w) for v in range(len(z)) for w in range(len(target)) if v != w]
    return z[[v for v, _ in pairs]], target[[w for _, w in pairs]]
