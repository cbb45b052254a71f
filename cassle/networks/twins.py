"""Copies of an encoder that no gradient reaches: its frozen past, and its moving average."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Literal

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from cassle.networks.encoder import Embedding, Encoder
from cassle.typing import Pixels, Scalar


class Frozen(nn.Module):
    """The encoder as it is now, for ever: neither its parameters nor its buffers change again.

    # paper != code: the text calls the past frozen; the published code leaves its BatchNorm in train mode, so that
    # an image's target depends on its batch mates.  `norm="batch"` does that (without letting the running
    # statistics drift, which no output could show); `norm="running"` uses the statistics as they were.
    """

    def __init__(self, encoder: Encoder, norm: Literal["batch", "running"] = "batch"):
        super().__init__()
        self.encoder = deepcopy(encoder).requires_grad_(False).eval()
        for module in self.encoder.modules():
            if norm == "batch" and isinstance(module, _BatchNorm):
                module.train().track_running_stats = False

    def train(self, mode: bool = True) -> "Frozen":
        """Deaf to the learner's switch between training and evaluation."""
        return self

    @torch.no_grad()
    def forward(self, views: Sequence[Pixels], *, maps: bool = False) -> Embedding:
        return self.encoder(views, maps=maps)


class EMA(nn.Module):
    """A slow copy of a module: w' <- tau w' + (1 - tau) w, with tau from `base` to `final` along a cosine.

    Parameters only: BatchNorm's running statistics are the copy's own, from its own forward passes, as published.
    (Grill et al., 2020; He et al., 2020)
    """

    def __init__(self, module: nn.Module, base: float, final: float):
        super().__init__()
        self.copy = deepcopy(module).requires_grad_(False)
        self.base, self.final = base, final

    @torch.no_grad()
    def forward(self, *operands):
        return self.copy(*operands)

    def tau(self, progress: Scalar) -> Scalar:
        """1 - tau falls from 1 - base at progress 0 to 1 - final at 1."""
        return self.final - (self.final - self.base) * (torch.cos(torch.pi * progress) + 1) / 2

    @torch.no_grad()
    def update(self, module: nn.Module, progress: Scalar) -> None:
        """One step towards `module`; `progress` is the share of the task's steps taken before this one."""
        slow, fast = list(self.copy.parameters()), list(module.parameters())
        tau = self.tau(progress).to(slow[0].dtype)
        torch._foreach_mul_(slow, tau)
        torch._foreach_add_(slow, torch._foreach_mul(fast, 1 - tau))
