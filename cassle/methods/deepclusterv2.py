"""DeepCluster v2 (Caron et al., 2020): each epoch, cluster what you saw in the last, and learn to tell the clusters apart."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.clock import Clock
from cassle.distributed import gathered
from cassle.kinds import Count, Positive, Some
from cassle.losses import Prototypes, crossed, sinkhorn
from cassle.losses.prototypes import Scores
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.randomness import key, permutation
from cassle.typing import Batch, Scalar, Task, Views


class DeepClusterV2(Method):
    """L = -E_i log softmax(c z_i / T)_k,   k the cluster of i, c the centroids: both fixed for an epoch

    Several clusterings at once, each by spherical k-means on the embeddings of one view as they were in the last
    epoch.  In a task's first epoch nothing is remembered yet: there, assignments are balanced ones, as SwAV's.

    Args:
        prototypes: how many, in each clustering.
        iterations: of k-means.
    """

    multicrop = True

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (2048, 128),
        prototypes: Some[Count] = (3000, 3000, 3000),
        temperature: Positive = 0.1,
        iterations: Count = 10,
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector)), Prototypes(projector[-1], prototypes, temperature, unit=True))
        self.criterion.requires_grad_(False)
        self.iterations = iterations

    def begin_task(self, task: Task) -> None:
        device = self.criterion.direction.device
        self.register_buffer("images", task.index.to(device).sort().values)
        self.register_buffer("memory", torch.zeros(2, len(task), self.encoder.dim, device=device))
        self.register_buffer("clusters", torch.full((len(self.criterion.counts), len(task)), -1, device=device))

    @torch.no_grad()
    def begin_epoch(self, clock: Clock) -> None:
        if clock.epoch == 0:
            return
        for number, centroids in enumerate(self.criterion.direction.split(self.criterion.counts)):
            embeddings, place = self.memory[number % 2], key(clock.seed, "k-means", clock.task, clock.epoch, number)
            found, clusters = spherical_kmeans(embeddings, len(centroids), self.iterations, place)
            self.clusters[number] = clusters.where(embeddings.any(1), -1)  # nothing is known of an image that no batch had
            centroids.copy_(found)

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        z, codes = crossed(now.z, self._codes(now.z[:2].detach(), batch))
        return self.criterion(z, z, codes=codes)

    @torch.no_grad()
    def _codes(self, z: Views, batch: Batch) -> Scores:
        """Of every clustering, side by side: the cluster of each image; where it has none, the nearest centroid."""
        parts = []
        scores = self.criterion.scores(gathered(z, 1)).split(self.criterion.counts, dim=-1)
        index, place = self._places(batch)
        for part, clusters in zip(scores, self.clusters):
            if batch.epoch == 0:
                parts.append(sinkhorn(part))
            else:
                cluster = torch.where(index, clusters[place], -1)
                chosen = torch.where(cluster >= 0, cluster, part.argmax(-1))
                parts.append(F.one_hot(chosen, part.shape[-1]).to(part.dtype))
        return torch.cat(parts, dim=-1)

    def _places(self, batch: Batch) -> tuple[Bool[Tensor, " n"], Int[Tensor, " n"]]:
        """Whether each image is the task's own (a memory brings others), and where it stands."""
        index = gathered(batch.index)
        place = torch.searchsorted(self.images, index).clamp(max=len(self.images) - 1)
        return self.images[place] == index, place

    def after_step(self, clock: Clock, now: Embedding, batch: Batch) -> None:
        own, place = self._places(batch)
        z = F.normalize(gathered(now.z[:2].detach(), 1).to(self.memory.dtype), dim=-1)
        self.memory[:, place] = torch.where(own[:, None], z, self.memory[:, place])


def spherical_kmeans(
    x: Float[Tensor, "n dim"], count: int, iterations: int, place: int
) -> tuple[Float[Tensor, "count dim"], Int[Tensor, " n"]]:
    """Unit centroids, and the cluster of each unit row: those with the largest cosine; an empty cluster stays where it was."""
    centroids = x[permutation(place, len(x), x.device)[torch.arange(count, device=x.device) % len(x)]]
    for _ in range(iterations):
        clusters = nearest(x, centroids)
        sums = torch.zeros_like(centroids).index_add_(0, clusters, x)
        centroids = torch.where(sums.any(1, keepdim=True), F.normalize(sums, dim=1), centroids)
    return centroids, nearest(x, centroids)


def nearest(x: Float[Tensor, "n dim"], centroids: Float[Tensor, "count dim"]) -> Int[Tensor, " n"]:
    return torch.cat([(part @ centroids.T).argmax(1) for part in x.split(8192)])
