"""The outer loop: one experiment, task after task, into one directory, through any number of kills."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import torch

from cassle import distributed
from cassle.augment.views import Augment
from cassle.clock import Clock
from cassle.data.batches import Batches
from cassle.data.dataset import columns, cut
from cassle.disk import write
from cassle.environment import StopSignal, describe, in_a_line, peak_memory
from cassle.errors import UserError
from cassle.evaluation.jury import Jury
from cassle.experiment import Experiment
from cassle.networks.encoder import Encoder
from cassle.networks.norm import whole_batch
from cassle.randomness import key, seeded
from cassle.record import Record
from cassle.registry import load
from cassle.training import checkpoint
from cassle.training.learner import Learner
from cassle.training.log import Log, Progress, Silence
from cassle.training.loop import train
from cassle.typing import Task

Watch = Callable[[Progress], None]


class Stopped(Exception):
    """Asked to stop; everything needed to go on is on the disk."""


def run(
    experiment: Experiment,
    out: Path | str,
    *,
    device: str = "auto",
    save_every: float = 60.0,
    until: int | None = None,
    watch: Watch = lambda progress: None,
) -> dict[str, dict]:
    """Learn the stream, or what is left of it, and return what `accuracy.json` holds.

    Args:
        save_every: seconds between two saves of the resumable state.
        until: return after that many tasks.
        watch: hears where the run is, a few times a second.
    """
    record = Record(out)
    record.check(experiment)
    with in_a_line(record.path):
        course = Course(experiment, record, distributed.place(device), save_every, watch)
        with distributed.team(course.device), course.claim(), StopSignal() as stop:
            return course.go(stop, until)


class Course:
    """A run under way: the learner, the stream, and what is known so far."""

    def __init__(self, experiment: Experiment, record: Record, device: torch.device, save_every: float, watch: Watch):
        self.experiment, self.record, self.device, self.save_every, self.watch = experiment, record, device, save_every, watch
        self.precision = getattr(torch, experiment.precision)
        self.dataset = experiment.data.build().to(self.device)
        size = self.dataset.train.images.size
        self.tasks = [Task(i, index, size) for i, index in enumerate(cut(experiment.stream, self.dataset.train))]
        if short := next((task for task in self.tasks if len(task) < experiment.batch_size), None):
            raise UserError(f"batch_size is {experiment.batch_size}, but task {short.number} has only {len(short)} images")
        self._check_method()
        views = tuple(view.build() for view in experiment.views)
        judged = columns(experiment.groups or experiment.stream, self.dataset)
        probes = {probe.label: probe.build() for probe in experiment.probes if self.dataset.classes}
        self.jury = Jury(probes, self.dataset, judged, self.precision, experiment.judged_at(size), self._pause)
        with seeded(key(experiment.seed, "method")):
            method = experiment.method.build(experiment.backbone.build())
        with seeded(key(experiment.seed, "strategy")):
            strategy = experiment.strategy.build()
        strategy.check(method)
        with seeded(key(experiment.seed, "pupils")):
            pupils = [probe.pupil(method.encoder, len(self.dataset.classes)) for probe in probes.values()]
        augment = Augment(views, self.dataset.mean, self.dataset.std)
        self.learner = self._placed(Learner(method, strategy, augment, self.precision, [pupil for pupil in pupils if pupil]))
        self.costs: list[dict[str, float]] = []

    def _check_method(self) -> None:
        """What a method needs of the data and of the views."""
        method = self.experiment.method
        if len(self.experiment.views) > 2 and not load(method.room, method.name, "method").multicrop:
            raise UserError(f"views: {method.name} compares two, got {len(self.experiment.views)}")
        if load(method.room, method.name, "method").labelled and any((self.dataset.train.labels[task.index] < 0).any() for task in self.tasks):
            raise UserError(f"method: {method.name} learns from labels, and not all images of {self.dataset.name} have one; choose another")
        strategy = self.experiment.strategy
        if load(strategy.room, strategy.name, "strategy").one_size and self.dataset.train.images.size is None:
            raise UserError("strategy: a memory holds images of one size: set data.image_size=256, say, and data.square=true")
        if (classes := method.settings.get("classes")) and classes < len(self.dataset.classes):
            raise UserError(f"method.classes is {classes}, but {self.dataset.name} has {len(self.dataset.classes)}")

    @property
    def writes(self) -> bool:
        """Of several processes, the first alone."""
        return distributed.rank() == 0

    def claim(self) -> AbstractContextManager:
        return self.record.claim(self.experiment) if self.writes else nullcontext()

    def go(self, stop: StopSignal, until: int | None) -> dict[str, dict]:
        """From the newest checkpoint to the end of the stream."""
        if self.experiment.batch_size % distributed.world():
            raise UserError(f"batch_size is {self.experiment.batch_size}, which {distributed.world()} processes cannot share equally")
        found = checkpoint.newest(self.record.last)
        if any(distributed.anyone(self.device, found is None)) and found:
            raise UserError(f"{self.record.path} is not the same folder for all processes; give an --out that all of them see")
        facts = found.facts if found else {"task": -1, "finished": True, "metrics": 0}
        if found and facts["data"] != self.dataset.fingerprint:
            raise UserError(f"data: the images are not those that {self.record.path} began with; put them back, or give another --out")
        self.log = Log(self.record.path, facts["metrics"]) if self.writes else Silence()
        self.stop, self.saved = stop, time.monotonic()
        self.log.say(f"goes on after {found.path.name}" if found else "begins")
        if self.writes:
            self.record.put("environment.json", describe(self.device))
        if found:
            self.jury.facts, self.costs = facts["found"], facts["costs"]
        else:
            self._say_what_is_there()
            self._tell("random weights", 0)
            self.jury.random(self.learner.method.encoder, self.learner.augment)
        if found and facts["finished"]:
            self._begin(self.tasks[facts["task"]])
            found.restore(self.learner, None)
        first = facts["task"] + facts["finished"]
        for task in self.tasks[first : until]:
            self._learn(task, found if task.number == facts["task"] else None)
            self._judge(task)
        self.log.say("done")
        self.log.close()
        return self.jury.accuracy()

    def _say_what_is_there(self) -> None:
        """What of the data is not learned from, or not judged by."""
        if self.experiment.probes and not self.jury.probes:
            self.log.say("nothing is labelled: no probe can judge; health.json tells how the encoder does")
        if self.dataset.aside and self.writes:
            self.log.say(f"{len(self.dataset.aside)} files are not learned from: see quarantine.txt")
            text = "".join(f"{line}\n" for line in self.dataset.aside)
            write(self.record.path / "quarantine.txt", lambda path: path.write_text(text, "utf-8", "surrogateescape"))

    def _learn(self, task: Task, found: checkpoint.Checkpoint | None) -> None:
        """Train on one task, from its beginning or from where `found` was saved."""
        settings = self.experiment
        batches = Batches(self.dataset.train, task, settings.batch_size)
        steps = settings.steps or settings.epochs * batches.epoch_steps
        clock = Clock(settings.seed, task.number, batches.epoch_steps, steps, found.facts["step"] if found else 0, self.device)
        self._begin(task)
        pupils = list(self.learner.pupils)
        lessons = self._lessons(task) if pupils else None
        learning = [p for part in (self.learner.method, self.learner.strategy) for p in part.parameters() if p.requires_grad]
        beside = [{"params": list(pupil.parameters()), "weight_decay": 0.0} for pupil in pupils]
        optimizer = settings.optimizer.build([{"params": learning}, *beside])
        peaks = [settings.optimizer.settings["lr"] * settings.batch_size / 256, *(pupil.lr for pupil in pupils)]
        rates = torch.stack([settings.schedule.build(peak, steps, batches.epoch_steps) for peak in peaks]).to(self.device, torch.float32)
        for group in optimizer.param_groups:
            group["lr"] = torch.zeros((), device=self.device)
        if found:
            found.restore(self.learner, optimizer)
        self.learner.train()
        before = [clock.step, time.monotonic()]
        if len(self.costs) <= task.number:
            self.costs.append({"seconds": 0.0, "steps": 0, "peak_bytes": 0, "stored_bytes": 0})

        def report(means: dict[str, float]) -> None:
            if not math.isfinite(means["loss"]):
                raise UserError(
                    f"the loss is {means['loss']} at task {task.number}, step {clock.step}; the last good state is in "
                    f"{self.record.last}; try a lower optimizer.lr, a longer schedule.warmup or precision=float32"
                )
            rate = float(rates[0, clock.step - 1])
            self.log.row(task=task.number, step=clock.step, epoch=clock.step / clock.epoch_steps, lr=rate, **means)
            now = time.monotonic()
            asked, due = distributed.anyone(self.device, self.stop.asked, self.writes and now - self.saved > self.save_every)
            speed = (clock.step - before[0]) * settings.batch_size / max(now - before[1], 1e-9)
            self._count(task, clock.step - before[0], now - before[1])
            before[:] = clock.step, now
            self._tell("training", task.number, clock, means["loss"], speed)
            if not clock.done and (asked or due):
                self._save(task, optimizer, step=clock.step, finished=False)
                self._heed_stop(asked, f"task {task.number}, step {clock.step}")
                before[1] = time.monotonic()

        train(self.learner, optimizer, rates, batches, clock, report, lessons)
        self._save(task, optimizer, step=clock.step, finished=False)  # judging may take long
        distributed.share(self.learner.buffers())  # statistics of each one's own part of the batches, if they are local
        self.learner.strategy.end_task(task, self.learner.method, self._again(batches, clock))
        self._count(task, 0, time.monotonic() - before[1])  # a last look at the task is a cost as well

    def _count(self, task: Task, steps: int, seconds: float) -> None:
        """What training has cost so far."""
        cost, state = self.costs[task.number], self.learner.strategy.state_dict().values()
        cost["seconds"], cost["steps"] = cost["seconds"] + seconds, cost["steps"] + steps
        cost["peak_bytes"] = max(cost["peak_bytes"], peak_memory(self.device))
        cost["stored_bytes"] = sum(tensor.nbytes for tensor in state)

    def _judge(self, task: Task) -> None:
        """One more row of every accuracy matrix; then the task is finished, in one stroke."""
        self._tell("evaluating", task.number)
        encoder = self.learner.method.encoder
        self.jury.judge(encoder, self.learner.augment, None if task.first else self._as_it_was(encoder, task.number - 1))
        if self.writes:
            checkpoint.write_tensors(self.record.encoder(task.number), encoder.state_dict())
            self.record.put("accuracy.json", self.jury.accuracy())
            self.record.put("classes.json", self.jury.facts["classes"])
            self.record.put("health.json", self.jury.facts["health"])
            self.record.put("cost.json", {"tasks": self.costs})
        self._save(task, None, finished=True)
        if task.number + 1 < len(self.tasks):
            self._heed_stop(*distributed.anyone(self.device, self.stop.asked), f"the end of task {task.number}")

    def _as_it_was(self, encoder: Encoder, task: int) -> Encoder:
        """The encoder that was kept after a task."""
        before = deepcopy(encoder)
        before.load_state_dict(checkpoint.read_tensors(self.record.encoder(task)))
        return before

    def _lessons(self, task: Task) -> Batches:
        """For probes that learn along: labelled images of the whole data set, past and future."""
        labelled = self.dataset.train.labels.ge(0).nonzero().flatten()
        if len(labelled) < self.experiment.batch_size:
            raise UserError(f"probes: online wants batches of {self.experiment.batch_size}, but only {len(labelled)} images have a label")
        return Batches(self.dataset.train, Task(task.number, labelled), self.experiment.batch_size, "lessons")

    def _begin(self, task: Task) -> None:
        """Make what the method and the strategy need for a task; what is made hangs on the task alone."""
        with seeded(key(self.experiment.seed, "begin", task.number)):
            self.learner.method.begin_task(task)
            self.learner.strategy.begin_task(task, self.learner.method)
        self._placed(self.learner)

    def _again(self, batches: Batches, clock: Clock):
        """One more epoch of the task that has just ended, each image once, for strategies that want a last look."""
        clock = replace(clock, step=-(-clock.step // clock.epoch_steps) * clock.epoch_steps)
        for _ in range(batches.epoch_steps):
            yield self.learner.augment(batches(clock))
            clock.tick()

    def _save(self, task: Task, optimizer: torch.optim.Optimizer | None, **facts: object) -> None:
        facts |= {"task": task.number, "found": self.jury.facts, "costs": self.costs, "metrics": self.log.commit()}
        facts |= {"data": self.dataset.fingerprint}
        if self.writes:
            checkpoint.save(self.record.last, checkpoint.flat(self.learner, optimizer), facts)
        self.saved = time.monotonic()

    def _pause(self) -> None:
        """Between two batches of judging: what it has found is not kept, and will be found again."""
        self._heed_stop(*distributed.anyone(self.device, self.stop.asked), "judging")

    def _heed_stop(self, asked: bool, where: str) -> None:
        if asked:
            self.log.say(f"stopped at {where}")
            raise Stopped(where)

    def _placed(self, learner: Learner) -> Learner:
        if distributed.world() > 1 and self.experiment.norm == "whole":
            whole_batch(learner)
        return learner.to(self.device, memory_format=torch.channels_last)

    def _tell(self, doing: str, task: int, clock: Clock | None = None, loss: float | None = None, speed: float | None = None) -> None:
        counts = (clock.epoch, -(-clock.steps // clock.epoch_steps), clock.step, clock.steps) if clock else ()
        if self.writes:
            self.watch(Progress(doing, task, len(self.tasks), *counts, loss=loss, images_per_second=speed))
