"""What all strategies have in common that compare the encoder with its frozen past."""

from abc import abstractmethod
from typing import Literal

from cassle.methods.method import Method
from cassle.networks.encoder import Embedding
from cassle.networks.twins import Frozen
from cassle.strategies.strategy import Strategy
from cassle.typing import Batch, Scalar, Task


class Distillation(Strategy):
    """A strategy that pays for moving away from the encoder as it was when the task began: all it must write is `change`."""

    def __init__(self, weight: float, past_norm: Literal["batch", "running"]):
        super().__init__()
        self.weight, self.past_norm, self.past = weight, past_norm, None

    @abstractmethod
    def change(self, now: Embedding, past: Embedding) -> Scalar:
        """How far the present is from the past, on the views of one batch."""

    def compares(self, task: Task) -> bool:
        """Whether there is a past to pay for; 0 times the price is not asked: even that may take gradients through other kernels."""
        return not task.first and self.weight > 0

    def begin_task(self, task: Task, method: Method) -> None:
        if self.compares(task):
            self.past = Frozen(method.encoder, self.past_norm)

    def penalty(self, now: Embedding, batch: Batch, method: Method) -> Scalar:
        if self.past is None:
            return super().penalty(now, batch, method)
        return self.weight * self.change(now, self.past(batch.views, maps=self.needs_maps))
