"""One way not to forget a file."""

from cassle.strategies.strategy import Strategy

__all__ = ["Strategy"]
