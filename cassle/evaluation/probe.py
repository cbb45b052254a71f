"""What a probe is: labels guessed from features."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from cassle.evaluation.features import Encoded


class Probe(ABC):
    """Reads what a frozen backbone knows: it may look at training labels, never at the method that trained it."""

    @abstractmethod
    def predict(self, encoded: Encoded) -> Int[Tensor, " n"]:
        """A label for every test image."""

    def row(self, encoded: Encoded, columns: Sequence[Int[Tensor, "..."]]) -> list[float]:
        """One row of the accuracy matrix: percent right among each task's test images."""
        right = (self.predict(encoded).cpu() == encoded.dataset.test.labels).double()
        return [100 * right[column].mean().item() for column in columns]
