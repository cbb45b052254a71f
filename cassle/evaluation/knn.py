"""Weighted k-nearest neighbours: nothing is trained, neighbours vote."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from cassle.data.dataset import Column
from cassle.evaluation.features import Encoded
from cassle.evaluation.probe import Probe
from cassle.kinds import Count, Positive


class KNN(Probe):
    """The k nearest training images vote with weight exp(cos / T), or 1 / distance      (Wu et al., 2018; Caron et al., 2021)

    # paper != code: the text names the cosine vote, without k or T; the published code's own default is Euclidean.

    Args:
        features: where images are near: in the backbone's features or in the projector's.
    """

    def __init__(
        self,
        *,
        k: Count = 20,
        temperature: Positive = 0.07,
        distance: Literal["cosine", "euclidean"] = "cosine",
        features: Literal["backbone", "projector"] = "backbone",
    ):
        self.k, self.temperature, self.distance, self.features = k, temperature, distance, features

    def predict(self, encoded: Encoded, columns: Sequence[Column]) -> Int[Tensor, " n"]:
        return self.vote(encoded.train.of(self.features), encoded.train.labels, encoded.test.of(self.features))

    def vote(
        self, train: Float[Tensor, "n dim"], labels: Int[Tensor, " n"], test: Float[Tensor, "m dim"], chunk: int = 1024
    ) -> Int[Tensor, " m"]:
        """The label with most weight, for every test row; ties go to the smaller label."""
        cosine = self.distance == "cosine"
        if cosine:
            train, test = F.normalize(train, dim=1), F.normalize(test, dim=1)
        k, votes = min(self.k, len(train)), []
        for part in test.split(chunk):
            if cosine:
                similarity, near = (part @ train.T).topk(k, sorted=False)
                weight = (similarity / self.temperature).exp()
            else:
                distance, near = torch.cdist(part, train).topk(k, largest=False, sorted=False)
                weight = 1 / (distance + 1e-5)
            ballots = part.new_zeros(len(part), int(labels.max()) + 1)
            votes.append(ballots.scatter_add_(1, labels[near], weight).argmax(1))
        return torch.cat(votes)
