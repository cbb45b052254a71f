"""The paper's figures from runs of ours: what CaSSLe gains for each method, and how strategies fare from task to task."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal

from cassle.errors import UserError
from cassle.paper.cells import Cell, table
from cassle.paper.differences import answering
from cassle.paper.frame import ALONE, BLUE, GREEN, INK, KINDS, LOOKS, PUBLISHED, RED, STYLE, SUPERVISED, told, written
from cassle.paper.matching import Found, Run, found, runs_under

Name = Literal["teaser", "evolution"]


def figure(name: Name, places: Sequence[Path], out: Path) -> list[Path]:
    """Draw it from the runs under some folders (`runs`, if none is named); to a PNG and an SVG, or to the one that `out` ends in."""
    if out.suffix not in ("", *KINDS):
        raise UserError(f"{out}: a figure is written as {' or '.join(KINDS)}; without either, as both")
    runs = runs_under(places)
    from matplotlib import rc_context

    with rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = [out] if out.suffix else [out.with_suffix(kind) for kind in KINDS]
        return [written(DRAWN[name](runs), path) for path in paths]  # each anew: what was drawn once is laid out a little differently


def teaser(runs: Sequence[Run]):
    """Fig. 1: bars of fine-tuning with CaSSLe's gain upon them, beside a line for supervised fine-tuning; ticks are the paper's."""
    cells = [cell for cell in table("4").cells() if cell.column[-1] == "A" and cell.row[-1] != "Offline"]
    filled = {(*cell.column[:1], *cell.row): (cell, found(cell, runs)) for cell in cells}
    benches = list(dict.fromkeys(bench for (bench, *_), (_, f) in filled.items() if f))
    if not benches:
        raise UserError("no run belongs to this figure: it shows fine-tuning and CaSSLe as Table 4 does")
    from matplotlib.figure import Figure

    methods = [method for method in dict.fromkeys(cell.row[0] for cell in cells) if method != "Supervised"]
    drawn = Figure(figsize=(4.4 * len(benches) + 0.4, 3.0), layout="constrained")
    for axes, bench in zip(drawn.subplots(1, len(benches), squeeze=False)[0], benches):
        values = []
        for x, method in enumerate(methods):
            values += _bar(axes, x, *(filled[bench, method, strategy] for strategy in ("Fine-tuning", "CaSSLe")))
        cell, supervised = filled[bench, "Supervised", "Fine-tuning"]
        values += _level(axes, supervised.value if supervised else None, cell.published)
        axes.set_title(bench)
        axes.set_xticks(range(len(methods)), [method.replace(" ", "\n") for method in methods])
        axes.tick_params(length=0)
        axes.set_xlim(-0.6, len(methods) - 0.4)
        axes.set_ylim(max(0, 5 * int(min(values) / 5) - 5), max(values) + 2)
        axes.grid(axis="y", color="#e4e4e4", linewidth=0.7)
    drawn.axes[0].set_ylabel("accuracy (%)")
    cut = ["bars do not begin at 0"] if any(axes.get_ylim()[0] > 0 for axes in drawn.axes) else []
    told(drawn, {" ".join(key): f for key, (_, f) in filled.items() if f}, *cut)
    return drawn


def evolution(runs: Sequence[Run]):
    """Mean accuracy on all classes after each task, by every strategy, on class-incremental CIFAR-100."""
    cells = [cell for cell in table("2").cells() if cell.column[-1] == "A"]
    there = [(cell, f) for cell in cells if (f := found(cell, runs))]
    methods = list(dict.fromkeys(cell.column[0] for cell, _ in there))
    if not methods:
        raise UserError("no run belongs to this figure: it shows the strategies as Table 2 does")
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(max(4.6, 3.3 * len(methods) + 0.6), 3.0), layout="constrained")
    panels = drawn.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for axes, method in zip(panels, methods):
        for cell, f in there:
            if cell.column[0] == method:
                _line(axes, cell.row[0], _course(cell, f))
        axes.set_title(method)
        axes.set_xlabel("tasks learned")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(color="#e9e9e9", linewidth=0.7)
    panels[0].set_ylabel("accuracy on all classes (%)")
    told(drawn, {f"{cell.column[0]} {cell.row[0]}": f for cell, f in there})
    return drawn


DRAWN = {"teaser": teaser, "evolution": evolution}


def _bar(axes, x: int, plain: tuple[Cell, Found | None], cassle: tuple[Cell, Found | None]) -> list[float]:
    """What it shows of one method: all values that must be in sight."""
    below, above = (f.value if f else None for _, f in (plain, cassle))
    if below is not None:
        axes.bar(x, below, 0.62, color=BLUE, label="fine-tuning")
    if above is not None and below is not None and above >= below:
        axes.bar(x, above - below, 0.62, bottom=below, color=GREEN, label="CaSSLe's gain")
    elif above is not None:  # nothing to gain upon, or a loss
        axes.bar(x, above, 0.62, facecolor="none", edgecolor=GREEN, linewidth=1.6, label=ALONE)
    spreads = [f.spread or 0 if f else 0 for _, f in (plain, cassle)]
    for number, spread in zip((below, above), spreads):
        if spread:
            axes.errorbar(x, number, spread, color=INK, linewidth=1, capsize=2)
    near = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
    if above is not None:
        axes.annotate(f"{above:.1f}", (x, max(above + spreads[1], below or 0)), (0, 3), color=INK, **near)
    if below is not None:
        axes.annotate(f"{below:.1f}", (x, below - spreads[0]), (0, -4), va="top", color="white", **near)
    for (cell, _), colour, label in zip((plain, cassle), (BLUE, GREEN), PUBLISHED):
        axes.plot([x - 0.46, x - 0.34], [cell.published] * 2, color=colour, linewidth=2, label=label, solid_capstyle="butt")
    return [value for value in (below, above, plain[0].published, cassle[0].published) if value is not None]


def _level(axes, ours: float | None, published: float) -> list[float]:
    if ours is None:
        axes.axhline(published, color=RED, linewidth=1, linestyle=":", label=PUBLISHED[2])
        return [published]
    axes.axhline(ours, color=RED, linewidth=1.4, linestyle="--", label=SUPERVISED)
    return [ours]


def _course(cell: Cell, found: Found) -> list[float]:
    """Mean accuracy after each task, over seeds."""
    matrices = [run.accuracy[answering(cell.probe, run.accuracy)]["A"] for run in found.runs]
    return [fmean(fmean(row) for row in rows) for rows in zip(*matrices)]


def _line(axes, strategy: str, course: Sequence[float]) -> None:
    if strategy not in LOOKS:
        axes.axhline(course[-1], color=RED, linewidth=1.2, linestyle="--", label=strategy)
        return
    colour, marker = LOOKS[strategy]
    bold = strategy in ("Fine-tuning", "CaSSLe")
    look = {"markersize": 5, "linewidth": 2, "zorder": 3} if bold else {"markersize": 4, "linewidth": 1.1}
    axes.plot(range(1, len(course) + 1), course, color=colour, marker=marker, label=strategy, **look)
