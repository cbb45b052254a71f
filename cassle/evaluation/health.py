"""Whether an encoder has collapsed, told from its features alone."""

import torch
from jaxtyping import Float
from torch import Tensor

from cassle.typing import full


def rankme(features: Float[Tensor, "n dim"]) -> float:
    """exp(-sum_k p_k log p_k),   p_k = s_k / sum_j s_j,   s the singular values      (RankMe: Garrido et al., 2023)

    How many dimensions the features really use: k for k equal singular values, 1 if they are all on one line.
    """
    s = torch.linalg.svdvals(full(features)).double()
    p = s / s.sum()
    return float(torch.exp(-torch.special.xlogy(p, p).sum())) if s[0] > 0 else 0.0
