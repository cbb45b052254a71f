"""Which curves are drawn of some runs."""

import math
from collections.abc import Sequence

from cassle.reports import words
from cassle.reports.plots import Line, curves, thinned
from cassle.reports.story import Story, families

LEAST = 5.0
"""Percentage points: what a chart shows at least, lest noise look like a landscape."""


SIGNS = {
    "rankme": ("Effective rank of the features", 2.0),
    "cka": ("Likeness to the features of the task before (CKA)", 0.1),
    "overlap": ("Share of neighbours kept from the task before", 0.1),
    "alignment": ("Distance of an image’s two views", 0.1),
}
"""Of health: what each is called on the page, and how much of its axis is shown at least."""


def means(stories: Sequence[Story], probe: str) -> list[tuple[str, str]]:
    """For every family of runs, mean accuracy on the tasks so far, after each task."""
    charts = []
    judged = families(stories, lambda s: s.judged_by)
    for family in judged:
        tasks = max(family, key=lambda s: s.tasks).task_names
        untrained = [s.unlearned(probe) for s in family if s.tasks == len(tasks)]
        random = [sum(values) / len(values) for values in zip(*untrained)]
        lines = [*(_line(s, s.seen(probe), len(tasks)) for s in family), _random(random)]
        charts.append((probe + (f", {words.judged(family[0])}" if len(judged) > 1 else ""), curves(lines, tasks=tasks, span=LEAST)))
    return charts


def by_task(stories: Sequence[Story], probe: str) -> list[tuple[str, str]]:
    """For every column its name and what became of it; the charts of a family all show equally many points."""
    charts = []
    judged = families(stories, lambda s: s.judged_by)
    for family in judged:
        tasks = max(family, key=lambda s: s.tasks).task_names
        columns = range(family[0].width) if family[0].width > 1 else ()
        A, R = ({s: s.accuracy[probe][letter] for s in family} for letter in "AR")
        random = [sum(R[s][i] for s in family) / len(family) for i in columns]
        values = {(s, i): [row[i] for row in A[s]] for s in family for i in columns}
        span = max([LEAST, *(_reach([random[i], *(v for s in family for v in values[s, i])]) for i in columns)])
        for i in columns:
            lines = [_line(s, values[s, i], len(tasks), learned=i) for s in family]
            lines.append(_random([random[i]] * len(tasks)))
            name = family[0].column_names[i]
            where = f" of {words.data(family[0])}" if len(judged) > 1 and name.startswith("task ") else ""
            charts.append((name + where, curves(lines, tasks=tasks, span=span)))
    return charts


def losses(stories: Sequence[Story]) -> list[tuple[str, str]]:
    """What a method learns by, then what a strategy adds; runs share a chart where they share the formula."""
    learning = families([s for s in stories if s.metrics], lambda s: str(s.tree["method"]))
    keeping = families([s for s in stories if any(row["keep"] for row in s.metrics)], lambda s: s.tree["strategy"]["name"])
    charts = [(f"The loss of {family[0].tree['method']['name']}", _loss(family, "ssl")) for family in learning]
    names = [f"What {family[0].tree['strategy']['name']} adds, to keep what was learned" for family in keeping]
    return charts + [(name, _loss(family, "keep")) for name, family in zip(names, keeping)]


def health(stories: Sequence[Story]) -> list[tuple[str, str]]:
    """Whether anything collapsed: how far the embeddings spread in each step, and how many dimensions the features use."""
    spread = families([s for s in stories if any("spread" in row for row in s.metrics)], lambda s: str(s.tree["method"]))
    charts = [(f"Spread of {family[0].tree['method']['name']}’s embeddings", _loss(family, "spread")) for family in spread]
    for sign, (title, span) in SIGNS.items():
        for family in families([s for s in stories if any(v is not None for v in s.health.get(sign, [])[1:])], lambda s: s.judged_by):
            tasks = max(family, key=lambda s: s.tasks).task_names
            values = {s: [math.nan if v is None else v for v in s.health[sign]] for s in family}
            lines = [_line(s, values[s][1:], len(tasks)) for s in family]
            random = sum(values[s][0] for s in family) / len(family)
            charts.append((title, curves([*lines, *([_random([random] * len(tasks))] if random == random else [])], tasks=tasks, span=span)))
    return charts


def _line(story: Story, values: Sequence[float], tasks: int, learned: int | None = None) -> Line:
    """A run's curve; the level of a run that learned everything at once; a dot to stand out where a task was `learned`."""
    if not story.continual and tasks > 1:
        return Line(story.name, story.number, (1, tasks), values * 2, "level")
    return Line(story.name, story.number, range(1, len(values) + 1), values, "run", learned if story.aligned else None)


def _random(values: Sequence[float]) -> Line:
    return Line("random weights", None, range(1, len(values) + 1), values, "random")


def _reach(values: Sequence[float]) -> float:
    finite = [v for v in values if math.isfinite(v)]
    return 1.12 * (max(finite) - min(finite)) if finite else 0


def _loss(stories: Sequence[Story], key: str) -> str:
    """Over all steps of the stream, one task after the other; nothing is drawn where there was nothing to add."""
    lines, starts = [], []
    for story in stories:
        begin, x, y, own = 0, [], [], []
        for task, name in enumerate(story.task_names):
            rows = [row for row in story.metrics if row["task"] == task]
            if not rows:
                break
            own.append((begin, name))
            if any(row[key] for row in rows):
                steps, values = thinned([begin + row["step"] for row in rows], [row[key] for row in rows], max(20, 300 // story.tasks))
                x, y = [*x, math.nan, *steps] if x else steps, [*y, math.nan, *values] if y else values
            begin += rows[-1]["step"]
        lines.append(Line(story.name, story.number, x, y, "loss"))
        starts = max(starts, own, key=len)
    return curves(lines, starts=starts)
