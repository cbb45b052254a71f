"""Curves and clouds, as small figures without ornament."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cassle.reports.svg import MUTED, RULE, again, figure, of_column, of_run

WIDTH, HEIGHT = 340, 230
LEFT, TOP, BOTTOM = 30, 18, 38
"""Around the axes; to the right there is room for the names of lines."""
LETTER = 5.9
"""How wide a letter is, about."""


@dataclass(frozen=True)
class Line:
    """One curve, named where it ends."""

    label: str
    number: int | None
    """Of its run: decides the colour; random weights have none."""
    x: Sequence[float]
    y: Sequence[float]
    look: Literal["run", "level", "random", "loss"]
    mark: int | None = None
    """A point to stand out."""


def curves(
    lines: Sequence[Line],
    *,
    tasks: Sequence[str] = (),
    starts: Sequence[tuple[float, str]] = (),
    span: float = 1e-3,
) -> str:
    """Lines over tasks or over steps.

    Args:
        tasks: names of x = 1, 2 ...
        starts: the steps at which tasks begin, and their names.
        span: how much of the y axis to show at least.
    """
    with figure(WIDTH, HEIGHT) as (empty, finished):
        margin = min(150, 14 + LETTER * max(len(_short(line.label)) for line in lines))
        wide = WIDTH - LEFT - margin
        axes = empty.add_axes((LEFT / WIDTH, BOTTOM / HEIGHT, wide / WIDTH, 1 - (TOP + BOTTOM) / HEIGHT))
        for line in lines:
            _draw(axes, line)
        _show_all(axes, lines, span)
        if tasks:
            _name_tasks(axes, tasks, wide)
        else:
            _name_starts(axes, starts, wide)
        _name_ends(axes, lines, wide)
        return finished()


def cloud(points: np.ndarray, groups: np.ndarray) -> str:
    """A dot for every image, coloured by its group; each colour is one path, drawn in turns so that none hides another."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    size = 300
    low, high = points.min(0), points.max(0)
    middle, reach = (low + high) / 2, (high - low).max() / 2 or 1.0
    with figure(size, size) as (empty, finished):
        axes = empty.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-1.04, 1.04), ylim=(-1.04, 1.04))
        axes.axis("off")
        turns = 4
        for turn in range(turns):
            for group in np.unique(groups):
                own = ((points - middle) / reach)[groups == group][turn::turns]
                if len(own):
                    dots = Path(own.repeat(2, axis=0), [Path.MOVETO, Path.LINETO] * len(own))
                    cap = "projecting" if again(group) else "round"
                    look = {"edgecolor": of_column(group), "facecolor": "none", "capstyle": cap, "alpha": 0.75, "clip_on": False}
                    axes.add_patch(PathPatch(dots, linewidth=4.2 if len(points) > 300 else 6, **look))
        return finished()


def thinned(x: Sequence[float], y: Sequence[float], most: int = 300) -> tuple[list[float], list[float]]:
    """A long curve as the means of its stretches."""
    stretches = min(most, len(x))
    mean = lambda values: [float(part.mean()) for part in np.array_split(np.asarray(values, float), stretches)]  # noqa: E731
    return (mean(x), mean(y)) if stretches else ([], [])


def _draw(axes, line: Line) -> None:
    ink = of_run(line.number)
    width = {"run": 1.8, "level": 1.2, "random": 1.3, "loss": 1.3}[line.look]
    dashes = {"level": (0, (6, 3)), "random": (0, (1, 2.2))}.get(line.look, (0, (4, 1.6)) if again(line.number) else "-")
    axes.plot(line.x, line.y, color=ink, linestyle=dashes, linewidth=width, clip_on=False)
    if line.look == "run":
        for i, place in enumerate(zip(line.x, line.y)):  # a line of no length with round ends: unlike a marker it needs no id
            axes.plot(*zip(place, place), color=ink, linewidth=7.5 if i == line.mark else 4, clip_on=False)


def _show_all(axes, lines: Sequence[Line], span: float) -> None:
    """The y axis around everything finite."""
    axes.patch.set_visible(False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(axis="y", color=RULE, linewidth=0.6, clip_on=False)
    values = np.array([y for line in lines for y in line.y], float)
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    half = max(span, (high - low) * 1.12) / 2
    axes.set_ylim((low + high) / 2 - half, (low + high) / 2 + half)
    axes.yaxis.get_major_locator().set_params(nbins=5)


def _name_tasks(axes, tasks: Sequence[str], wide: float) -> None:
    """Names where they fit, otherwise numbers."""
    n = len(tasks)
    fit = max(map(len, tasks)) * LETTER < wide / max(1, n - 1) and not tasks[0].startswith("task ")
    every = 1 if fit else -(-n // 12)
    axes.set_xlim(0.8, n + 0.05 if n > 1 else 1.2)
    axes.set_xticks(range(1, n + 1, every), tasks if fit else range(1, n + 1, every))
    axes.set_xlabel("after learning" if fit else "after task", labelpad=2)


def _name_starts(axes, starts: Sequence[tuple[float, str]], wide: float) -> None:
    """A line where each task begins, and its name above, or its number where names do not fit."""
    end = max((x for line in axes.lines for x in line.get_xdata() if np.isfinite(x)), default=1)
    steps = [step for step, _ in starts]
    room = min((b - a for a, b in zip(steps, [*steps[1:], end])), default=end) / end * wide
    fit = max((len(name) for _, name in starts), default=0) * LETTER < room
    axes.set_xlim(0, end)
    axes.xaxis.get_major_locator().set_params(nbins=4)
    axes.set_xlabel("step", labelpad=2)
    for number, (step, name) in enumerate(starts):
        axes.axvline(step, color=RULE, linewidth=0.8, clip_on=False)
        above = {"transform": axes.get_xaxis_transform(), "color": MUTED, "fontsize": 9.5, "parse_math": False}
        axes.text(step, 1.03, name if fit else number + 1, **above)


def _name_ends(axes, lines: Sequence[Line], wide: float) -> None:
    """Each line's name to the right of its last point, moved apart where they would touch."""
    low, high = axes.get_ylim()
    tall = HEIGHT - TOP - BOTTOM
    ends = sorted((line for line in lines if len(line.y) and np.isfinite(line.y[-1])), key=lambda line: line.y[-1])
    places = _apart([(line.y[-1] - low) / (high - low) * tall for line in ends], gap=12, high=tall)
    for line, y in zip(ends, places):
        at = {"x": 1 + 8 / wide, "y": y / tall, "transform": axes.transAxes, "va": "center_baseline"}
        axes.text(s=_short(line.label), color=of_run(line.number), parse_math=False, **at)


def _apart(wanted: Sequence[float], gap: float, high: float) -> list[float]:
    """Ascending places as near as can be to those wanted, but a gap apart, between 0 and `high` if they fit."""
    placed: list[list] = []  # clusters of [centre, members]
    for place in wanted:
        placed.append([place, 1])
        while len(placed) > 1 and placed[-1][0] - placed[-2][0] < gap * (placed[-1][1] + placed[-2][1]) / 2:
            (a, n), (b, m) = placed[-2:]
            placed[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    spread = [centre + gap * (i - (n - 1) / 2) for centre, n in placed for i in range(n)]
    for i in range(len(spread)):
        spread[i] = max(spread[i], gap * i)
    for i in reversed(range(len(spread))):
        spread[i] = min(spread[i], high - gap * (len(spread) - 1 - i))
    return spread


def _short(name: str, most: int = 20) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
