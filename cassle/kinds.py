"""Annotations of settings that say more than a Python type; `cassle.config` holds every configuration to them."""

Count = int
Whole = int
Positive = float | int
Weight = float | int
Share = float | int
Folder = str
"""A folder that must be there when a run begins."""

BOUNDS = {
    "Count": (int, lambda x: x >= 1, "a whole number from 1"),
    "Whole": (int, lambda x: x >= 0, "a whole number from 0"),
    "Positive": (float, lambda x: x > 0, "a number above 0"),
    "Weight": (float, lambda x: x >= 0, "a number from 0"),
    "Share": (float, lambda x: 0 <= x <= 1, "a number from 0 to 1"),
}
