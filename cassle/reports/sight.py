"""What an encoder makes of images that it was not trained on: where they lie, and which lie beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.data.dataset import Dataset, Split
from cassle.evaluation.features import Encoded
from cassle.experiment import Experiment
from cassle.networks.encoder import Encoder
from cassle.typing import Features

NEAR = 5
"""How many neighbours are shown."""
FEW = 30
"""Below this many points t-SNE has nothing to do, and the picture is a plane cut through them."""


@dataclass(frozen=True)
class Sample:
    """Some of the test images, as many of each class in each column as there is room for."""

    dataset: Dataset
    """Both of its splits are the sample."""
    column: Int[Tensor, " n"]

    @property
    def labels(self) -> Int[Tensor, " n"]:
        return self.dataset.test.labels

    def __len__(self) -> int:
        return len(self.column)

    def thinned(self, most: int) -> Int[Tensor, " k"]:
        """Some of them, evenly apart, and so of every column and class."""
        return _evenly(len(self), most)


def sample(dataset: Dataset, columns: Sequence[Int[Tensor, "..."]], limit: int) -> Sample:
    """The images of every column, thinned evenly along its classes; no random number is involved."""
    share = max(1, limit // len(columns))
    picked = []
    for column in columns:
        ordered = column[dataset.test.labels[column].argsort(stable=True)]
        picked.append(ordered[_evenly(len(ordered), share)])
    index = torch.cat(picked)
    split = Split(dataset.test.images.part(index), dataset.test.labels[index], dataset.test.domains[index])
    numbers = torch.arange(len(columns)).repeat_interleave(torch.tensor([len(own) for own in picked]))
    return Sample(replace(dataset, train=split, test=split), numbers)


def features(experiment: Experiment, encoder: Path, seen: Sample) -> Features:
    """The directions in which a saved encoder's backbone sees the sample."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    own = {name.removeprefix("backbone."): tensor for name, tensor in load_file(encoder).items() if name.startswith("backbone.")}
    backbone = experiment.backbone.build()
    backbone.load_state_dict(own)
    encoder = Encoder(backbone, nn.Identity()).to(device, memory_format=torch.channels_last)
    size = experiment.judged_at(seen.dataset.test.images.size)
    return F.normalize(Encoded(encoder, seen.dataset.to(device), getattr(torch, experiment.precision), size).test.f.cpu(), dim=1)


def layout(features: Features, start: Float[np.ndarray, "n 2"] | None = None) -> Float[np.ndarray, "n 2"] | None:
    """Two coordinates for every row, by t-SNE (van der Maaten & Hinton, 2008); None if all rows are one point.

    Args:
        start: another encoder's picture of the same images, so that the two are turned the same way.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    rows = features.double().numpy()
    if len(rows) < 3 or not np.isfinite(rows).all() or rows.std(0).max() < 1e-6:
        return None
    with threadpool_limits(1):  # several threads add up in any order
        flat = PCA(2, random_state=0).fit_transform(rows)
        if len(rows) < FEW or flat.std(0).min() == 0:
            return flat
        start = flat if start is None or len(start) != len(rows) else start
        start = (start / start.std(0).max() * 1e-4).astype(np.float32)
        return TSNE(perplexity=min(30, len(rows) / 4), init=start, max_iter=600, random_state=0).fit_transform(rows.astype(np.float32))


def nearest(features: Features, queries: Int[Tensor, " q"]) -> Int[Tensor, "q near"]:
    """For each query its nearest others by cosine, the nearest first."""
    similarity = features[queries] @ features.T
    similarity[torch.arange(len(queries)), queries] = -torch.inf
    return similarity.topk(min(NEAR, len(features) - 1)).indices


def kinship(features: Features, labels: Int[Tensor, " n"], own: Int[Tensor, "..."]) -> float:
    """In percent: how many of the nearest neighbours of some images are of their image's class."""
    return 100 * (labels[nearest(features, own)] == labels[own, None]).double().mean().item()


def queries(seen: Sample, each: int) -> Int[Tensor, " q"]:
    """A few images of every column, chosen by their place alone: the middle one of classes evenly apart."""
    found = []
    for number in seen.column.unique():
        own = (seen.column == number).nonzero().flatten()
        classes = seen.labels[own].unique()
        if not seen.dataset.classes:
            found.extend(own[_evenly(len(own), each)])
            continue
        for label in classes[_evenly(len(classes), each)]:
            same = own[seen.labels[own] == label]
            found.append(same[len(same) // 2])
    return torch.stack(found)


def _evenly(n: int, most: int) -> Int[Tensor, " k"]:
    """At most so many whole numbers below n, evenly apart, each in the middle of its stretch."""
    k = min(n, most)
    return ((torch.arange(k) + 0.5) * n / max(k, 1)).long()
