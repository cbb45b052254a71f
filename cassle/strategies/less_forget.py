"""Less-Forget (Hou et al., 2019): features keep their direction."""

from typing import Literal

from torch.nn import functional as F

from cassle.kinds import Weight
from cassle.networks.encoder import Embedding
from cassle.strategies.past import Distillation
from cassle.typing import Scalar, full


class LessForget(Distillation):
    """L_D = E_i [ 1 - cos(f_i, f'_i) ],   f' the backbone's features as it was when the task began

    Of their method, the part that needs no classifier, as in the paper.

    Args:
        weight: of L_D; theirs, for few classes, is 5; the paper tried five and does not say which.
        past_norm: what the past's BatchNorm uses: the batch or its running statistics.
    """

    def __init__(self, *, weight: Weight = 5.0, past_norm: Literal["batch", "running"] = "batch"):
        super().__init__(weight, past_norm)

    def change(self, now: Embedding, past: Embedding) -> Scalar:
        return 1 - F.cosine_similarity(full(now.f), full(past.f), dim=-1).mean()
