"""One step: what depends on what, and that it never waits for the device."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from cassle import registry
from cassle.clock import Clock
from cassle.data.batches import Batches
from cassle.record import Record
from cassle.run import Course
from cassle.training.loop import step, train


def course(experiment, tmp_path, task=1):
    made = Course(experiment, Record(tmp_path), "cpu", 60.0, lambda progress: None)
    made._begin(made.tasks[task])
    made.learner.train()
    batches = Batches(made.dataset.train, made.tasks[task], experiment.batch_size)
    optimizer = experiment.optimizer.build([p for p in made.learner.parameters() if p.requires_grad])
    for group in optimizer.param_groups:
        group["lr"] = torch.zeros(())
    clock = Clock(experiment.seed, task, batches.epoch_steps, 20)
    return made, optimizer, torch.full((1, 20), 0.1), batches, clock


def walk(parts, steps):
    made, optimizer, rates, batches, clock = parts
    losses = []
    for _ in range(steps):
        out = step(made.learner, optimizer, rates, batches(clock), clock)
        losses.append((float(out.ssl.detach()), float(out.keep.detach())))
        clock.tick()
    return losses


METHODS, STRATEGIES = registry.names("methods"), registry.names("strategies")


class Waits(TorchDispatchMode):
    """Counts the operations that hand a tensor's value, or a shape that hangs on one, to the host."""

    OPS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "is_nonzero", "equal")

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if any(name in str(function) for name in self.OPS):
            self.seen.append(str(function))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_step_never_waits_for_the_device(method, strategy, tiny, small, tmp_path):
    parts = course(tiny(small(method) | {"strategy": strategy}), tmp_path)
    walk(parts, 1)
    made, optimizer, rates, batches, clock = parts
    batch = batches(clock)
    with Waits() as waits:
        step(made.learner, optimizer, rates, batch, clock)
        clock.tick()
    assert waits.seen == []
    with Waits() as waits:
        float(torch.ones(1))
    assert waits.seen  # the detector does detect


@pytest.mark.parametrize("method", METHODS)
def test_only_a_labelled_method_sees_labels(method, tiny, small, tmp_path):
    parts, shuffled = (course(tiny(small(method)), tmp_path) for _ in range(2))
    labels = shuffled[3].labels
    labels.copy_(labels[torch.randperm(len(labels))])
    assert (walk(parts, 3) == walk(shuffled, 3)) != parts[0].learner.method.labelled


@pytest.mark.parametrize("method", METHODS)
def test_the_past_feels_no_gradient_and_does_not_move(method, tiny, small, tmp_path):
    parts = course(tiny(small(method) | {"strategy": {"name": "cassle", "hidden": 16}}), tmp_path)
    made, optimizer = parts[:2]
    past = made.learner.strategy.past
    before = {name: tensor.clone() for name, tensor in past.state_dict().items()}
    losses = walk(parts, 3)
    assert all(torch.equal(before[name], tensor) for name, tensor in past.state_dict().items())
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert all(p.grad is None and not p.requires_grad and id(p) not in held for p in past.parameters())
    assert all(id(p) in held and p.grad is not None for p in made.learner.strategy.g.parameters())
    assert all(keep != 0 for _, keep in losses)


def test_the_distillation_loss_can_be_replaced(tiny, tmp_path):
    for name in registry.names("losses"):
        strategy = {"name": "cassle", "hidden": 16, "criterion": {"name": name} | ({"dim": 8} if name == "prototypes" else {})}
        made = course(tiny({"strategy": strategy}), tmp_path)[0]
        assert registry.find("losses", name, "").object == type(made.learner.strategy.distance).__name__


def test_training_reports_means_and_begins_each_epoch(tiny, tmp_path):
    made, optimizer, rates, batches, clock = course(tiny(), tmp_path)
    clock.epoch_steps = 6
    begun, rows = [], []
    made.learner.method.begin_epoch = lambda clock: begun.append(clock.step)
    train(made.learner, optimizer, rates, batches, clock, lambda means: rows.append((clock.step, means)))
    assert begun == [0, 6, 12, 18] and [at for at, _ in rows] == [10, 20]
    assert all(row["loss"] == pytest.approx(row["ssl"] + row["keep"]) for _, row in rows)
