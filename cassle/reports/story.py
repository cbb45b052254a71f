"""A run directory as a reader meets it: what was learned, how far it got, and what each number is about."""

import json
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from pathlib import Path

from cassle.config import Component, Tree
from cassle.data.dataset import Dataset, columns, cut
from cassle.errors import UserError
from cassle.experiment import Experiment
from cassle.record import Record, runs_in


class Story:
    """One run: its record, its place on the page, and its data set where that can still be opened."""

    def __init__(self, record: Record, name: str, number: int, experiment: Experiment | None, dataset: Dataset | None):
        self.record, self.name, self.number, self.experiment, self.dataset = record, name, number, experiment, dataset
        self.tree = experiment.tree() if experiment else record.tree()
        self.accuracy = record.accuracy()
        if not self.accuracy and not self.health:
            raise ValueError("nothing judged it")

    @property
    def probes(self) -> list[str]:
        return list(self.accuracy)

    @property
    def done(self) -> int:
        """How many tasks it has learned."""
        return len(self.accuracy[self.probes[0]]["A"]) if self.probes else len(self.health["rankme"]) - 1

    @property
    def width(self) -> int:
        """How many columns its accuracy matrix has."""
        return len(self.accuracy[self.probes[0]]["R"]) if self.probes else len(self.columns) or 1

    @cached_property
    def tasks(self) -> int:
        """How many tasks its stream has."""
        if self.dataset:
            return len(cut(self.experiment.stream, self.dataset.train))
        stream = self.tree["stream"]
        return 1 if stream["name"] == "joint" else stream.get("tasks", max(self.done, self.width))

    @property
    def unfinished(self) -> str:
        """In words, or nothing."""
        return "" if self.done >= self.tasks else f"unfinished: {self.done} of {self.tasks} tasks"

    @property
    def continual(self) -> bool:
        """Whether there is anything that could be forgotten."""
        return self.tasks > 1

    @property
    def aligned(self) -> bool:
        """Whether column i of the matrix holds the test images of task i."""
        return self.tasks == self.width and self.tree.get("groups", self.tree["stream"]) == self.tree["stream"]

    @property
    def judged_by(self) -> str:
        """Equal for runs whose matrices have the same columns."""
        return json.dumps([self.tree["data"], self.tree.get("groups", self.tree["stream"]), self.width], sort_keys=True)

    @cached_property
    def columns(self) -> list:
        """The test images behind each column; none where the data set is gone."""
        if not self.dataset:
            return []
        return [column.test for column in columns(self.experiment.groups or self.experiment.stream, self.dataset)]

    @cached_property
    def column_names(self) -> list[str]:
        """The domains, where each column is one; otherwise numbers."""
        if self.width == 1:
            return ["all"]
        domains = [self.dataset.test.domains[column].unique().tolist() for column in self.columns]
        if domains and all(len(d) == 1 for d in domains) and len({d[0] for d in domains}) == len(domains):
            return [self.dataset.domains[d[0]] for d in domains]
        return [f"task {i + 1}" for i in range(self.width)]

    @cached_property
    def task_names(self) -> list[str]:
        """The columns' names, where each task has one of its own; otherwise numbers."""
        if not self.continual:
            return ["all at once"]
        return self.column_names if self.aligned else [f"task {i + 1}" for i in range(self.tasks)]

    def seen(self, probe: str) -> list[float]:
        """After each task, the mean accuracy on the tasks so far (on every column, where columns are not tasks)."""
        return [_mean(row[: t + 1] if self.aligned else row) for t, row in enumerate(self.accuracy[probe]["A"])]

    def unlearned(self, probe: str) -> list[float]:
        """The same for random weights."""
        R = self.accuracy[probe]["R"]
        return [_mean(R[: t + 1] if self.aligned else R) for t in range(self.tasks)]

    @cached_property
    def metrics(self) -> list[dict]:
        """What was logged."""
        return self.record.metrics() if (self.record.path / "metrics.jsonl").is_file() else []

    @cached_property
    def health(self) -> dict[str, list[float | None]]:
        """Signs of health, with random weights and after each task."""
        return self.record.health() if (self.record.path / "health.json").is_file() else {}

    @cached_property
    def classes(self) -> dict[str, dict[str, float]]:
        """By probe, percent right of each class in the end."""
        return self.record.classes() if (self.record.path / "classes.json").is_file() else {}

    @cached_property
    def environment(self) -> Tree:
        return self.record.environment() if (self.record.path / "environment.json").is_file() else {}


def gather(paths: Sequence[Path]) -> list[Story]:
    """Every run that the paths are or hold, in the order given, then by name."""
    places = runs_in(paths, "accuracy.json")
    if not places:
        raise UserError("nothing to report: name run directories, or folders that hold some")
    return _told(places)


def families(stories: Sequence[Story], key: Callable[[Story], Hashable]) -> list[list[Story]]:
    """Runs that have something in common, in the order of each family's first."""
    found: dict[Hashable, list[Story]] = {}
    for story in stories:
        found.setdefault(key(story), []).append(story)
    return list(found.values())


def _told(places: list[Path]) -> list[Story]:
    """Each data set is opened once, and each run has a name of its own."""
    opened: dict[str, Dataset | None] = {}
    stories = []
    for number, (place, name) in enumerate(zip(places, _names(places))):
        record = Record(place)
        try:
            experiment = _understood(record)
            data = experiment.data if experiment else None
            if str(data) not in opened:
                opened[str(data)] = _opened(data)
            stories.append(Story(record, name, number, experiment, opened[str(data)]))
        except UserError:
            raise
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{place} cannot be read as a run: {error}") from None
    return stories


def _understood(record: Record) -> Experiment | None:
    """The experiment, unless it names what is no longer there."""
    try:
        return record.experiment()
    except UserError:
        return None


def _opened(data: Component | None) -> Dataset | None:
    try:
        return data.build() if data else None
    except (UserError, OSError):
        return None


def _names(places: list[Path]) -> list[str]:
    """The folder's name, with as much of its path before it as it takes to tell runs apart."""
    parts = [place.resolve().parts for place in places]
    return [
        next(name for n in range(1, len(own) + 1) if (name := "/".join(own[-n:])) and sum(p[-n:] == own[-n:] for p in parts) == 1)
        for own in parts
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
