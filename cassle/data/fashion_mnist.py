"""Photographs of clothing, in gray: a part of Fashion-MNIST (MIT)."""

from cassle.data.dataset import Dataset
from cassle.data.sheets import sheet


def fashion_mnist() -> Dataset:
    """The whole set, at 32 pixels."""
    return sheet("fashion_mnist")
