"""A filled table as text: for people, pages, papers and spreadsheets."""

import csv
import io
import re
from collections.abc import Callable, Sequence

from cassle.paper.cells import Cell
from cassle.paper.comparison import Filled, devices, epochs, hours, placed
from cassle.paper.matching import Found
from cassle.reports.table import markdown

MISSING, UNDEFINED = "·", "–"
KEY = f"Ours / the paper's, in percent.  ±: standard deviation over seeds.  {MISSING}: not measured.  {UNDEFINED}: not defined."
NONE = "No run belongs to this table."


def as_text(filled: Filled) -> str:
    return _page(filled, "{}. {}", " {}", "{}: {}", _padded)


def as_markdown(filled: Filled) -> str:
    return _page(filled, "**{}.** {}", "<sup>{}</sup>", "- <sup>{}</sup> {}", markdown)


def as_latex(filled: Filled) -> str:
    """For `booktabs`."""
    grid = filled.grid(lambda cell, found: _cell(cell, found, filled.letters, "^{}^"))
    head, *body = (" & ".join(map(_tex, row)) + r" \\" for row in grid)
    below = [f"^{letter}^ {word}" for word, letter in filled.letters.items()] + filled.notes()
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_tex(filled.table.title)}. {_tex(KEY)}}}",
            r"\centering",
            r"\small",
            rf"\begin{{tabular}}{{{'l' * len(filled.table.corner)}{'c' * len(filled.columns)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize {_tex(note)}" for note in below),
            r"\end{table}",
        ]
    )


def as_csv(filled: Filled) -> str:
    """A line a number, with all that is known of it."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    measured = ["published", "ours", "spread", "n", "epochs", "hardware", "training hours each", "differences", "runs"]
    rows.writerow(["table", *filled.table.corner, "column", *measured])
    for cell, found in filled.cells:
        ours, known = ["", "", 0], [""] * 5
        if found:
            ours = [_plain(found.value), _plain(found.spread), len(found.runs)]
            known = [epochs(found.runs), devices(found.runs), hours(found.runs), "; ".join(found.marks), placed(found.runs)]
        rows.writerow([filled.table.number, *cell.row, " ".join(cell.column), _plain(cell.published), *ours, *known])
    return text.getvalue().rstrip("\n")


FORMATS: dict[str, Callable[[Filled], str]] = {"text": as_text, "markdown": as_markdown, "latex": as_latex, "csv": as_csv}


def _page(filled: Filled, head: str, style: str, line: str, tabled: Callable[[Sequence[Sequence[str]]], str]) -> str:
    """The table, and below it all that must be said with it."""
    grid = filled.grid(lambda cell, found: _cell(cell, found, filled.letters, style))
    differences = "\n".join(line.format(letter, word) for word, letter in filled.letters.items())
    runs = tabled(filled.runs()) if filled.runs() else NONE
    notes = "\n".join(f"- {note}" for note in filled.notes())
    parts = (head.format(filled.table.name, filled.table.title), tabled(grid), KEY, differences, runs, notes)
    return "\n\n".join(part for part in parts if part)


def _cell(cell: Cell, found: Found | None, letters: dict[str, str], style: str) -> str:
    """`57.9 ± 0.3 a,b / 58.3`"""
    if found is None:
        return f"{MISSING} / {_number(cell.published)}"
    spread = f" ± {found.spread:.1f}" if found.spread is not None else ""
    told = style.format(",".join(letters[word] for word in found.marks)) if found.marks and found.value is not None else ""
    return f"{_number(found.value)}{spread}{told} / {_number(cell.published)}"


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.1f}"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def _padded(grid: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*grid)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in grid]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _tex(text: str) -> str:
    text = re.sub(r"([%_#&${}])", r"\\\1", text)
    text = re.sub(r"\^([a-z,]+)\^", r"$^{\1}$", text)
    return text.replace("±", r"$\pm$").replace(MISSING, r"$\cdot$").replace(UNDEFINED, "--").replace("`", "'")
