"""BatchNorm of a batch that stacks several views, or that several processes share."""

import torch
from jaxtyping import Float, Int
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


def norms(module: nn.Module) -> list[_BatchNorm]:
    """All BatchNorms of a module that keep running statistics."""
    return [child for child in module.modules() if isinstance(child, _BatchNorm) and child.track_running_stats]


def statistics(module: nn.Module) -> Float[Tensor, " statistics"]:
    """A copy of all its running means and variances, in a row."""
    return torch.cat([own for norm in norms(module) for own in (norm.running_mean, norm.running_var)])


@torch.no_grad()
def put_statistics(module: nn.Module, values: Float[Tensor, " statistics"]) -> None:
    """Back in their places; a backward pass under way, which does not read them, shall not think that they changed: hence `.data`."""
    places = [own.data for norm in norms(module) for own in (norm.running_mean, norm.running_var)]
    torch._foreach_copy_(places, list(values.split([len(place) for place in places])))


def passes(module: nn.Module) -> Int[Tensor, ""]:
    """How often its running statistics have moved."""
    return norms(module)[0].num_batches_tracked.clone()
