"""Chance without a generator: a random number is a hash of the place where it is used.

No state to save, none to share between workers: a killed run, another batch split or a replayed CUDA graph meets
the same numbers, on every device.  The hash is SplitMix64 (Steele, Lea, Flood, 2014), in wrapping int64 arithmetic.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import torch
from jaxtyping import Float, Int
from torch import Tensor

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed 64-bit integer
_MIX1, _MIX2 = -4658895280553007687, -7723592293110705685


def key(*place: int | str) -> int:
    """A 63-bit number for a place in the program, such as (seed, "order", task, epoch)."""
    return int.from_bytes(blake2b(repr(place).encode(), digest_size=8).digest(), "little") >> 1


def fold(key: Int[Tensor, "..."] | int, number: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """A new key for every number, far from all others: one SplitMix64 step."""
    x = key - ~number * _GOLDEN  # -~n is n + 1; a compiler would fold (n + 1) * _GOLDEN into a constant too big for it
    x = (x ^ (x >> 30 & (1 << 34) - 1)) * _MIX1  # `&` makes the signed shift a logical one
    x = (x ^ (x >> 27 & (1 << 37) - 1)) * _MIX2
    return x ^ (x >> 31 & (1 << 33) - 1)


def branch(of: Int[Tensor, ""], purpose: str) -> Int[Tensor, ""]:
    """A key of its own for a purpose, made where the key is."""
    return fold(of, torch.full_like(of, key(purpose)))


def uniform(key: Int[Tensor, ""] | int, lanes: Int[Tensor, " batch"], draws: int) -> Float[Tensor, "batch draws"]:
    """`draws` uniform numbers in [0, 1) for every lane (an image's index, say)."""
    bits = fold(fold(key, lanes)[:, None], torch.arange(draws, device=lanes.device))
    return (bits >> 40 & (1 << 24) - 1).float() * 2.0**-24


def permutation(key: Int[Tensor, ""] | int, n: int, device: torch.device | str = "cpu") -> Int[Tensor, " n"]:
    """0 .. n - 1 in an order that only the key decides."""
    return fold(key, torch.arange(n, device=device)).argsort(stable=True)


@contextmanager
def seeded(key: int) -> Iterator[None]:
    """Let torch's global generator (weight initialisation uses it) start from `key`; put it back afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(key)
        yield
