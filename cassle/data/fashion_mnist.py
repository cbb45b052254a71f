"""Photographs of clothing, in gray: a part of Fashion-MNIST (MIT)."""

from cassle.data.dataset import Dataset
from cassle.data.sheets import sheet


def fashion_mnist() -> Dataset:
    """Photographs of clothing, in gray: a part of Fashion-MNIST (MIT)."""
    return sheet("fashion_mnist")
