"""A table of the paper: its numbers, and for each of them the experiment that makes it and what is asked of the encoder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

from cassle.config import Tree, component, merge
from cassle.errors import UserError
from cassle.experiment import Experiment
from cassle.registry import suggest

OFFLINE = "offline"
"""Stands where a strategy would: everything at once, judged in the columns of the preset's own stream."""


@dataclass(frozen=True)
class Head:
    """A row or a column: its name, and what it decides of its cells."""

    name: tuple[str, ...]
    preset: str = ""
    changes: Tree = field(default_factory=dict)
    ask: Tree = field(default_factory=dict)
    """What is changed of the probe that the preset names first: the published protocol."""
    measure: str = ""
    """`A`, `F`, `FT`; `A3`: of column 3 alone; `A weighted`: by the test images of each domain; `A first`: after the first task."""
    times: int = 1
    """As many times the epochs."""
    until: int | None = None
    """Not beyond that many tasks."""


@dataclass(frozen=True)
class Cell:
    """One number, and where it comes from."""

    row: tuple[str, ...]
    column: tuple[str, ...]
    head: Head
    """What row and column decide together."""
    published: float | None

    def experiment(self, budget: int | None = None) -> Experiment:
        """As published, or with a preset's budget of epochs; the probe that is asked comes first."""
        head = self.head
        return _experiment(head.preset, json.dumps(head.changes), json.dumps(head.ask), head.times, budget)

    @property
    def probe(self) -> str:
        """The name of the published protocol in `accuracy.json`."""
        return self.experiment().probes[0].label


@dataclass(frozen=True)
class Part:
    """Rows and columns that cross, and their numbers: a line a row, `-` where the paper has a dash, `.` where it has nothing."""

    rows: Sequence[Head]
    columns: Sequence[Head]
    numbers: str

    def cells(self) -> list[Cell]:
        lines = [line.split() for line in self.numbers.strip().splitlines()]
        if [len(line) for line in lines] != [len(self.columns)] * len(self.rows):
            raise ValueError(f"{len(self.rows)} rows and {len(self.columns)} columns, but {lines}")
        crossed = [(row, column, text) for row, line in zip(self.rows, lines) for column, text in zip(self.columns, line)]
        return [Cell(row.name, column.name, _both(row, column), _number(text)) for row, column, text in crossed if text != "."]


@dataclass(frozen=True)
class Table:
    """One table of the paper, by its number; the appendix's letters are the numbers that follow."""

    number: int
    title: str
    corner: tuple[str, ...]
    """What the names of rows are."""
    parts: Sequence[Part]
    notes: tuple[str, ...] = ()
    """What is known of these numbers besides."""

    @property
    def name(self) -> str:
        return f"Table {self.number}" + (f" (the paper's {chr(55 + self.number)})" if self.number > 9 else "")

    def cells(self) -> list[Cell]:
        return [cell for part in self.parts for cell in part.cells()]


def tables() -> dict[int, Table]:
    """All of the paper's that hold numbers: its Table 1 lists losses."""
    from cassle.paper.appendix import TABLES as appended
    from cassle.paper.published import TABLES

    return {table.number: table for table in (*TABLES, *appended)}


def table(word: str) -> Table:
    """`2`, `table2`, or a letter of the appendix."""
    known = tables()
    name = word.lower().removeprefix("table").strip()
    number = ord(name) - ord("a") + 10 if len(name) == 1 and name.isalpha() else int(name) if name.isdecimal() else 0
    if number not in known:
        raise UserError(f"the paper has no table {word!r} with numbers in it{suggest(name, [*map(str, known), *'ABCDEF'])}")
    return known[number]


def _number(text: str) -> float | None:
    return None if text == "-" else float(text)


def _both(row: Head, column: Head) -> Head:
    return Head(
        row.name + column.name,
        row.preset or column.preset,
        merge(row.changes, column.changes),
        merge(row.ask, column.ask),
        row.measure or column.measure,
        row.times * column.times,
        row.until or column.until,
    )


@cache
def _experiment(preset: str, changes: str, ask: str, times: int, budget: int | None) -> Experiment:
    tree = json.loads(changes) | ({"budget": budget} if budget else {})
    if tree.get("strategy") == OFFLINE:
        stream = import_module(f"cassle.presets.{preset}").PRESET["stream"]
        tree |= {"strategy": "finetune", "stream": "joint", "groups": stream}
    found = Experiment.preset(preset, tree)
    first = component("evaluation", merge(found.probes[0].tree(), json.loads(ask)), "probes")
    known = first.label in [probe.label for probe in found.probes]  # else it takes the place of the published one
    others = [probe.tree() for probe in found.probes[not known :] if probe.label != first.label]
    return Experiment.from_tree(found.tree() | {"epochs": found.epochs * times, "probes": [first.tree(), *others]})
