"""What an encoder is worth, after every task."""

from cassle.evaluation.probe import Probe

__all__ = ["Probe"]
