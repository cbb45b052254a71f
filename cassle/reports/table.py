"""What was measured, in a few rows."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from cassle.record import Record
from cassle.reports.cost import costs, percent

ACCURACY = "A: accuracy at the end.  F: forgetting, less is better.  FT: forward transfer.  In percent."
HEALTH = "No probe judged.  Rank: how many dimensions the features use.  Likeness (CKA), neighbours kept: to the encoder of the task before, 1 is all."
VITALS = {"rank": ("rankme", 1), "likeness": ("cka", 2), "neighbours kept": ("overlap", 2)}
MEASURES = {"A": "average", "F": "forgetting", "FT": "forward_transfer"}


def rows(records: Sequence[Record], *, cost: bool = False) -> list[list[str]]:
    """A header, a row a run, and a last row for random weights, which every run measures before it begins.

    With `cost`, and fine-tuning among the runs, a last column says what each step takes over fine-tuning's.
    """
    accuracies = [record.accuracy() for record in records]
    if not any(accuracies):
        return _vitals(records)
    probes = dict.fromkeys(probe for judged in accuracies for probe in judged)
    columns = [(probe, short) for n, probe in enumerate(probes) for short in MEASURES if n == 0 or short != "FT"]
    runs = [[record.path.name, *(_number(a[p][MEASURES[m]]) if p in a else "" for p, m in columns)] for record, a in zip(records, accuracies)]
    random = [
        ["random weights", *(_number(sum(a[p]["R"]) / len(a[p]["R"])) if m == "A" and p in a else "" for p, m in columns)] for a in accuracies
    ]
    table = [["", *(f"{probe} {short}" for probe, short in columns)], *runs, *(list(row) for row in dict.fromkeys(map(tuple, random)))]
    if cost and any(over := [percent(c.over) for c in costs(records)]):
        table = [row + [last] for row, last in zip(table, ["time over finetune", *over, *[""] * len(random)])]
    return table


def printed(records: Sequence[Record], console: Console | None = None) -> None:
    """To the terminal, in percent."""
    header, *body = rows(records, cost=True)
    table = Table(*header)
    for row in body:
        table.add_row(*row)
    console = console or Console()
    console.print(table, ACCURACY if any(record.accuracy() for record in records) else HEALTH, highlight=False)


def markdown(table: Sequence[Sequence[str]]) -> str:
    """The same for a page of text."""
    header, *body = (f"| {' | '.join(row)} |" for row in table)
    return "\n".join([header, "|---" * len(table[0]) + "|", *body])


def _vitals(records: Sequence[Record]) -> list[list[str]]:
    """What can be told at the end without a label."""
    found = [record.health() for record in records]
    runs = [[record.path.name, *(_number(values.get(sign, [None])[-1], digits) for sign, digits in VITALS.values())] for record, values in zip(records, found)]
    return [["", *VITALS], *runs, ["random weights", _number(found[0].get("rankme", [None])[0]), "", ""]]


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
