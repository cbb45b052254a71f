"""The paper's CIFAR-100 protocol: a linear classifier that learns beside the encoder."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.data.dataset import Column
from cassle.evaluation.features import Encoded
from cassle.evaluation.linear import Linear
from cassle.evaluation.probe import Probe
from cassle.kinds import Positive
from cassle.networks.encoder import Encoder
from cassle.networks.norm import norms, put_statistics, statistics
from cassle.typing import Pixels, Scalar, full


class Online(Probe):
    """A linear classifier of all classes, past and future, that takes a step with each of the encoder's and is never begun anew.

    It is shown labelled images of the whole data set, in a view as the method's last; nothing of it reaches the encoder.
    Before training, it is what `linear` makes of random weights.
    # paper != code: the text says "linear evaluation"; the published CIFAR-100 numbers are this, with the leak.

    Args:
        leak: as published, its images pass in training mode, so that the running statistics with which the encoder is judged are
            to a third those of all classes.  That happens to a copy of the statistics: the encoder itself stays clean, and
            both ways can be had in one run.
        lr: its own, at the peak of the schedule; published: .1, or .3 for VICReg and MoCo V2+.
    """

    def __init__(self, *, leak: bool = False, lr: Positive = 0.1):
        self.leak, self.lr, self.own = leak, lr, None

    def pupil(self, encoder: Encoder, classes: int) -> nn.Module:
        self.own = Pupil(encoder, classes, self.leak, self.lr)
        return self.own

    def predict(self, encoded: Encoded, columns: Sequence[Column]) -> Int[Tensor, " n"]:
        if not self.own.taught:
            return Linear().predict(encoded, columns)
        if self.leak:
            with self.own.leaking(encoded.encoder):
                f = replace(encoded).test.f
        else:
            f = encoded.test.f
        with torch.no_grad():
            return self.own.classifier(f).argmax(1)


class Pupil(nn.Module):
    """The classifier, and what the leak makes of the backbone's statistics."""

    def __init__(self, encoder: Encoder, classes: int, leak: bool, lr: float):
        super().__init__()
        self.classifier, self.leak, self.lr = nn.Linear(encoder.backbone.dim, classes), leak, lr
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("statistics", statistics(encoder.backbone) if leak else None)

    @property
    def taught(self) -> bool:
        """Whether it has learned anything yet."""
        return bool(self.steps)

    def forward(self, encoder: Encoder, views: Pixels, labels: Int[Tensor, " batch"], before: Tensor, passes: Tensor) -> Scalar:
        """The loss of one batch; `before`: the encoder's statistics before this step, `passes`: how often they moved in it."""
        with torch.no_grad():
            if self.leak:
                kept = (1 - norms(encoder.backbone)[0].momentum) ** passes
                self.statistics.copy_(kept * (self.statistics - before) + statistics(encoder.backbone))
                with self.leaking(encoder):
                    f = encoder.features(views)
            else:
                encoder.backbone.eval()
                f = encoder.features(views)
                encoder.backbone.train()
            self.steps += 1
        with torch.autocast(views.device.type, enabled=False):
            return F.cross_entropy(self.classifier(full(f)), labels)

    @contextmanager
    def leaking(self, encoder: Encoder) -> Iterator[None]:
        """The encoder with the leaking statistics, which go on from where they are; its own come back afterwards."""
        clean, counts = statistics(encoder.backbone), [norm.num_batches_tracked.clone() for norm in norms(encoder.backbone)]
        put_statistics(encoder.backbone, self.statistics)
        yield
        self.statistics.copy_(statistics(encoder.backbone))
        put_statistics(encoder.backbone, clean)
        for norm, count in zip(norms(encoder.backbone), counts):
            norm.num_batches_tracked.copy_(count)
