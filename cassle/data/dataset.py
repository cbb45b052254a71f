"""A data set: images to learn from, images to test on, and what is known about them."""

import inspect
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cassle.config import Component
from cassle.data.images import Images
from cassle.errors import UserError
from cassle.registry import load

CIFAR_MEAN, CIFAR_STD = (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PAPER_STD = (0.228, 0.224, 0.225)  # paper != code: the text says nothing; the published code has .228 for red


@dataclass(frozen=True)
class Split:
    """Images with a label (-1 where there is none) and a domain each; training never sees either, except to cut the stream."""

    images: Images
    labels: Int[Tensor, " n"]
    domains: Int[Tensor, " n"]

    def __len__(self) -> int:
        return len(self.images)

    def to(self, device: torch.device | str) -> "Split":
        return replace(self, images=self.images.to(device))


@dataclass(frozen=True)
class Dataset:
    """What a data file makes."""

    name: str
    train: Split
    test: Split
    classes: tuple[str, ...]
    """None of them where nothing is labelled: then there is nothing to probe for."""
    domains: tuple[str, ...]
    mean: tuple[float, float, float] = CIFAR_MEAN
    std: tuple[float, float, float] = CIFAR_STD
    fingerprint: str = ""
    """Of images that may change between two starts of a run."""
    aside: tuple[str, ...] = ()
    """Files that could not be used, each with the reason."""

    def to(self, device: torch.device | str) -> "Dataset":
        return replace(self, train=self.train.to(device), test=self.test.to(device))

    def pixel_statistics(self, device: torch.device | str) -> tuple[Float[Tensor, "3"], Float[Tensor, "3"]]:
        return torch.tensor(self.mean, device=device), torch.tensor(self.std, device=device)


def cut(stream: Component, split: Split) -> list[Int[Tensor, "..."]]:
    """The stream's tasks over a split; it is given what its first parameter is called."""
    return stream.build({"labels": split.labels, "domains": split.domains, "n": len(split)}[_cuts_by(stream)])


class Column(NamedTuple):
    """What one column of the accuracy matrix is about: the images of a task, or of whatever else is judged by itself."""

    train: Int[Tensor, "..."]
    """To learn from."""
    test: Int[Tensor, "..."]
    """To be asked about."""

    @classmethod
    def of(cls, dataset: Dataset) -> "Column":
        """Everything that is labelled; or everything, where nothing is."""
        least = 0 if dataset.classes else -1
        return cls(*((split.labels >= least).nonzero().flatten() for split in (dataset.train, dataset.test)))


def columns(stream: Component, dataset: Dataset) -> list[Column]:
    """How a stream groups the images that are judged: by its tasks' classes or domains, or all together if it asks for neither."""
    everything = Column.of(dataset)
    if _cuts_by(stream) == "n" or not len(everything.test):
        return [everything]
    groups = [cut(stream, split) for split in (dataset.train, dataset.test)]
    if len({len(group) for group in groups}) > 1:
        raise UserError(f"stream: {stream.name} cuts test images and training images differently; do both have all classes?")
    return [Column(*(index[torch.isin(index, known)] for index, known in zip(pair, everything))) for pair in zip(*groups)]


def _cuts_by(stream: Component) -> str:
    return next(iter(inspect.signature(load(stream.room, stream.name, "stream")).parameters))
