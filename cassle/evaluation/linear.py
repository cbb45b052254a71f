"""The linear probe: how far classes can be told apart by hyperplanes."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from cassle.evaluation.features import Encoded
from cassle.evaluation.probe import Probe
from cassle.kinds import Count, Weight


class Linear(Probe):
    """Multinomial logistic regression on features computed once: min_W,b CE(W f + b, y) + c/2 |W|^2, by L-BFGS.

    Features are standardised by the training set's statistics.  No random number and no learning rate is involved.
    It is not the paper's protocol (SGD on augmented images); the two rank encoders alike.
    """

    def __init__(self, *, weight_decay: Weight = 1e-3, iterations: Count = 60):
        self.weight_decay, self.iterations = weight_decay, iterations

    def predict(self, encoded: Encoded) -> Int[Tensor, " n"]:
        train, labels = encoded.train, encoded.dataset.train.labels.to(encoded.train.device)
        std, mean = torch.std_mean(train, dim=0)
        scale = 1 / (std + 1e-6)
        classifier = self.fit((train - mean) * scale, labels)
        with torch.no_grad():
            return classifier((encoded.test - mean) * scale).argmax(1)

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
