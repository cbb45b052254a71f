"""A run directory: what is in it, who may write it, and how to read it again."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from types import UnionType
from typing import TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from cassle.config import Tree
from cassle.disk import check_folder, write
from cassle.errors import UserError
from cassle.experiment import Experiment


READERS = {
    ".json": json.loads,
    ".jsonl": lambda text: [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")],
    ".toml": tomllib.loads,
}
RESTORE = "; put it back from a copy, or do without this run"


class Judged(TypedDict):
    """What `accuracy.json` holds of a probe, at least."""

    A: list[list[float]]
    R: list[float]
    average: float
    forgetting: float | None
    forward_transfer: float | None


class Spent(TypedDict):
    """What `cost.json` holds of a task."""

    seconds: float
    steps: int
    peak_bytes: int
    stored_bytes: int


class Named(TypedDict):
    """A component."""

    name: str


class Written(TypedDict):
    """What `experiment.toml` holds, at least."""

    data: Named
    method: Named
    strategy: Named
    stream: Named
    seed: int
    epochs: int


class Row(TypedDict):
    """What a line of `metrics.jsonl` holds, at least."""

    task: int
    step: int
    ssl: float
    keep: float


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
        return Experiment.from_tree(self.tree())

    def tree(self) -> Tree:
        """The experiment as it was written, whether or not it is still understood."""
        return self._read("experiment.toml", Written)

    def accuracy(self) -> dict[str, Judged]:
        found = self._read("accuracy.json", dict[str, Judged])
        for probe, judged in found.items():
            if not judged["A"] or not judged["R"] or {len(row) for row in judged["A"]} != {len(judged["R"])}:
                raise UserError(f"{self.path / 'accuracy.json'} is damaged ({probe}.A and {probe}.R are not equally wide){RESTORE}")
        return found

    def classes(self) -> dict[str, dict[str, float]]:
        """By probe: percent right of each class, at the end."""
        return self._read("classes.json", dict[str, dict[str, float]])

    def health(self) -> dict[str, list[float | None]]:
        """Signs of health of the encoder (`cassle.evaluation.health`), with random weights and after each task."""
        found = self._read("health.json", dict[str, list[float | None]])
        if found and (len({len(values) for values in found.values()}) > 1 or len(found.get("rankme", [])) < 2):
            raise UserError(f"{self.path / 'health.json'} is damaged (its lists are not equally long){RESTORE}")
        return found

    def cost(self) -> list[Spent]:
        """By task: seconds and steps of training, the peak of memory, and what the strategy stored; none in old records."""
        there = (self.path / "cost.json").is_file()
        return self._read("cost.json", dict[str, list[Spent]]).get("tasks", []) if there else []

    def metrics(self) -> list[Row]:
        """What was logged; a run that is being written may end in half a line."""
        return self._read("metrics.jsonl", list[Row])

    def environment(self) -> dict[str, object]:
        return self._read("environment.json", dict[str, object])

    def _read(self, name: str, kind: object):
        """A file's tree (of lines, where it has a value a line), if it holds what it should."""
        path = self.path / name
        try:
            text = path.read_text("utf-8")
            return _held(READERS[path.suffix](text), kind)
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path} is damaged ({error}){RESTORE}") from None

    def put(self, name: str, values: dict) -> None:
        """A JSON file, in one stroke."""
        write(self.path / name, lambda path: path.write_text(json.dumps(values, indent=1) + "\n", "utf-8"))

    def check(self, experiment: Experiment) -> None:
        """Refuse a place that cannot be written or that holds something else; write nothing."""
        there = self.path / "experiment.toml"
        if there.is_file():
            if different := _first_difference(self.tree(), experiment.tree()):
                raise UserError(f"{self.path} holds another experiment: {different}; give this one another --out")
        elif self.path.is_dir() and any(p.name not in (".lock", ".experiment.toml.writing") for p in self.path.iterdir()):
            raise UserError(f"{self.path} is not empty and holds no run; give another --out")
        check_folder(self.path)

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


def runs_in(paths: Sequence[Path], *files: str) -> list[Path]:
    """Every folder that the paths are or hold with an `experiment.toml` and such other files, in the order given, then by name; each once."""
    places: dict[Path, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise UserError(f"{path} is not a folder; name run directories, or folders that hold some")
        inside = [path] if (path / "experiment.toml").is_file() else sorted(p.parent for p in path.rglob("experiment.toml"))
        found = [place for place in inside if all((place / name).is_file() for name in files)]
        if files and not found:
            raise UserError(f"{path} holds no run that has finished a task (a folder with experiment.toml and {' and '.join(files)})")
        for place in found:
            places.setdefault(place.resolve(), place)
    return list(places.values())


def _held(value: object, kind: object, where: str = ""):
    """The value, if it is of that kind all the way down."""
    inner, origin = get_args(kind), get_origin(kind)
    if isinstance(kind, UnionType):  # with None
        return value if value is None else _held(value, inner[0], where)
    own = dict if is_typeddict(kind) else origin or kind
    if not isinstance(value, (int, float) if own is float else own) or (isinstance(value, bool) and own is not object):
        raise ValueError(f"{where or 'it'} is {str(value)[:40]!r}")
    if is_typeddict(kind):
        parts = [(key, value.get(key), part) for key, part in get_type_hints(kind).items()]
    else:
        pairs = value.items() if origin is dict else enumerate(value) if origin is list else ()
        parts = [(key, part, inner[-1]) for key, part in pairs]
    for key, part, wanted in parts:
        _held(part, wanted, f"{where}.{key}" if where else str(key))
    return value


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
