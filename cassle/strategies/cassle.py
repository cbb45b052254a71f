"""CaSSLe (Fini et al., 2022): the present predicts the past."""

from copy import deepcopy
from typing import Literal

from cassle.kinds import Count, Weight
from cassle.losses import Criterion
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding
from cassle.networks.heads import mlp
from cassle.networks.twins import Frozen
from cassle.strategies.strategy import Strategy
from cassle.typing import Batch, Scalar, Task


class CaSSLe(Strategy):
    """L_D(z, z') = L_SSL(g(z), z'),   z' the embedding by the encoder as it was when the task began      (Eq. 4)

    Whatever loss taught the encoder is the distance to its past; a small predictor g leaves it free to change.

    Args:
        hidden: the width of g; its published form has BatchNorm and ReLU.
        weight: of L_D beside L_SSL; 1 in the paper, for every method.
        criterion: another distance than the method's own.
        past_norm: what the past's BatchNorm uses: the "batch" (published) or its "running" statistics.
    """

    def __init__(
        self,
        *,
        hidden: Count = 2048,
        weight: Weight = 1.0,
        criterion: Criterion | None = None,
        past_norm: Literal["batch", "running"] = "batch",
    ):
        super().__init__()
        self.hidden, self.weight, self.past_norm = hidden, weight, past_norm
        self.criterion = criterion
        self.past = self.distance = self.g = None

    def begin_task(self, task: Task, method: Method) -> None:
        if task.first:
            return
        self.past = Frozen(method.encoder, self.past_norm)
        self.distance = deepcopy(self.criterion or method.criterion).requires_grad_(False)
        # paper != code: the text does not say that g is carried from task to task; the published code carries it.
        self.g = self.g or mlp(method.encoder.dim, self.hidden, method.encoder.dim)

    def penalty(self, now: Embedding, batch: Batch, method: Method) -> Scalar:
        if self.past is None:
            return super().penalty(now, batch, method)
        return self.weight * self.distance(self.g(now.z), self.past(batch.views).z)  # Eq. 4
