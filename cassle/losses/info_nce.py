"""InfoNCE: find your target among everybody's."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from cassle.kinds import Positive
from cassle.losses.criterion import Criterion
from cassle.typing import Scalar, Views


class InfoNCE(Criterion):
    """Each embedding must recognise its target among the targets of the whole batch, and each target its embedding.

    L = -1/2 E_i [ log softmax_j(cos(z_i, t_j) / T)_i + log softmax_j(cos(z_j, t_i) / T)_i ],   i, j over all views

    With `target=swap(z), exclude_self=True` this is NT-Xent, SimCLR's loss (Chen et al., 2020, Eq. 1).
    # paper != code: as a distillation loss, the text draws negatives from predicted and frozen features alike; the
    published code, and this class, contrast with all of the other side only, the sibling view among them.

    Args:
        local: contrast within each process of several, as the published code does.
    """

    def __init__(self, temperature: Positive = 0.2, local: bool = False):
        super().__init__()
        self.temperature, self.local = temperature, local

    def forward(
        self,
        z: Views,
        target: Views,
        *,
        exclude_self: bool = False,
        labels: Int[Tensor, " batch"] | None = None,
        negatives: Float[Tensor, "view dim count"] | None = None,
        one_way: bool = False,
    ) -> Scalar:
        """What a method may know besides.

        Args:
            exclude_self: that target is swap(z): no embedding meets itself, and all other views of its image are its targets.
            labels: that all embeddings with its label are its targets (with `exclude_self`; Khosla et al., 2020, Eq. 2).
            negatives: that view v meets negatives[v], and of the targets only its own (He et al., 2020).
            one_way: that only z looks for its target, each view by itself, not the target for z (Dwibedi et al., 2021).
        """
        z, target = (F.normalize(x, dim=-1) for x in (z, target))
        if negatives is not None:
            own = (z * target).sum(-1, keepdim=True)
            return -self._log_likelihood(torch.cat((own, z @ negatives.to(z.dtype)), dim=-1))[..., 0].mean()
        if one_way:
            return -self._log_likelihood(z @ target.mT).diagonal(dim1=1, dim2=2).mean()
        logits = z.flatten(0, 1) @ target.flatten(0, 1).T
        if exclude_self:
            views, batch, _ = z.shape
            myself = torch.eye(len(logits), dtype=torch.bool, device=z.device).roll(batch, dims=1)
            image = torch.arange(batch, device=z.device) if labels is None else labels
            friends = (image[:, None] == image).tile(views, views) & ~myself
            found = self._log_likelihood(logits.masked_fill(myself, float("-inf"))).masked_fill(~friends, 0)
            return -(found.sum(1) / friends.sum(1)).mean()
        return -(self._log_likelihood(logits).diagonal() + self._log_likelihood(logits.T).diagonal()).mean() / 2

    def _log_likelihood(self, cosines: Float[Tensor, "*rows candidate"]) -> Float[Tensor, "*rows candidate"]:
        return (cosines / self.temperature).log_softmax(-1)
