"""Transfer: what the features are worth for another data set."""

from collections.abc import Sequence
from dataclasses import replace

from cassle.data.dataset import Column, Dataset
from cassle.evaluation.features import Encoded
from cassle.evaluation.linear import Linear
from cassle.evaluation.probe import Verdict
from cassle.kinds import Count, Share, Weight


class Transfer(Linear):
    """The linear probe, taught and asked on images of another data set, all of them together.

    Args:
        data: that other one.
        domain: one of its domains, if not all.
    """

    def __init__(
        self, *, data: Dataset, domain: str | None = None, weight_decay: Weight = 1e-3, iterations: Count = 60, share: Share = 1.0
    ):
        super().__init__(weight_decay=weight_decay, iterations=iterations, share=share)
        self.data = data if domain is None else only(data, domain)

    def judge(self, encoded: Encoded, columns: Sequence[Column]) -> Verdict:
        there = self.data.to(encoded.dataset.train.images.device)
        size = encoded.size or (None if there.train.images.size else 224)
        everything = Column.of(there)
        return super().judge(replace(encoded, dataset=there, size=size), [everything])


def only(data: Dataset, domain: str) -> Dataset:
    """The data set without labels outside of a domain: they are neither learned from nor asked."""
    number = data.domains.index(domain)
    splits = (replace(s, labels=s.labels.where(s.domains == number, -1)) for s in (data.train, data.test))
    return replace(data, **dict(zip(("train", "test"), splits)))
