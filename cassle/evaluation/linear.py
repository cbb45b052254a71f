"""The linear probe: how far classes can be told apart by hyperplanes."""

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.data.dataset import Column
from cassle.evaluation.features import Encoded
from cassle.evaluation.probe import Probe, stratified
from cassle.kinds import Count, Share, Weight
from cassle.randomness import key, permutation


class Linear(Probe):
    """Multinomial logistic regression on features computed once: min_W,b CE(W f + b, y) + c/2 |W|^2, by L-BFGS.

    Features are standardised by the training set's statistics.  No learning rate is involved.
    It is not the paper's protocol (`sgd`, on augmented images); the two rank encoders alike.

    Args:
        aware: each column (a task, a domain) has a classifier of its own, taught with its training images alone.
        share: of the training images whose labels are used, class by class; which ones is always the same.
    """

    def __init__(
        self,
        *,
        weight_decay: Weight = 1e-3,
        iterations: Count = 60,
        aware: bool = False,
        share: Share = 1.0,
        features: Literal["backbone", "projector"] = "backbone",
    ):
        self.weight_decay, self.iterations, self.aware, self.share, self.features = weight_decay, iterations, aware, share, features

    def predict(self, encoded: Encoded, columns: Sequence[Column]) -> Int[Tensor, " n"]:
        return by_column(encoded, columns, self.aware, self.share, self.guess)

    def guess(self, encoded: Encoded, train: Int[Tensor, " n"], test: Int[Tensor, " m"]) -> Int[Tensor, " m"]:
        """Labels for some rows of the test images, learned from some rows of the training images."""
        x, y = encoded.train.of(self.features)[train], encoded.train.labels[train]
        std, mean = torch.std_mean(x, dim=0, correction=0)
        scale = 1 / (std + 1e-6)
        classifier = self.fit((x - mean) * scale, y)
        with torch.no_grad():
            return classifier((encoded.test.of(self.features)[test] - mean) * scale).argmax(1)

    def fit(self, features: Float[Tensor, "n dim"], labels: Int[Tensor, " n"]) -> nn.Linear:
        """From zero weights, to the optimum or to the last iteration."""
        classifier = nn.utils.skip_init(nn.Linear, features.shape[1], int(labels.max()) + 1, device=features.device, dtype=features.dtype)
        for parameter in classifier.parameters():
            nn.init.zeros_(parameter)
        solver = torch.optim.LBFGS(classifier.parameters(), max_iter=self.iterations, line_search_fn="strong_wolfe")

        def objective() -> Tensor:
            solver.zero_grad()
            loss = F.cross_entropy(classifier(features), labels) + self.weight_decay / 2 * classifier.weight.square().sum()
            loss.backward()
            return loss

        solver.step(objective)
        return classifier


Guess = Callable[[Encoded, Tensor, Tensor], Tensor]
"""Labels for some rows of the test images, learned from some rows of the training images."""


def by_column(encoded: Encoded, columns: Sequence[Column], aware: bool, share: float, guess: Guess) -> Int[Tensor, " n"]:
    """What is guessed for all columns at once, or for each alone, from a share of the labels."""
    labels = encoded.train.labels
    everyone = torch.arange(len(labels), device=labels.device)
    if share < 1:
        everyone = stratified(labels, share, permutation(key("labels"), len(labels), labels.device))
    images = torch.arange(len(encoded.test.labels), device=labels.device)
    if not aware:
        return guess(encoded, everyone, images)
    guessed = torch.full_like(images, -1)
    for column in columns:
        train, test = encoded.train.rows(column.train), column.test.to(images.device)
        guessed[test] = guess(encoded, train[torch.isin(train, everyone)], test)
    return guessed
