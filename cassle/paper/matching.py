"""The runs that are a cell of a table, and what they measured."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cassle.config import Tree
from cassle.errors import UserError
from cassle.record import Record, runs_in
from cassle.paper.appendix import DOMAINS
from cassle.paper.cells import Cell
from cassle.paper.differences import answering, apart, budgets, grid, identity, marks

HOME = Path("runs")
"""Where runs go, if nothing else is said."""
MEASURES = {"A": "average", "F": "forgetting", "FT": "forward_transfer"}


class Run:
    """A run directory, as far as a table reads it."""

    def __init__(self, place: Path):
        record = Record(place)
        self.record, self.place = record, place
        try:
            self.tree = _tree(record)
            self.identity = identity(self.tree)
            self.accuracy = record.accuracy() if (place / "accuracy.json").is_file() else {}
            self.done = min((len(judged["A"]) for judged in self.accuracy.values()), default=0)
            self.costs = record.cost()
            self.device = record.environment()["device"] if (place / "environment.json").is_file() else "not known"
        except UserError:
            raise
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{place} cannot be read as a run: {error}") from None

    @property
    def tasks(self) -> int:
        """How many its stream has."""
        stream, columns = self.tree["stream"], max((len(judged["R"]) for judged in self.accuracy.values()), default=0)
        if stream["name"] in ("joint", "fraction"):
            return 1
        return len(stream.get("classes_each") or ()) or stream.get("tasks", columns)

    @property
    def hours(self) -> float:
        """Of training."""
        return sum(cost["seconds"] for cost in self.costs) / 3600

    def enough_for(self, cell: Cell) -> bool:
        """Whether it is far enough; and, where several times as long is a cell's very point, exactly so long."""
        exact = cell.head.times == 1 or self.tree["epochs"] in [cell.experiment(budget).epochs for budget in (None, *budgets(cell))]
        return exact and self.done >= min(cell.head.until or self.tasks, self.tasks) > 0


@dataclass(frozen=True)
class Found:
    """What was measured for a cell."""

    value: float | None
    """The mean over seeds; None where the measure is not defined."""
    spread: float | None
    """The standard deviation over seeds, if there are several."""
    runs: tuple[Run, ...]
    """One a seed."""
    marks: tuple[str, ...]
    """In what they differ from the published experiment."""


def runs_under(paths: Sequence[Path]) -> list[Run]:
    """All that the paths are or hold (`runs`, if none is named and it is there), finished or not; each once."""
    return [Run(place) for place in runs_in(paths or [*filter(Path.is_dir, [HOME])])]


def found(cell: Cell, runs: Sequence[Run]) -> Found | None:
    """Of the runs that are this cell, those that differ least from it; of equals, the longest, then those with most seeds.

    A weight that the paper tuned without saying to what is no difference: the best is taken.
    """
    wanted = identity(cell.experiment().tree())
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.identity == wanted and run.enough_for(cell) and (probe := answering(cell.probe, run.accuracy)):
            groups.setdefault((probe, apart(run.tree)), []).append(run)
    told = {key: marks(cell, group[0].tree, key[0]) for key, group in groups.items()}
    tuned = grid(cell)

    def rank(key: tuple[str, str]) -> tuple:
        average = statistics.fmean(run.accuracy[key[0]]["average"] for run in groups[key]) if tuned else 0
        return -len(told[key]), groups[key][0].tree["epochs"], average, len({run.tree["seed"] for run in groups[key]})

    best = max(groups, key=rank, default=None)
    if best is None:
        return None
    by_seed = {run.tree["seed"]: run for run in reversed(groups[best])}  # the same seed twice is one
    chosen = tuple(run for _, run in sorted(by_seed.items()))
    words = told[best] + tuple(_tuned(key, chosen[0], [groups[k][0] for k in groups if told[k] == told[best]]) for key in tuned)
    values = [measured(cell.head.measure, run.accuracy[best[0]]) for run in chosen]
    if None in values:
        return Found(None, None, chosen, words)
    return Found(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, chosen, words)


def measured(measure: str, judged: dict) -> float | None:
    """Of what `accuracy.json` holds for a probe."""
    if measure in MEASURES:
        return judged[MEASURES[measure]]
    row = judged["A"][0 if measure == "A first" else -1]
    if measure == "A weighted":
        weights = list(DOMAINS.values())
        return sum(a * w for a, w in zip(row, weights)) / sum(weights) if len(row) == len(weights) else None
    return sum(row) / len(row) if measure == "A first" else row[int(measure[1:])]


def _tuned(key: str, chosen: Run, alike: Sequence[Run]) -> str:
    """What was taken where the paper tuned."""
    setting = key.removeprefix("strategy.")
    values = {run.tree["strategy"][setting] for run in alike}
    how = f"the best of {len(values)}; the paper's is not known" if len(values) > 1 else "not tuned as the paper's was"
    strategy = chosen.tree["strategy"]
    return f"{strategy['name']} at {setting} {strategy[setting]:g}, {how}"


def _tree(record: Record) -> Tree:
    """Filled in with the defaults of settings that came later; as it is, if it names what is no longer there."""
    try:
        return record.experiment().tree()
    except UserError:
        return record.tree()
