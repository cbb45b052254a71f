"""LARS: momentum SGD whose step is a fixed share of each tensor's own size."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.optim import Optimizer

from cassle.kinds import Positive, Share, Weight


class LARS(Optimizer):
    """g <- (g + d w) r,  r = eta |w| / (|g| + d |w|);  m <- mu m + g;  w <- w - lr m      (You et al., 2017)

    Without waiting for the device: the learning rate may be a tensor on it, and norms stay there.

    Args:
        lr: for a batch of 256; a run scales it in proportion to its own.
        clip: r is at most lr, so that a small tensor never moves faster than under plain SGD.
        exclude_1d: biases and norms take plain momentum steps.
            # paper != code: the published code then spares them the weight decay as well, and so does this.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict],
        lr: Positive = 0.4,
        momentum: Share = 0.9,
        weight_decay: Weight = 1e-4,
        eta: Positive = 0.02,
        clip: bool = True,
        exclude_1d: bool = True,
    ):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, eta=eta, clip=clip, exclude_1d=exclude_1d))
        for group in self.param_groups:
            for w in group["params"]:
                self.state[w]["momentum"] = torch.zeros_like(w)  # made here, so that a checkpoint has where to go

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            moving = [w for w in group["params"] if w.grad is not None]
            plain = [w for w in moving if group["exclude_1d"] and w.ndim <= 1]
            scaled = [w for w in moving if not (group["exclude_1d"] and w.ndim <= 1)]
            self._descend(plain, [w.grad for w in plain], group)
            self._descend(scaled, _trusted(scaled, group), group)

    def _descend(self, weights: list[Tensor], gradients: Sequence[Tensor], group: dict) -> None:
        if not weights:
            return
        momenta = [self.state[w]["momentum"] for w in weights]
        torch._foreach_mul_(momenta, group["momentum"])
        torch._foreach_add_(momenta, gradients)
        torch._foreach_sub_(weights, torch._foreach_mul(momenta, group["lr"]))


def _trusted(weights: list[Tensor], group: dict) -> Sequence[Tensor]:
    """(g + d w) r, tensor by tensor; a tensor without size or without gradient keeps its gradient as it is."""
    if not weights:
        return []
    decay, gradients = group["weight_decay"], [w.grad for w in weights]
    size, slope = (torch.stack(torch._foreach_norm(tensors)) for tensors in (weights, gradients))
    rate = group["eta"] * size / (slope + decay * size + 1e-8)
    if group["clip"]:
        rate = (rate / group["lr"]).clamp(max=1)
    usable = (size != 0) & (slope != 0)
    pulls = torch._foreach_mul(weights, (decay * usable.to(size.dtype)).unbind())
    return torch._foreach_mul(torch._foreach_add(gradients, pulls), torch.where(usable, rate, 1).unbind())
