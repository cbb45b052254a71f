"""Probes against the published numbers, and against what they may never do."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from cassle.data.dataset import Column
from cassle.data.emoji import emoji
from cassle.data.images import Images
from cassle.data.scenes import scenes
from cassle.evaluation.clusters import Clusters
from cassle.evaluation.features import Encoded, Seen, sized
from cassle.evaluation.knn import KNN
from cassle.evaluation.linear import Linear
from cassle.evaluation.probe import Probe, stratified
from cassle.evaluation.sgd import SGD
from cassle.evaluation.transfer import Transfer
from cassle.networks.encoder import Encoder
from cassle.networks.heads import mlp
from cassle.networks.resnet import resnet10
from cassle.typing import Patches


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


@pytest.fixture(scope="module")
def encoded():
    """Untrained, on few images, in training mode as an encoder is when it is judged."""
    torch.manual_seed(0)
    whole = scenes()
    few = [replace(s, images=Images(s.images.pixels[:: n]), labels=s.labels[::n], domains=s.domains[::n]) for s, n in ((whole.train, 8), (whole.test, 4))]
    backbone = resnet10(width=4)
    return Encoded(Encoder(backbone, mlp(backbone.dim, 16, 8)).train(), replace(whole, train=few[0], test=few[1]))


def halves(encoded):
    """Two columns: the first half of the classes, and the second."""
    middle = len(encoded.dataset.classes) // 2
    splits = (encoded.dataset.train, encoded.dataset.test)
    return [Column(*((test(s.labels)).nonzero().flatten() for s in splits)) for test in (lambda y: y < middle, lambda y: y >= middle)]


PROBES = {
    "linear": Linear(iterations=3),
    "aware": Linear(iterations=3, aware=True),
    "tenth": Linear(iterations=3, share=0.1),
    "knn": KNN(),
    "projector": KNN(features="projector"),
    "sgd": SGD(epochs=2, batch_size=32),
    "clusters": Clusters(starts=1),
    "transfer": Transfer(data=emoji(), iterations=2, share=0.1),
}


@pytest.mark.parametrize("name", PROBES)
def test_probing_leaves_every_byte_of_the_encoder(name, encoded):
    encoder = encoded.encoder
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    columns = halves(encoded)
    verdict = PROBES[name].judge(replace(encoded), columns)
    assert all(torch.equal(before[name], tensor) for name, tensor in encoder.state_dict().items())
    assert encoder.training and all(parameter.grad is None for parameter in encoder.parameters())
    assert len(verdict.row) == (1 if name == "transfer" else 2) and all(0 <= value <= 100 for value in verdict.row)
    assert PROBES[name].judge(replace(encoded), columns) == verdict  # the same again


def test_a_row_and_its_classes_say_who_was_right(encoded):
    class Oracle(Probe):
        """Right about the first class, and about nothing else."""

        def predict(self, encoded, columns):
            return torch.where(encoded.test.labels == 0, 0, -1)

    verdict = Oracle().judge(encoded, halves(encoded))
    labels = encoded.dataset.test.labels
    assert verdict.row == pytest.approx([100 * float((labels == 0).sum() / (labels < len(encoded.dataset.classes) // 2).sum()), 0])
    assert [verdict.classes[name] for name in encoded.dataset.classes] == [100.0] + [0.0] * (len(encoded.dataset.classes) - 1)


def test_aware_of_its_task_a_classifier_knows_no_other(encoded):
    """Each column by itself: the same guesses as from a data set that has nothing else."""
    columns, aware = halves(encoded), Linear(iterations=5, aware=True)
    guess = aware.predict(encoded, columns)
    for column in columns:
        labels = encoded.dataset.train.labels
        alone = replace(encoded.dataset, train=replace(encoded.dataset.train, labels=labels.where(torch.isin(torch.arange(len(labels)), column.train), -1)))
        assert torch.equal(Linear(iterations=5).predict(replace(encoded, dataset=alone), columns)[column.test], guess[column.test])
        assert set(guess[column.test].tolist()) <= set(labels[column.train].tolist())
    assert not torch.equal(guess, Linear(iterations=5).predict(encoded, columns))


@given(st.lists(st.integers(0, 4), min_size=5, max_size=80), st.floats(0.01, 1), st.integers(0, 99))
def test_a_share_of_labels_has_its_share_of_every_class(labels, share, seed):
    labels = torch.tensor(labels)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    kept = stratified(labels, share, order)
    assert kept.tolist() == sorted(set(kept.tolist()))
    for label in labels.unique():
        n = int((labels == label).sum())
        assert int((labels[kept] == label).sum()) == max(1, round(share * n))


def test_unlabelled_images_teach_no_probe(encoded):
    labels = encoded.dataset.train.labels
    dropped = labels.where(torch.arange(len(labels)) % 3 > 0, -1)
    fewer = replace(encoded, dataset=replace(encoded.dataset, train=replace(encoded.dataset.train, labels=dropped)))
    assert torch.equal(fewer.train.f, encoded.train.f[dropped >= 0]) and torch.equal(fewer.train.labels, labels[dropped >= 0])
    rows = fewer.train.rows(torch.arange(len(labels)))
    assert torch.equal(fewer.train.index[rows], (dropped >= 0).nonzero().flatten())
    assert fewer.train.rows(torch.tensor([0])).tolist() == []  # unlabelled


def test_clusters_find_what_lies_apart_and_no_label_helps_them(encoded, monkeypatch):
    torch.manual_seed(0)
    labels = torch.arange(120) % 4
    features = F.one_hot(labels, 6).float() + 0.05 * torch.randn(120, 6)
    apart = SimpleNamespace(test=Seen(features, features, labels, torch.arange(120)))
    guess = Clusters().predict(apart, [])
    assert torch.equal(guess, labels) and Clusters().more(guess, labels) == {"nmi": pytest.approx(100), "ari": pytest.approx(100)}
    shuffled = SimpleNamespace(test=Seen(features, features, labels[torch.randperm(120)], torch.arange(120)))
    assert Clusters().more(Clusters().predict(shuffled, []), shuffled.test.labels)["ari"] < 20


def test_transfer_asks_about_another_set_alone(encoded):
    probe = Transfer(data=emoji(), iterations=20)
    verdict = probe.judge(encoded, halves(encoded))
    itself = Linear(iterations=20).judge(replace(encoded, dataset=emoji()), [Column.of(emoji())])
    assert verdict == itself and set(verdict.classes) == set(emoji().classes)


def test_the_offline_probe_learns_what_can_be_learned(encoded):
    """Features that give the label away: on crops of the whole image, it finds them in a few epochs."""
    columns = [Column.of(encoded.dataset)]
    plain, trained = (SGD(epochs=n, batch_size=32, lr=0.5, scale=(1.0, 1.0)).judge(encoded, columns).row[0] for n in (1, 30))
    assert trained > 1.5 * plain


def test_images_of_other_sizes_are_brought_to_one_by_a_cut_in_the_middle():
    """What Pillow makes of the middle 7/8, whether images lie in one tensor or each by itself."""
    torch.manual_seed(0)
    sizes = [(40, 64), (64, 64), (90, 33)]
    images = [torch.randint(256, (3, *size), dtype=torch.uint8) for size in sizes]
    found = sized(Patches(tuple(images)), 32)
    for image, own, (height, width) in zip(images, found, sizes):
        side = round(min(height, width) * 7 / 8)
        left, top = (width - side) // 2, (height - side) // 2
        picture = Image.fromarray(image.permute(1, 2, 0).numpy()).crop((left, top, left + side, top + side))
        picture = picture.resize((32, 32), Image.Resampling.BICUBIC)
        assert torch.equal(own, torch.from_numpy(np.array(picture)).permute(2, 0, 1).float())
        assert torch.equal(sized(image[None], 32)[0], own)
    assert sized(images[0][None], None) is not None and torch.equal(sized(images[0][None], None), images[0][None])
