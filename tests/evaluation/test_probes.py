"""Probes against the published numbers, and against what they may never do."""

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from cassle.evaluation.features import Encoded
from cassle.evaluation.knn import KNN
from cassle.evaluation.linear import Linear
from cassle.data.scenes import scenes
from cassle.networks.resnet import resnet10


def vote(losses, **settings):
    right = KNN(**settings).vote(losses["knn.train"], losses["knn.train_labels"], losses["knn.test"]) == losses["knn.test_labels"]
    return 100 * float(right.double().mean())


def test_euclidean_knn_is_the_published_code_s(losses):
    assert vote(losses, k=20, distance="euclidean") == float(losses["knn.euclidean.k20"])


def test_cosine_knn_differs_from_the_published_code_s_only_in_normalising(losses):
    """Published: exp(dot / T) of features as they are overflows, and not-a-number wins the vote."""
    train, labels, test = (losses[f"knn.{name}"] for name in ("train", "train_labels", "test"))

    def published(train, test):
        similarity, near = (test @ train.T).topk(20)
        weight = (similarity / 0.07).exp()
        ballots = (F.one_hot(labels[near]) * weight[..., None]).sum(1)
        return ballots.sort(1, descending=True).indices[:, 0]

    accuracy = lambda guess: 100 * float((guess == losses["knn.test_labels"]).double().mean())  # noqa: E731
    assert accuracy(published(train, test)) == float(losses["knn.cosine.k20"]) == 32.5
    ours = KNN(k=20, temperature=0.07).vote(train, labels, test)
    assert torch.equal(ours, published(F.normalize(train), F.normalize(test)))


def test_more_neighbours_than_images_is_every_image():
    train, labels = torch.eye(3), torch.tensor([0, 1, 1])
    assert KNN(k=20).vote(train, labels, train).tolist() == [0, 1, 1]


def test_linear_probe_finds_the_optimum_that_scikit_learn_finds():
    torch.manual_seed(0)
    x, y = torch.randn(300, 6, dtype=torch.float64), torch.randint(4, (300,))
    x += 1.5 * F.one_hot(y, 6)
    ours = Linear(weight_decay=1e-2, iterations=200).fit(x, y)
    theirs = LogisticRegression(C=1 / (1e-2 * len(x)), tol=1e-8, max_iter=1000).fit(x.numpy(), y.numpy())
    probability = ours(x).softmax(1).detach()
    torch.testing.assert_close(probability, torch.from_numpy(theirs.predict_proba(x.numpy())), atol=1e-3, rtol=0)


@pytest.mark.parametrize("probe", [Linear(iterations=3), KNN()])
def test_probing_leaves_every_byte_of_the_encoder(probe):
    backbone, dataset = resnet10(width=4), scenes()
    backbone.train()
    before = {name: tensor.clone() for name, tensor in backbone.state_dict().items()}
    row = probe.row(Encoded(backbone, dataset), [torch.arange(10), torch.arange(10, 20)])
    assert all(torch.equal(before[name], tensor) for name, tensor in backbone.state_dict().items())
    assert backbone.training and all(parameter.grad is None for parameter in backbone.parameters())
    assert len(row) == 2 and all(0 <= value <= 100 for value in row)
