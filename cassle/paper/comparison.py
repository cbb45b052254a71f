"""A table of the paper with our numbers beside its own: what was found for each cell, and what must be said with it."""

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

from cassle.paper.cells import Cell, Table, table
from cassle.paper.matching import Found, Run, found, runs_under


@dataclass(frozen=True)
class Filled:
    """A table, and what was found for each of its cells."""

    table: Table
    cells: Sequence[tuple[Cell, Found | None]]

    @cached_property
    def columns(self) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(cell.column for cell, _ in self.cells))

    @cached_property
    def letters(self) -> dict[str, str]:
        """Of every difference from what was published."""
        words = dict.fromkeys(word for _, found in self.cells if found for word in found.marks)
        return dict(zip(words, (a + b for a in ("", *string.ascii_lowercase) for b in string.ascii_lowercase)))

    def grid(self, written: Callable[[Cell, Found | None], str]) -> list[list[str]]:
        """A header, and a line a row: its names, then its cells."""
        there = {(cell.row, cell.column): written(cell, found) for cell, found in self.cells}
        rows = dict.fromkeys(cell.row for cell, _ in self.cells)
        body = [[*row, *(there.get((row, column), "") for column in self.columns)] for row in rows]
        return [[*self.table.corner, *map(" ".join, self.columns)], *body]

    def runs(self) -> list[list[str]]:
        """The runs behind the numbers, those that were averaged together: how many, how long, on what; nothing, if there are none."""
        groups = dict.fromkeys(found.runs for _, found in self.cells if found)
        header = ["runs", "n", "seeds", "epochs", "hardware", "training hours each"]
        rows = [[placed(g), str(len(g)), seeds(g), epochs(g), devices(g), hours(g)] for g in groups]
        return [header, *rows] if rows else []

    def notes(self) -> list[str]:
        """What is known of the paper's numbers, and what no run of ours does as the paper's did."""
        presets = dict.fromkeys(cell.head.preset for cell, _ in self.cells)
        own = [f"{name}: {word}" for name in presets for word in getattr(import_module(f"cassle.presets.{name}"), "DEVIATIONS", ())]
        return [*self.table.notes, *own]


def compared(word: str, places: Sequence[Path]) -> Filled:
    """That table, from the runs under some folders."""
    wanted = table(word)
    return filled(wanted, runs_under(places))


def filled(table: Table, runs: Sequence[Run]) -> Filled:
    return Filled(table, [(cell, found(cell, runs)) for cell in table.cells()])


def placed(runs: Sequence[Run]) -> str:
    return " ".join(str(run.place) for run in runs)


def seeds(runs: Sequence[Run]) -> str:
    return ", ".join(str(run.tree["seed"]) for run in runs)


def epochs(runs: Sequence[Run]) -> str:
    tree = runs[0].tree
    return f"{tree['steps']} steps" if tree.get("steps") else str(tree["epochs"])


def devices(runs: Sequence[Run]) -> str:
    return " / ".join(dict.fromkeys(run.device for run in runs))


def hours(runs: Sequence[Run]) -> str:
    """Of training, of one of them."""
    return f"{sum(run.hours for run in runs) / len(runs):.2g}"
