"""What an SSL method is: an encoder, a criterion, and who predicts whom."""

from abc import ABC, abstractmethod

from torch import nn

from cassle.clock import Clock
from cassle.losses import Criterion
from cassle.networks.encoder import Embedding, Encoder
from cassle.typing import Batch, Scalar, Task


class Method(nn.Module, ABC):
    """A way to learn from two views of unlabelled images: all that a subclass must write is `loss`.

    It does not know that it is being taught continually.
    """

    labelled = False
    """Whether it is told the labels."""
    multicrop = False
    """Whether it can use more views than two: small crops, which predict the first two and are predicted by none."""

    def __init__(self, encoder: Encoder, criterion: Criterion):
        super().__init__()
        self.encoder, self.criterion = encoder, criterion

    @abstractmethod
    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        """L_SSL of one batch, `now` being its embedding (Eq. 1)."""

    def begin_task(self, task: Task) -> None:
        """Make what this task needs; its contents are state and may be loaded over."""

    def begin_epoch(self, clock: Clock) -> None:
        """Before the first step of each epoch."""

    def after_backward(self, clock: Clock) -> None:
        """Between the gradients and the optimiser."""

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        """Moving averages and queues advance here."""
