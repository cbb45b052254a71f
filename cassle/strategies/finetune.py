"""Fine-tuning: go on training, and hope."""

from cassle.strategies.strategy import Strategy


class FineTune(Strategy):
    """L = L_SSL(z^A, z^B): adds nothing.  The lower bound that every strategy must beat."""
