"""Clusters: do images of a class lie together, if nobody says which?"""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from cassle.data.dataset import Column
from cassle.evaluation.features import Encoded
from cassle.evaluation.probe import Probe
from cassle.kinds import Count


class Clusters(Probe):
    """k-means of the test images' directions into as many clusters as there are classes, matched to them at best (Kuhn, 1955).

    No label is learned from: they only name the clusters, and count what agrees.  Besides the accuracy: normalised mutual
    information and the adjusted Rand index, in percent.

    Args:
        starts: of k-means; the best counts.
    """

    def __init__(self, *, starts: Count = 4, features: Literal["backbone", "projector"] = "backbone"):
        self.starts, self.features = starts, features

    def predict(self, encoded: Encoded, columns: Sequence[Column]) -> Int[Tensor, " n"]:
        import numpy as np
        from scipy.optimize import linear_sum_assignment
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        labels, labelled = encoded.test.labels.cpu(), encoded.test.labels.cpu() >= 0
        names = labels[labelled].unique()
        directions = F.normalize(encoded.test.of(self.features), dim=1).double().cpu().numpy()
        with threadpool_limits(1):  # several threads add up in any order
            cluster = KMeans(len(names), n_init=self.starts, random_state=0).fit_predict(directions)
        together = np.zeros((len(names), len(names)), int)
        np.add.at(together, (cluster[labelled.numpy()], torch.searchsorted(names, labels[labelled]).numpy()), 1)
        _, name = linear_sum_assignment(together, maximize=True)
        return names[torch.from_numpy(name[cluster])]

    def more(self, guess: Int[Tensor, " n"], labels: Int[Tensor, " n"]) -> dict[str, float]:
        """Neither cares what clusters are called."""
        from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

        measures = {"nmi": normalized_mutual_info_score, "ari": adjusted_rand_score}
        return {name: 100 * float(measure(labels.numpy(), guess.numpy())) for name, measure in measures.items()}
