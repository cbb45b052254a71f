"""A run directory: what is in it, who may write it, and how to read it again."""

import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from cassle.disk import write
from cassle.errors import UserError
from cassle.experiment import Experiment


class Record:
    """`experiment.toml  environment.json  metrics.jsonl  accuracy.json  classes.json  health.json  cost.json  task0.safetensors ...  last/  log.txt`"""

    def __init__(self, path: Path | str):
        self.path = Path(path)

    @property
    def last(self) -> Path:
        """Where the resumable state is."""
        return self.path / "last"

    def encoder(self, task: int) -> Path:
        """The encoder as it was after a task."""
        return self.path / f"task{task}.safetensors"

    def experiment(self) -> Experiment:
        return Experiment.preset(str(self.path / "experiment.toml"))

    def accuracy(self) -> dict[str, dict]:
        return json.loads((self.path / "accuracy.json").read_text("utf-8"))

    def classes(self) -> dict[str, dict[str, float]]:
        """By probe: percent right of each class, at the end."""
        return json.loads((self.path / "classes.json").read_text("utf-8"))

    def health(self) -> dict[str, list[float | None]]:
        """Signs of health of the encoder (`cassle.evaluation.health`), with random weights and after each task."""
        return json.loads((self.path / "health.json").read_text("utf-8"))

    def cost(self) -> list[dict]:
        """By task: seconds and steps of training, the peak of memory, and what the strategy stored; none in old records."""
        path = self.path / "cost.json"
        return json.loads(path.read_text("utf-8"))["tasks"] if path.is_file() else []

    def metrics(self) -> list[dict]:
        return [json.loads(line) for line in (self.path / "metrics.jsonl").read_text("utf-8").splitlines()]

    def environment(self) -> dict:
        return json.loads((self.path / "environment.json").read_text("utf-8"))

    def put(self, name: str, values: dict) -> None:
        """A JSON file, in one stroke."""
        write(self.path / name, lambda path: path.write_text(json.dumps(values, indent=1) + "\n", "utf-8"))

    def check(self, experiment: Experiment) -> None:
        """Refuse a place that cannot be written or that holds something else; write nothing."""
        there = self.path / "experiment.toml"
        if there.is_file():
            if different := _first_difference(tomllib.loads(there.read_text("utf-8")), experiment.tree()):
                raise UserError(f"{self.path} holds another experiment: {different}; give this one another --out")
        elif self.path.is_dir() and any(p.name not in (".lock", ".experiment.toml.writing") for p in self.path.iterdir()):
            raise UserError(f"{self.path} is not empty and holds no run; give another --out")
        standing = next(p for p in (self.path, *self.path.absolute().parents) if p.exists())
        if not standing.is_dir() or not os.access(standing, os.W_OK | os.X_OK):
            raise UserError(f"{self.path} cannot be written: {standing} is {'read-only' if standing.is_dir() else 'not a folder'}")

    @contextmanager
    def claim(self, experiment: Experiment) -> Iterator[None]:
        """Make the directory this experiment's, and keep other processes out of it."""
        self.check(experiment)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = open(self.path / ".lock", "w")
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror}") from None
        with lock:
            try:
                flock(lock, LOCK_EX | LOCK_NB)
            except OSError:
                raise UserError(f"{self.path} is in use by another process; wait for it, or give another --out") from None
            if not (self.path / "experiment.toml").exists():
                write(self.path / "experiment.toml", lambda path: path.write_text(experiment.toml(), "utf-8"))
            yield


def _first_difference(there: object, here: object, where: str = "") -> str | None:
    """In words, or None where two trees are equal."""
    if isinstance(there, dict) and isinstance(here, dict):
        keys = [*there, *(key for key in here if key not in there)]
        pairs = [(f"{where}.{key}" if where else key, there.get(key), here.get(key)) for key in keys]
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = [(f"{where}.{i}", a, b) for i, (a, b) in enumerate(zip(there, here))]
    else:
        return None if there == here else f"{where} is {there!r} there and {here!r} here"
    return next((found for key, a, b in pairs if (found := _first_difference(a, b, key))), None)
