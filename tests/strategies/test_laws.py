"""What every strategy must keep, whatever it does: a new file is held to it with no test of its own."""

from dataclasses import replace

import pytest
import torch

from cassle import registry
from cassle.clock import Clock
from cassle.config import Component
from cassle.data.batches import Batches
from cassle.record import Record
from cassle.run import Course
from cassle.training import checkpoint
from cassle.training.loop import step

METHODS = ("simclr", "barlow_twins", "byol")
NEUTRAL = {"er": {"batch": 0}}
"""How a strategy is told to do nothing, if not by weight 0; LUMP has no such setting, but a mixture of one."""
STRATEGIES = registry.names("strategies")
STEPS = 3


def settings(strategy):
    """Small ones."""
    known = registry.schema("strategies", strategy, "")
    return {"name": strategy} | {name: 16 for name in ("hidden", "capacity", "batch") if name in known}


class Life:
    """A learner's first two tasks, of three steps each, with a pause wherever a test wants to look."""

    def __init__(self, tiny, folder, method, strategy, changes=None):
        self.experiment = tiny(method | {"strategy": settings(strategy) | (changes or {}), "batch_size": 16})
        self.course = Course(self.experiment, Record(folder), "cpu", 60.0, lambda progress: None)
        self.course.tasks = [replace(task, index=task.index[:: len(task) // 48][:48]) for task in self.course.tasks[:2]]
        self.learner = self.course.learner

    def begin(self, number, done=0):
        task = self.course.tasks[number]
        self.batches = Batches(self.course.dataset.train, task, 16)
        self.clock = Clock(self.experiment.seed, number, self.batches.epoch_steps, STEPS, done)
        self.course._begin(task)
        self.learner.train()
        self.optimizer = self.experiment.optimizer.build([p for p in self.learner.parameters() if p.requires_grad])
        for group in self.optimizer.param_groups:
            group["lr"] = torch.zeros(())

    def walk(self, steps=STEPS):
        for _ in range(steps):
            step(self.learner, self.optimizer, torch.full((1, STEPS), 0.1), self.batches(self.clock), self.clock)
            self.clock.tick()

    def end(self):
        self.learner.strategy.end_task(self.batches.task, self.learner.method, self.course._again(self.batches, self.clock))

    def first(self):
        self.begin(0)
        self.walk()
        self.end()
        return self

    def state(self, part=None):
        return {name: tensor.clone() for name, tensor in (part or self.learner).state_dict().items()}


def same(ours, theirs):
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def kept(strategy):
    """What it must not change within a task: tensors of its own, and of all its parts that nothing teaches."""
    parts = [part for part in strategy.children() if not any(p.requires_grad for p in part.parameters())]
    return [*strategy.buffers(recurse=False), *(t for part in parts for t in part.state_dict().values())]


@pytest.fixture(autouse=True, scope="module")
def decoded_once():
    """Most of a small course's time is the decoding of its images."""
    build, done = Component.build, {}

    def once(self, *given):
        if self.room != "data":
            return build(self, *given)
        if str(self) not in done:
            done[str(self)] = build(self)
        return done[str(self)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Component, "build", once)
        yield


@pytest.fixture(scope="module")
def lived(tiny, small, tmp_path_factory):
    """Each pair's life, led once: what it was at each turn."""
    torch.set_num_threads(1)
    done = {}

    def lead(method, strategy):
        if (method, strategy) not in done:
            folder = tmp_path_factory.mktemp("life")
            life = Life(tiny, folder, small(method), strategy)
            life.begin(0)
            life.walk()
            after = {"before_end": life.state(life.learner.method), "pixels": life.course.dataset.train.images.pixels.clone()}
            life.end()
            after |= {"first": life.state(life.learner.method), "trace": life.state(life.learner.strategy)}
            life.begin(1)
            past = kept(life.learner.strategy)
            before = [t.clone() for t in past]
            life.walk(1)
            checkpoint.save(folder / "last", checkpoint.flat(life.learner, life.optimizer), {})
            life.walk(STEPS - 1)
            after["past"] = [(then, now.clone()) for then, now in zip(before, past)]
            after["no_gradient"] = [p for p in life.learner.strategy.parameters() if not p.requires_grad]
            after["taught"] = [p for p in life.learner.strategy.parameters() if p.requires_grad]
            after["held"] = {id(p) for group in life.optimizer.param_groups for p in group["params"]}
            life.end()
            done[method, strategy] = after | {"last": life.state(), "method": life.state(life.learner.method), "folder": folder}
        return done[method, strategy]

    return lead


OTHERS = [method for method in registry.names("methods") if method not in METHODS]
pairs = pytest.mark.parametrize(
    ("method", "strategy"),
    [(m, s) for s in STRATEGIES for m in METHODS] + [pytest.param(m, s, marks=pytest.mark.slow) for s in STRATEGIES for m in OTHERS],
)


@pairs
def test_the_first_task_is_fine_tuning_bit_for_bit_and_its_end_leaves_the_method_alone(method, strategy, lived):
    ours, theirs = lived(method, strategy), lived(method, "finetune")
    assert same(ours["before_end"], theirs["before_end"]) and same(ours["first"], ours["before_end"])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_it_shares_its_first_task_with_others_if_that_leaves_no_trace_in_it(strategy, lived):
    indifferent = registry.load("strategies", strategy, "").indifferent_to_the_first_task()
    assert indifferent == (not lived("simclr", strategy)["trace"])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_in_half_precision_its_price_is_nearly_the_same(strategy, tiny, small, tmp_path):
    kept = []
    for precision in ("float32", "bfloat16"):
        life = Life(tiny, tmp_path, small("simclr"), strategy).first()
        life.begin(1)
        life.walk(1)
        life.learner.precision = getattr(torch, precision)
        kept.append(life.learner(life.batches(life.clock)).keep)
    assert kept[1].isfinite() and (kept[1].dtype == torch.float32 or kept[1] == 0)
    assert float(kept[1].detach()) == pytest.approx(float(kept[0].detach()), rel=0.1, abs=1e-3)


@pairs
def test_the_second_task_is_not_fine_tuning_unless_it_is_told_to_do_nothing(method, strategy, lived, tiny, small, tmp_path):
    finetuned = lived(method, "finetune")["method"]
    assert same(lived(method, strategy)["method"], finetuned) == (strategy == "finetune")
    idle = {"weight": 0.0} if "weight" in registry.schema("strategies", strategy, "") else NEUTRAL.get(strategy, {})
    life = Life(tiny, tmp_path, small(method), strategy, idle).first()
    life.begin(1)
    if strategy == "lump":
        life.learner.strategy.quantiles.fill_(1)
    life.walk()
    assert same(life.state(life.learner.method), finetuned)


@pairs
def test_the_past_does_not_move_and_feels_no_gradient(method, strategy, lived):
    seen = lived(method, strategy)
    assert all(torch.equal(before, after) for before, after in seen["past"])
    assert bool(seen["past"]) == (strategy != "finetune")
    assert all(p.grad is None and id(p) not in seen["held"] for p in seen["no_gradient"])
    assert all(p.grad is not None and id(p) in seen["held"] for p in seen["taught"])


@pairs
def test_a_fresh_learner_goes_on_to_the_same_bits(method, strategy, lived, tiny, small, tmp_path):
    led = lived(method, strategy)
    life = Life(tiny, tmp_path, small(method), strategy)
    life.begin(1, done=1)
    checkpoint.newest(led["folder"] / "last").restore(life.learner, life.optimizer)
    life.walk(STEPS - 1)
    life.end()
    assert same(life.state(), led["last"])


@pairs
def test_a_task_s_images_are_never_opened_again(method, strategy, lived, tiny, small, tmp_path):
    """I4: what a memory holds is all that is left of them."""
    led = lived(method, strategy)
    life = Life(tiny, tmp_path, small(method), strategy).first()
    pixels, gone = life.course.dataset.train.images.pixels, life.course.tasks[0].index
    assert pixels[gone].any() and torch.equal(pixels, led["pixels"])
    try:
        pixels[gone] = 0
        life.begin(1)
        life.walk()
        life.end()
        assert same(life.state(), led["last"])
    finally:
        pixels.copy_(led["pixels"])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_it_sees_the_same_images_at_a_task_s_end_wherever_the_task_stopped(strategy, tiny, small, tmp_path):
    life = Life(tiny, tmp_path, small("simclr"), strategy)
    life.begin(0)
    life.walk(2)  # in the middle of an epoch
    index = torch.cat([batch.index for batch in life.course._again(life.batches, life.clock)])
    assert sorted(index.tolist()) == sorted(life.course.tasks[0].index.tolist())
    assert life.clock.step == 2
