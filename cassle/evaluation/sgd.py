"""The paper's offline probe: a linear classifier, trained for a hundred epochs on augmented images."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.augment.views import Augment, View
from cassle.data.dataset import Column
from cassle.evaluation.features import Encoded
from cassle.evaluation.linear import by_column
from cassle.evaluation.probe import Probe
from cassle.kinds import Count, Positive, Share, Span
from cassle.randomness import key, permutation, seeded
from cassle.typing import Batch, full

PLAIN = {"jitter": 0.0, "gray": 0.0}


class SGD(Probe):
    """min_W,b CE(W f + b, y) by momentum SGD; f the frozen backbone's features of random crops, mirrored or not.

    The learning rate falls to a tenth after 60 % of the epochs and again after 80 %.  The protocol of the paper's ImageNet-100 and
    DomainNet numbers; every step encodes its images anew, so it costs about a third of as many epochs of training.

    Args:
        lr: for a batch of 256; published by method: Barlow Twins .1, SwAV .15, VICReg .3, SimCLR 1, SupCon 1, BYOL 3, MoCo V2+ 3.
        aware: each column (a task, a domain) has a classifier of its own, taught with its training images alone.
        share: of the training images whose labels are used, class by class.
        scale: of the crops, in shares of the image's area.
    """

    def __init__(
        self,
        *,
        lr: Positive = 1.0,
        epochs: Count = 100,
        batch_size: Count = 256,
        aware: bool = False,
        share: Share = 1.0,
        scale: Span[Share] = (0.08, 1.0),
    ):
        self.lr, self.epochs, self.batch_size, self.aware, self.share, self.scale = lr, epochs, batch_size, aware, share, scale

    def predict(self, encoded: Encoded, columns: Sequence[Column]) -> Int[Tensor, " n"]:
        return by_column(encoded, columns, self.aware, self.share, self.guess)

    def guess(self, encoded: Encoded, train: Int[Tensor, " n"], test: Int[Tensor, " m"]) -> Int[Tensor, " m"]:
        """Labels for some rows of the test images, learned from some rows of the training images."""
        classifier = self.fit(encoded, encoded.train.index[train], encoded.train.labels[train])
        with torch.no_grad():
            return classifier(encoded.test.f[test]).argmax(1)

    def fit(self, encoded: Encoded, index: Int[Tensor, " n"], labels: Int[Tensor, " n"]) -> nn.Linear:
        """As many batches an epoch as the images fill."""
        split, dataset = encoded.dataset.train, encoded.dataset
        with seeded(key("sgd")):
            classifier = nn.Linear(encoded.test.f.shape[1], int(labels.max()) + 1).to(index.device)
        solver = torch.optim.SGD(classifier.parameters(), self.lr, momentum=0.9)
        size = encoded.size or min(split.images.size)
        augment = Augment((View(size=size, scale=self.scale, **PLAIN),), dataset.mean, dataset.std).to(index.device)
        batch_size = min(self.batch_size, len(index))
        training = encoded.encoder.training
        encoded.encoder.eval()
        for epoch in range(self.epochs):
            for group in solver.param_groups:
                group["lr"] = self.lr * 0.1 ** sum(epoch >= share * self.epochs for share in (0.6, 0.8))
            order = permutation(key("sgd", epoch), len(index), index.device)
            for rows in order[: len(order) // batch_size * batch_size].split(batch_size):
                encoded.pause()
                place = torch.tensor(key("sgd", "step", epoch), device=index.device)
                batch = augment(Batch(split.images[index[rows]], index[rows], labels[rows], place))
                with torch.no_grad(), torch.autocast(index.device.type, encoded.precision, enabled=encoded.precision != torch.float32):
                    f = encoded.encoder.features(batch.views[0])
                solver.zero_grad()
                F.cross_entropy(classifier(full(f)), labels[rows]).backward()
                solver.step()
        encoded.encoder.train(training)
        return classifier
