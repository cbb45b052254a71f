"""Annotations of settings that say more than a Python type; `cassle.config` holds every configuration to them."""

from typing import TypeVar

Count = int
Whole = int
Positive = float | int
Weight = float | int
Share = float | int
Folder = str
"""A folder that must be there when a run begins."""

DEVICE, DEVICE_WORDS = "auto|cpu|cuda(:[0-9]{1,4})?", "auto, cpu, cuda or cuda:1, say"
"""What `--device` may say."""

T = TypeVar("T")
Some = tuple[T, ...]
"""One at least."""
Span = tuple[T, T]
"""From the one to the other, which is above 0 and not below it."""

LARGEST = 10**8
"""Of what is counted: nobody has the memory for more, nor the time."""
BOUNDS = {
    "int": (int, lambda x: -(2**63) <= x < 2**63, "a whole number of 64 bits"),
    "Count": (int, lambda x: 1 <= x <= LARGEST, f"a whole number from 1 to {LARGEST}"),
    "Whole": (int, lambda x: 0 <= x <= LARGEST, f"a whole number from 0 to {LARGEST}"),
    "Positive": (float, lambda x: x > 0, "a number above 0"),
    "Weight": (float, lambda x: x >= 0, "a number from 0"),
    "Share": (float, lambda x: 0 <= x <= 1, "a number from 0 to 1"),
    "float": (float, lambda x: True, "a number"),
}
