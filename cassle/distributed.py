"""Several processes as one: the only place that calls collectives. Alone, everything here is the identity."""

import gc
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch import distributed as ranks
from torch.nn.parallel import DistributedDataParallel

from cassle.errors import UserError
from cassle.kinds import DEVICE, DEVICE_WORDS

PATIENCE = timedelta(seconds=50)
"""How long a process waits for the others before it gives the job up."""


class Lost(UserError):
    """Another process is gone: the one error that each says for itself."""


def place(device: str) -> torch.device:
    """This process's device; of several on one machine, each has its own GPU."""
    if not re.fullmatch(DEVICE, device):
        raise UserError(f"--device: want {DEVICE_WORDS}, got {device!r}")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    shared = device == "cuda" and "LOCAL_RANK" in os.environ
    device = f"cuda:{os.environ['LOCAL_RANK']}" if shared else device
    if device != "cpu" and int(device[5:] or 0) >= (there := torch.cuda.device_count()):
        raise UserError(f"--device: there is no {device} here ({there} GPUs in all); choose another, or cpu")
    if shared:
        torch.cuda.set_device(device)
    return torch.device(device)


@contextmanager
def team(device: torch.device) -> Iterator[None]:
    """Join the processes that `torchrun` started with this one, if it did, until the end of the block."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield
        return
    try:
        _join(device)
        yield
        ranks.barrier()  # nobody hangs up on the others
    except RuntimeError as error:  # gloo has no error of its own
        if not (isinstance(error, ranks.DistError) or "gloo" in str(error)):
            raise
        number = os.environ["RANK"]
        raise Lost(f"process {number} lost another, which ended or was silent for {PATIENCE.seconds} s; the same command continues") from error
    finally:
        if ranks.is_initialized():
            gc.collect()  # what still holds the group would end it too late, and not quietly
            ranks.destroy_process_group()


def _join(device: torch.device) -> None:
    try:
        ranks.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    except ValueError as error:  # $WORLD_SIZE is set, as some clusters do, and nothing else
        raise UserError(f"{error}; start several processes with torchrun, or unset WORLD_SIZE for one") from None


def parallel(learner: nn.Module) -> nn.Module:
    """The learner with gradients averaged over all ranks; all begin with the weights and the buffers of the first."""
    if world() == 1:
        return learner
    share(learner.buffers())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a newer name, which torch 2.6 does not know
        return DistributedDataParallel(learner, broadcast_buffers=False)


def share(tensors: Iterable[Tensor]) -> None:
    """Give every rank what the first one has."""
    if world() > 1:
        for tensor in tensors:
            ranks.broadcast(tensor, 0)


def anyone(device: torch.device, *flags: bool) -> list[bool]:
    """Whether a flag is up on any rank; all of them hear the same."""
    if world() == 1:
        return list(flags)
    up = torch.tensor(flags, dtype=torch.int32, device=device)
    ranks.all_reduce(up, ranks.ReduceOp.MAX)
    return up.bool().tolist()


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
