"""PFR (Gomez-Villa et al., 2022): features can be led back to what they were."""

from typing import Literal

from torch.nn import functional as F

from cassle.kinds import Count, Weight
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding
from cassle.networks.heads import mlp
from cassle.strategies.past import Distillation
from cassle.typing import Scalar, Task, full


class PFR(Distillation):
    """L_D = E_i [ 1 - cos(g(f_i), f'_i) ],   g a predictor, f' the backbone's features as it was when the task began

    CaSSLe's neighbour: on features instead of projections, and with a cosine whatever the method's loss is.

    Args:
        hidden: the width of g, which is carried on from task to task.
        weight: of L_D; theirs is 25.
        past_norm: what the past's BatchNorm uses: the batch or its running statistics.
    """

    def __init__(self, *, hidden: Count = 512, weight: Weight = 25.0, past_norm: Literal["batch", "running"] = "batch"):
        super().__init__(weight, past_norm)
        self.hidden, self.g = hidden, None

    def begin_task(self, task: Task, method: Method) -> None:
        super().begin_task(task, method)
        if self.compares(task):
            dim = method.encoder.backbone.dim
            self.g = self.g or mlp(dim, self.hidden, dim)

    def change(self, now: Embedding, past: Embedding) -> Scalar:
        return 1 - F.cosine_similarity(full(self.g(now.f)), full(past.f), dim=-1).mean()
