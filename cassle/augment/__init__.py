"""Every view of an image, made in batches from given random numbers, to the grey level that Pillow gives."""

from cassle.augment.views import Augment, View

__all__ = ["Augment", "View"]
