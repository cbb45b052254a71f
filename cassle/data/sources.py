"""Several data sets in a row, each a domain: sources so unlike that learning one undoes another."""

from collections.abc import Sequence

import torch

from cassle.data.dataset import Dataset, Split
from cassle.data.images import Images


def sources(sets: tuple[Dataset, ...] = ("quickdraw", "fashion_mnist", "emoji")) -> Dataset:
    """Several data sets in a row, each a domain with classes of its own."""
    classes = [tuple(f"{s.name}: {name}" for name in s.classes) for s in sets]
    starts = [sum(map(len, classes[:i])) for i in range(len(sets))]
    train, test = (_joined([getattr(s, half) for s in sets], starts) for half in ("train", "test"))
    return Dataset("sources", train, test, sum(classes, ()), tuple(s.name for s in sets))


def _joined(splits: Sequence[Split], starts: Sequence[int]) -> Split:
    return Split(
        Images(torch.cat([s.images.pixels for s in splits])),
        labels=torch.cat([s.labels + start for s, start in zip(splits, starts)]),
        domains=torch.cat([torch.full((len(s),), i) for i, s in enumerate(splits)]),
    )
