"""Which runs a table of the paper takes, which of them are there, and how long the others will take."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import product
from pathlib import Path

from cassle.config import Tree, merge, override
from cassle.experiment import Experiment
from cassle.paper.cells import Cell, Table, table
from cassle.paper.comparison import filled
from cassle.paper.differences import apart, grid
from cassle.paper.formats import as_text
from cassle.paper.matching import HOME, Run, runs_under
from cassle.paper.pace import Pace, pace, time_left


@dataclass(frozen=True)
class Wanted:
    """One run that a table takes."""

    experiment: Experiment
    preset: str
    until: int | None
    """Not beyond that many tasks."""
    asked: frozenset[str]
    """The probes that the table reads."""

    @property
    def name(self) -> str:
        e = self.experiment
        return f"{e.method.name}-{e.strategy.name}-{e.fingerprint[:8]}"

    @property
    def steps(self) -> int:
        """Of training, about: domains are not equally large."""
        e, stream = self.experiment, self.experiment.stream.settings
        tasks = 1 if e.stream.name in ("joint", "fraction") else len(stream.get("classes_each", ())) or stream.get("tasks", 6)
        if e.steps:
            return e.steps * (self.until or tasks)
        images = import_module(f"cassle.presets.{self.preset}").IMAGES // stream.get("of", 1)
        return e.epochs * (images * (self.until or tasks) // tasks // e.batch_size)

    @property
    def words(self) -> str:
        """What it is, beside its method."""
        e = self.experiment
        long = f"{e.steps} steps" if e.steps else f"{e.epochs} epochs"
        only = f", {self.until} only" if self.until else ""
        return f"{self.preset}, {e.strategy.label}, {e.stream.label}, {e.backbone.name}, seed {e.seed}: {long} a task{only}"

    def made_by(self, run: Run) -> bool:
        """Whether a run is this, as far as the table reads it."""
        same = run.tree["seed"] == self.experiment.seed and apart(run.tree) == apart(self.experiment.tree())
        return same and run.done >= (self.until or run.tasks) > 0 and self.asked <= run.accuracy.keys()


@dataclass(frozen=True)
class Plan:
    """The runs of a table: those that are there, and those that are missing."""

    table: Table
    out: Path
    wanted: Sequence[Wanted]
    tuned: bool

    @cached_property
    def places(self) -> list[Path]:
        """Where finished runs are looked for: also in the other folders of `runs`, if this is one."""
        return [path for path in (HOME if HOME.resolve() in self.out.resolve().parents else self.out,) if path.is_dir()]

    @cached_property
    def there(self) -> list[Run]:
        return runs_under(self.places) if self.places else []

    @cached_property
    def missing(self) -> dict[str, Wanted]:
        return {w.name: w for w in self.wanted if not any(w.made_by(run) for run in self.there)}

    def said(self, at_a_time: int) -> str:
        """The plan in words."""
        begun = [name for name in self.missing if (self.out / name / "last").is_dir()]
        finished = len(self.wanted) - len(self.missing)
        lines = [f"{self.table.name}: {len(self.wanted)} runs, {finished} of them finished, {len(begun)} begun"]
        for name, w in self.missing.items():
            lines.append(f"  {name:34} {w.words}{', begun' if name in begun else ''}")
        settings = dict.fromkeys(w.experiment.strategy.name for w in self.wanted if grids(w.preset).get(w.experiment.strategy.name))
        if settings and not self.tuned:
            lines.append(f"The paper tuned {', '.join(settings)}; here each has its default (--grid tries what the preset lists)")
        if self.missing and self.pace:
            lines.append(time_left(self.pace.seconds, at_a_time, self.pace.of))
        elif self.missing:
            lines.append("How long it will take is said as soon as the first steps have been measured")
        return "\n".join(lines)

    @cached_property
    def pace(self) -> Pace | None:
        """What all that is missing will take, if a run of each one's shape has been measured."""
        paces = {name: pace(w.experiment.tree(), self.there) for name, w in self.missing.items()}
        if not paces or None in paces.values():
            return None
        seconds = sum(w.steps * paces[name].seconds for name, w in self.missing.items())
        first, *others = dict.fromkeys(p.of for p in paces.values())
        return Pace(seconds, first + (f" and {len(others)} other{'s' if len(others) > 1 else ''}" if others else ""))

    @property
    def steps(self) -> int:
        return sum(w.steps for w in self.missing.values())

    def filled(self) -> str:
        """The table, from what is there now."""
        return as_text(filled(self.table, runs_under([path for path in self.places or [self.out] if path.is_dir()])))


def planned(word: str, out: Path | None, *, budget: int | None, seeds: Sequence[int], tuned: bool) -> Plan:
    """The distinct experiments of a table's cells, for every seed."""
    wanted: dict[tuple[str, int, int | None], Wanted] = {}
    found = table(word)
    for cell in found.cells():
        base = cell.experiment(budget)
        for change, seed in product(variants(cell) if tuned else [{}], seeds or [base.seed]):
            changed = change | ({"seed": seed} if seed != base.seed else {})
            experiment = Experiment.from_tree(merge(base.tree(), changed)) if changed else base
            new = Wanted(experiment, cell.head.preset, cell.head.until, frozenset([cell.probe]))
            key = (apart(experiment.tree()), seed, cell.head.until)
            wanted[key] = together(wanted[key], new) if key in wanted else new
    return Plan(found, out or HOME / f"table{found.number}", list(wanted.values()), tuned)


def variants(cell: Cell) -> list[Tree]:
    """What the preset would try for the cell's strategy."""
    keys = grid(cell)
    trees = []
    for values in product(*keys.values()):
        tree: Tree = {}
        for key, value in zip(keys, values):
            tree = merge(tree, override(f"{key}={value}"))
        trees.append(tree)
    return trees


def together(one: Wanted, other: Wanted) -> Wanted:
    """One run that answers for both."""
    probes = {probe.label: probe.tree() for probe in (*one.experiment.probes, *other.experiment.probes)}
    experiment = one.experiment
    if len(probes) > len(experiment.probes):
        experiment = Experiment.from_tree(experiment.tree() | {"probes": list(probes.values())})
    return Wanted(experiment, one.preset, one.until, one.asked | other.asked)


def grids(preset: str) -> dict[str, dict]:
    return getattr(import_module(f"cassle.presets.{preset}"), "GRIDS", {})
