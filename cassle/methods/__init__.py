"""One SSL method a file: what is compared, and who predicts whom."""

from cassle.methods.method import Method

__all__ = ["Method"]
