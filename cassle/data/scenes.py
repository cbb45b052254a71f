"""Views out of panoramic photographs, to be told apart by place (CC0)."""

from cassle.data.dataset import Dataset
from cassle.data.sheets import sheet


def scenes() -> Dataset:
    """The whole set, at 32 pixels."""
    return sheet("scenes")
