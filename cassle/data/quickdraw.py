"""Drawings of 100 things, from Google's Quick, Draw! game (CC BY 4.0)."""

from cassle.data.dataset import Dataset
from cassle.data.sheets import sheet


def quickdraw() -> Dataset:
    """The whole set, at 32 pixels."""
    return sheet("quickdraw")
