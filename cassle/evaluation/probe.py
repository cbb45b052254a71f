"""What a probe is: labels guessed from features."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Int
from torch import Tensor, nn

from cassle.data.dataset import Column
from cassle.evaluation.features import Encoded
from cassle.networks.encoder import Encoder


@dataclass(frozen=True)
class Verdict:
    """What a probe says of an encoder."""

    row: list[float]
    """Of the accuracy matrix: percent right among each column's test images."""
    classes: dict[str, float] = field(default_factory=dict)
    """Percent right, by class."""
    more: dict[str, float] = field(default_factory=dict)
    """What else the probe measures."""


class Probe(ABC):
    """Reads what a frozen encoder knows: it may look at training labels, never at the method that trained it."""

    @abstractmethod
    def predict(self, encoded: Encoded, columns: Sequence[Column]) -> Int[Tensor, " n"]:
        """A label for every test image; -1 for those in no column, if it goes by columns."""

    def judge(self, encoded: Encoded, columns: Sequence[Column]) -> Verdict:
        guess, labels = self.predict(encoded, columns).cpu(), encoded.dataset.test.labels
        right = (guess == labels).double()
        row = [100 * right[column.test].mean().item() for column in columns]
        own = {name: right[labels == number] for number, name in enumerate(encoded.dataset.classes)}
        classes = {name: 100 * hits.mean().item() for name, hits in own.items() if len(hits)}
        return Verdict(row, classes, self.more(guess[labels >= 0], labels[labels >= 0]))

    def more(self, guess: Int[Tensor, " n"], labels: Int[Tensor, " n"]) -> dict[str, float]:
        """Other measures than accuracy."""
        return {}

    def pupil(self, encoder: Encoder, classes: int) -> nn.Module | None:
        """A part of it that learns beside the encoder, step by step (see `online`)."""
        return None


def stratified(labels: Int[Tensor, " n"], share: float, order: Int[Tensor, " n"]) -> Int[Tensor, " k"]:
    """A share of the rows of every class, one at least: the first ones in a given order; ascending."""
    kept = []
    for label in labels.unique():
        own = order[labels[order] == label]
        kept.append(own[: max(1, round(share * len(own)))])
    return torch.cat(kept).sort().values
