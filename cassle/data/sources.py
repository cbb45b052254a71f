"""Several data sets in a row, each a domain: sources so unlike that learning one undoes another."""

from collections.abc import Sequence
from hashlib import sha256

import torch

from cassle.data.dataset import Dataset, Split
from cassle.data.images import joined
from cassle.kinds import Some


def sources(sets: Some[Dataset] = ("quickdraw", "fashion_mnist", "emoji"), validate: bool = False) -> Dataset:
    """Several data sets in a row, each a domain with classes of its own.

    `validate` judges on every fifth training image, which is then not learned from, instead of the test images: for choosing.
    """
    classes = [tuple(f"{s.name}: {name}" for name in s.classes) for s in sets]
    starts = [sum(map(len, classes[:i])) for i in range(len(sets))]
    train, test = (_joined([getattr(s, half) for s in sets], starts) for half in ("train", "test"))
    if validate:
        fifth = torch.arange(len(train)) % 5 == 4
        train, test = (_part(train, rows.nonzero().flatten()) for rows in (~fifth, fifth))
    marks = [s.fingerprint for s in sets]
    fingerprint = sha256("".join(marks).encode()).hexdigest()[:16] if any(marks) else ""
    aside = sum((s.aside for s in sets), ())
    return Dataset("sources", train, test, sum(classes, ()), tuple(s.name for s in sets), fingerprint=fingerprint, aside=aside)


def _joined(splits: Sequence[Split], starts: Sequence[int]) -> Split:
    return Split(
        joined([s.images for s in splits]),
        labels=torch.cat([torch.where(s.labels < 0, -1, s.labels + start) for s, start in zip(splits, starts)]),
        domains=torch.cat([torch.full((len(s),), i) for i, s in enumerate(splits)]),
    )


def _part(split: Split, index: torch.Tensor) -> Split:
    return Split(split.images.part(index), split.labels[index], split.domains[index])
