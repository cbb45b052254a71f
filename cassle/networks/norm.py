"""BatchNorm over the batch of all processes."""

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from cassle.distributed import summed, world
from cassle.typing import full


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


def whole_batch(module: nn.Module) -> nn.Module:
    """The module with every BatchNorm seeing the batch of all processes; parameters and buffers stay the same tensors."""
    for child in module.modules():
        if isinstance(child, _BatchNorm):
            child.__class__ = WholeBatchNorm
    return module
