"""The classifier that learns along: what it sees, what it never touches, and what the published leak does."""

import copy

import pytest
import torch
from safetensors.torch import load_file

from cassle.evaluation.online import Pupil
from cassle.networks.encoder import Encoder
from cassle.networks.heads import mlp
from cassle.networks.norm import passes, statistics
from cassle.networks.resnet import resnet10
from cassle.record import Record
from cassle.run import run

BOTH = {"probes": [{"name": "online", "leak": True}, {"name": "online"}, "knn"]}


@pytest.fixture(scope="module")
def watched(tmp_path_factory, tiny):
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("watched")
    run(tiny(BOTH), out / "run")
    run(tiny(), out / "alone")
    return out


def test_the_encoder_does_not_know_that_it_is_watched(watched):
    """Not a bit of it, not even of its running statistics, hangs on what the classifier is shown."""
    for task in (0, 1, 2):
        ours, theirs = (load_file(Record(watched / name).encoder(task)) for name in ("run", "alone"))
        assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    ours, theirs = (Record(watched / name).accuracy() for name in ("run", "alone"))
    assert ours["knn"] == theirs["knn"] and set(ours) == {"online(leak=true)", "online", "knn"}
    assert ours["online"]["A"] != ours["online(leak=true)"]["A"] and ours["online"]["R"] == ours["online(leak=true)"]["R"]


def test_the_classifier_goes_on_through_a_stop_to_the_same_bits(watched, tiny, tmp_path):
    for until in (1, 2, 3):
        run(tiny(BOTH), tmp_path / "run", until=until)
    assert Record(tmp_path / "run").accuracy() == Record(watched / "run").accuracy()


def test_the_leak_is_what_a_pass_in_training_mode_would_do():
    """Against an encoder that really leaks: view, view, then the images of all classes, each moving the statistics."""
    torch.manual_seed(0)
    backbone = resnet10(width=4)
    clean = Encoder(backbone, mlp(backbone.dim, 8)).train()
    leaky = copy.deepcopy(clean)
    pupil = Pupil(clean, 5, leak=True, lr=0.1)
    classifier = copy.deepcopy(pupil.classifier)
    for _ in range(4):
        views, shown, labels = torch.randn(2, 8, 3, 16, 16), torch.randn(8, 3, 16, 16) + 3, torch.randint(5, (8,))
        before, count = statistics(clean.backbone), passes(clean.backbone)
        clean(tuple(views))
        own = statistics(clean.backbone)
        loss = pupil(clean, shown, labels, before, passes(clean.backbone) - count)
        assert torch.equal(own, statistics(clean.backbone)) and passes(clean.backbone) == count + 2
        leaky(tuple(views))
        want = torch.nn.functional.cross_entropy(classifier(leaky.features(shown)), labels)
        torch.testing.assert_close(loss, want)
        torch.testing.assert_close(pupil.statistics, statistics(leaky.backbone), rtol=1e-5, atol=1e-6)
    assert (statistics(clean.backbone) - statistics(leaky.backbone)).abs().max() > 0.1
    with pupil.leaking(clean):
        clean.eval(), leaky.eval()
        torch.testing.assert_close(clean.features(shown), leaky.features(shown), rtol=1e-4, atol=1e-5)


def test_without_the_leak_its_images_meet_the_statistics_they_will_be_judged_by():
    torch.manual_seed(0)
    backbone = resnet10(width=4)
    encoder = Encoder(backbone, mlp(backbone.dim, 8)).train()
    encoder((torch.randn(8, 3, 16, 16),))
    pupil, shown, labels = Pupil(encoder, 5, leak=False, lr=0.1), torch.randn(8, 3, 16, 16), torch.randint(5, (8,))
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    loss = pupil(encoder, shown, labels, statistics(backbone), passes(backbone))
    loss.backward()
    assert all(torch.equal(before[name], tensor) for name, tensor in encoder.state_dict().items())
    assert encoder.training and backbone.training and all(p.grad is None for p in encoder.parameters())
    encoder.eval()
    torch.testing.assert_close(loss, torch.nn.functional.cross_entropy(pupil.classifier(encoder.features(shown)), labels))


def test_it_is_shown_all_tasks_and_has_a_rate_of_its_own(tiny, tmp_path, monkeypatch):
    from cassle import run as house

    rates = []
    course = house.Course(tiny(BOTH | {"steps": 30}), Record(tmp_path), torch.device("cpu"), 60, lambda progress: None)
    monkeypatch.setattr(house, "train", lambda learner, optimizer, own, *rest: rates.append(own))
    course.log = house.Silence()
    course._learn(course.tasks[0], None)
    want = [course.experiment.schedule.build(peak, 30, len(course.tasks[0]) // 16) for peak in (0.4 * 16 / 256, 0.1, 0.1)]
    torch.testing.assert_close(rates[0], torch.stack(want).float())
    assert course._lessons(course.tasks[0]).index.tolist() == list(range(len(course.dataset.train)))
    assert len(set(course.dataset.train.labels.tolist())) == len(course.dataset.classes)
