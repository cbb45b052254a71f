"""CaSSLe (Fini et al., 2022): the present predicts the past."""

from copy import deepcopy
from typing import Literal

from torch import nn

from cassle.errors import UserError
from cassle.kinds import Count, Weight
from cassle.losses import Criterion, Prototypes
from cassle.losses import swap as swapped
from cassle.methods.method import Method
from cassle.networks.encoder import Embedding
from cassle.networks.heads import mlp
from cassle.strategies.past import Distillation
from cassle.typing import Scalar, Task


class CaSSLe(Distillation):
    """L_D(z, z') = L_SSL(g(z), z'),   z' the embedding by the encoder as it was when the task began      (Eq. 4)

    Whatever loss taught the encoder is the distance to its past; a small predictor g leaves it free to change.
    The rest are the paper's ablations.

    Args:
        hidden: the width of g.
        weight: of L_D beside L_SSL; 1 in the paper, for every method.
        criterion: another distance than the method's own.
        predictor: without it, g is the identity.
        linear: g is one linear layer.
        norm: g has a BatchNorm, as published.
        fresh: g is made anew for each task.
            # paper != code: the text does not say; the published code carries it on.
        swap: each view predicts the past's other view.
        one_view: only the first view is asked.
        own_prototypes: for methods with prototypes (SwAV, DINO, DeepCluster): the present meets its past on prototypes of its own.
            # paper != code: in the text both use the past's; in the published code the present learns a second set.
        past_norm: what the past's BatchNorm uses: the "batch" (published) or its "running" statistics.
    """

    def __init__(
        self,
        *,
        hidden: Count = 2048,
        weight: Weight = 1.0,
        criterion: Criterion | None = None,
        predictor: bool = True,
        linear: bool = False,
        norm: bool = True,
        fresh: bool = False,
        swap: bool = False,
        one_view: bool = False,
        own_prototypes: bool = True,
        past_norm: Literal["batch", "running"] = "batch",
    ):
        super().__init__(weight, past_norm)
        self.hidden, self.criterion = hidden, criterion and deepcopy(criterion).requires_grad_(False)
        self.predictor, self.linear, self.norm, self.fresh = predictor, linear, norm, fresh
        self.swap, self.one_view, self.own_prototypes = swap, one_view, own_prototypes
        self.distance = self.g = self.prototypes = None

    def check(self, method: Method) -> None:
        if isinstance(self.criterion, Prototypes) and self.criterion.dim != method.encoder.dim:
            raise UserError(f"strategy.criterion.dim is {self.criterion.dim}, but the method embeds in {method.encoder.dim} dimensions")

    def begin_task(self, task: Task, method: Method) -> None:
        super().begin_task(task, method)
        if not self.compares(task):
            return
        self.distance = deepcopy(self.criterion or method.criterion).requires_grad_(False)
        self.g = (None if self.fresh else self.g) or self._g(method.encoder.dim)
        if self.own_prototypes and isinstance(self.distance, Prototypes):
            self.prototypes = self.prototypes or self.distance.fresh()

    def change(self, now: Embedding, past: Embedding) -> Scalar:
        seen = slice(1) if self.one_view else slice(None)
        z, target = self.g(now.z[seen]), (swapped(past.z) if self.swap else past.z)[seen]
        extras = {"student": self.prototypes} if self.prototypes else {}
        return self.distance(z, target, **extras)  # Eq. 4

    def _g(self, dim: int) -> nn.Module:
        if not self.predictor:
            return nn.Identity()
        return mlp(dim, dim) if self.linear else mlp(dim, self.hidden, dim, norm=self.norm)
