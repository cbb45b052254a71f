"""BatchNorm of a batch that stacks several views, or that several processes share."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from cassle.distributed import summed, world
from cassle.typing import Maps, full


class Norm(nn.BatchNorm2d):
    """BatchNorm, then a shortcut is added if there is one, then ReLU: y = relu(gamma (x - m) / s + beta + shortcut)

    Each view has a mean m and a deviation s of its own, as in the published code, which encodes one after the other.
    """

    views = 1
    """How many views the batch stacks, one after the other: the encoder says so before each pass."""

    def forward(self, x: Maps, shortcut: Maps | None = None, *, relu: bool = True) -> Maps:
        parts = x.chunk(self.views) if self.training else (x,)
        y = torch.cat([self.normalised(part) for part in parts]) if len(parts) > 1 else self.normalised(x)
        if shortcut is not None:
            y = y + shortcut
        return F.relu(y, inplace=True) if relu else y

    def normalised(self, x: Maps) -> Maps:
        """Of one view."""
        return super().forward(x)


class WholeBatchNorm(_BatchNorm):
    """Statistics of all processes' parts of the batch together, on any device, value and gradient alike."""

    def _check_input_dim(self, x: Tensor) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        if world() == 1 or not self.training:
            return super().forward(x)
        axes = [0, *range(2, x.ndim)]
        shape = [1, -1] + [1] * (x.ndim - 2)
        wide = full(x)
        count = x.numel() // x.shape[1] * world()
        mean = summed(wide.sum(axes)) / count
        centred = wide - mean.view(shape)
        variance = summed(centred.square().sum(axes)) / count
        y = centred * (variance + self.eps).rsqrt().view(shape)
        if self.track_running_stats:
            with torch.no_grad():
                self.running_mean.lerp_(mean.detach().to(self.running_mean.dtype), self.momentum)
                self.running_var.lerp_((variance.detach() * count / max(1, count - 1)).to(self.running_var.dtype), self.momentum)
                self.num_batches_tracked.add_(1)
        if self.affine:
            y = y * self.weight.view(shape) + self.bias.view(shape)
        return y.to(x.dtype)


class WholeNorm(Norm, WholeBatchNorm):
    """The same within a residual network."""

    def normalised(self, x: Maps) -> Maps:
        return WholeBatchNorm.forward(self, x)


def whole_batch(module: nn.Module) -> nn.Module:
    """The module with every BatchNorm seeing the batch of all processes; parameters and buffers stay the same tensors."""
    for child in module.modules():
        if isinstance(child, _BatchNorm):
            child.__class__ = WholeNorm if isinstance(child, Norm) else WholeBatchNorm
    return module
