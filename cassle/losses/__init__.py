"""Pure criteria: they know tensors and nothing else."""

from cassle.losses.cosine import Cosine
from cassle.losses.criterion import Criterion, swap
from cassle.losses.cross_correlation import CrossCorrelation
from cassle.losses.info_nce import InfoNCE
from cassle.losses.invariance import Invariance

__all__ = ["Cosine", "Criterion", "CrossCorrelation", "InfoNCE", "Invariance", "swap"]
