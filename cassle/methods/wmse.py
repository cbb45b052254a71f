"""W-MSE (Ermolov et al., 2021): views agree once what they have in common with all images is taken out."""

import torch
from torch import nn

from cassle.distributed import gathered
from cassle.kinds import Count, Some, Weight
from cassle.losses import Cosine, Whitened, swap
from cassle.losses.criterion import exactly
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding, Encoder
from cassle.networks.heads import mlp
from cassle.randomness import fold
from cassle.typing import Batch, Scalar, full


class WMSE(Method):
    """L = E_i [ 2 - 2 cos(W z_i, W' z_i') ],   W whitening z's slice of the batch

    Args:
        size: of a slice; the batch is cut into such slices at random.
        rounds: how often it is cut anew.
    """

    def __init__(
        self,
        backbone: nn.Module,
        *,
        projector: Some[Count] = (1024, 64),
        size: Count = 128,
        rounds: Count = 1,
        eps: Weight = 1e-4,
    ):
        super().__init__(Encoder(backbone, mlp(backbone.dim, *projector)), Whitened(Cosine(), eps))
        self.size, self.rounds = size, rounds

    def loss(self, now: Embedding, batch: Batch) -> Scalar:
        z, index = gathered(full(now.z), 1), gathered(batch.index)
        size = min(self.size, len(index))
        total = 0
        for number in range(self.rounds):
            order = fold(fold(batch.key, torch.full_like(batch.key, number)), index).argsort()[: len(index) // size * size]
            slices, others = (x[:, order].unflatten(1, (-1, size)).flatten(0, 1) for x in (z, swap(z)))
            with exactly(z):
                total = total + self.criterion.forward(slices, others)
        return total / self.rounds
