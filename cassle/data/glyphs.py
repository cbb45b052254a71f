"""Capital letters in 166 typefaces, in colour: the test letters' typefaces are unseen (OFL, Apache-2.0)."""

from cassle.data.dataset import Dataset
from cassle.data.sheets import sheet


def glyphs() -> Dataset:
    """The whole set, at 32 pixels."""
    return sheet("glyphs")
