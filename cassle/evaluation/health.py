"""What can be told of an encoder without a label: whether it collapsed, and whether it still sees what it saw."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from cassle.typing import Features, full

NEAR = 10
"""How many neighbours are compared."""


def health(now: Features, views: tuple[Features, Features], before: Features | None) -> dict[str, float | None]:
    """All of them, of the same images: as they are, in two views, and seen by the encoder of the task before if there is one."""
    return {
        "rankme": rankme(now),
        "spread": spread(now),
        "alignment": alignment(*views),
        "uniformity": uniformity(now),
        "cka": None if before is None else cka(now, before),
        "overlap": None if before is None else overlap(now, before),
    }


def rankme(features: Float[Tensor, "n dim"]) -> float:
    """exp(-sum_k p_k log p_k),   p_k = s_k / sum_j s_j,   s the singular values      (RankMe: Garrido et al., 2023)

    How many dimensions the features really use: k for k equal singular values, 1 if they are all on one line.
    """
    s = torch.linalg.svdvals(full(features)).double()
    p = s / s.sum()
    return float(torch.exp(-torch.special.xlogy(p, p).sum())) if s[0] > 0 else 0.0


def spread(features: Float[Tensor, "n dim"]) -> float:
    """E_d std(f_d / |f|) sqrt(dim): about 1 if directions point everywhere, 0 if they are one      (after Chen and He, 2021)"""
    return float(F.normalize(full(features), dim=1).std(0, correction=0).mean() * features.shape[1] ** 0.5)


def alignment(features: Float[Tensor, "n dim"], others: Float[Tensor, "n dim"]) -> float:
    """E_i |f_i - f_i'|^2,   f and f' the normalised features of two views of an image      (Wang and Isola, 2020)"""
    f, g = (F.normalize(full(x), dim=1) for x in (features, others))
    return float((f - g).square().sum(1).mean())


def uniformity(features: Float[Tensor, "n dim"]) -> float:
    """log E_{i != j} exp(-2 |f_i - f_j|^2), features normalised: the lower, the evener they cover the sphere      (Wang and Isola, 2020)"""
    return float(torch.pdist(F.normalize(full(features), dim=1)).square().mul(-2).exp().mean().log())


def cka(features: Float[Tensor, "n dim"], others: Float[Tensor, "n other"]) -> float:
    """|X^T Y|^2 / (|X^T X| |Y^T Y|), columns centred: 1 if one is the other turned or scaled      (linear CKA: Kornblith et al., 2019)"""
    x, y = (full(f) - full(f).mean(0) for f in (features, others))
    own = (x.T @ x).norm() * (y.T @ y).norm()
    return float((x.T @ y).square().sum() / own) if own > 0 else 0.0


def overlap(features: Float[Tensor, "n dim"], others: Float[Tensor, "n other"], near: int = NEAR) -> float:
    """The share of an image's nearest neighbours (by cosine) that two encoders have in common."""
    near = min(near, len(features) - 1)
    found = []
    for x in (features, others):
        f = F.normalize(full(x), dim=1)
        found.append((f @ f.T).fill_diagonal_(-torch.inf).topk(near).indices)
    return float((found[0][:, :, None] == found[1][:, None]).any(2).double().mean())
