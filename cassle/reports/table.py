"""What was measured, in a few rows."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from cassle.record import Record

MEASURES = {"A": "average", "F": "forgetting", "FT": "forward_transfer"}


def rows(records: Sequence[Record]) -> list[list[str]]:
    """A header, then a row a run; and one for random weights, which every run measured before it began."""
    probes = list(records[0].accuracy())
    header = ["", *(f"{probe} {short}" for probe in probes for short in (MEASURES if probe == probes[0] else ("A", "F")))]
    table, seen = [header], []
    for record in records:
        accuracy = record.accuracy()
        table.append([record.path.name, *(_number(accuracy[p][MEASURES[s]]) for p, s in (h.split() for h in header[1:]))])
        random = [sum(accuracy[p]["R"]) / len(accuracy[p]["R"]) for p in probes]
        if random not in seen:
            seen.append(random)
            table.append(["random weights", *(_number(random[probes.index(p)]) if s == "A" else "" for p, s in (h.split() for h in header[1:]))])
    return [table[0], *sorted(table[1:], key=lambda row: row[0] == "random weights")]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def printed(records: Sequence[Record], console: Console | None = None) -> None:
    """To the terminal, in percent."""
    header, *body = rows(records)
    table = Table(*header)
    for row in body:
        table.add_row(*row)
    (console or Console()).print(table, "A accuracy at the end, F forgetting (lower is better), FT forward transfer; percent", highlight=False)
