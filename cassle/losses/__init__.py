"""Pure criteria: they know tensors and nothing else."""

from cassle.losses.cosine import Cosine
from cassle.losses.criterion import Criterion, crossed, swap
from cassle.losses.cross_correlation import CrossCorrelation
from cassle.losses.info_nce import InfoNCE
from cassle.losses.invariance import Invariance
from cassle.losses.prototypes import Prototypes, sinkhorn
from cassle.losses.whitened import Whitened

__all__ = ["Cosine", "Criterion", "CrossCorrelation", "InfoNCE", "Invariance", "Prototypes", "Whitened", "crossed", "sinkhorn", "swap"]
