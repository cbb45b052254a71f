"""The same symbols as four vendors draw them, each vendor a domain (Apache-2.0, CC BY 4.0, MIT)."""

from cassle.data.dataset import Dataset
from cassle.data.sheets import sheet


def emoji() -> Dataset:
    """The whole set, at 32 pixels."""
    return sheet("emoji")
