"""Several processes as one: the only place that calls collectives. Alone, everything here is the identity."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch import distributed as ranks


def world() -> int:
    """How many processes learn together."""
    return ranks.get_world_size() if ranks.is_available() and ranks.is_initialized() else 1


def rank() -> int:
    """Which of them this one is, from 0."""
    return ranks.get_rank() if world() > 1 else 0


def gathered(x: Shaped[Tensor, "..."], dim: int = 0) -> Shaped[Tensor, "..."]:
    """Every rank's x, side by side along `dim`, in the order of the ranks; gradients flow back to each rank's own.

    A loss of the whole batch, made on every rank of such tensors, has after DDP's averaging the gradient that one process
    with the whole batch would have.
    """
    return x if world() == 1 else _Gather.apply(x, dim)


def summed(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The sum over all ranks, on every rank; gradients are summed alike."""
    return x if world() == 1 else _Sum.apply(x)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, dim: int) -> Tensor:
        ctx.dim, ctx.length = dim, x.shape[dim]
        parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(world())]
        ranks.all_gather(parts, x.contiguous())
        return torch.cat(parts, dim)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        gradient = gradient.contiguous().clone()
        ranks.all_reduce(gradient)
        return gradient.narrow(ctx.dim, ranks.get_rank() * ctx.length, ctx.length), None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        total = x.contiguous().clone()
        ranks.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        gradient = gradient.contiguous().clone()
        ranks.all_reduce(gradient)
        return gradient
