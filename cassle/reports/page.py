"""Everything about some runs on one page that needs nothing but itself."""

import time
from collections.abc import Sequence
from pathlib import Path

from cassle import __version__
from cassle.reports import charts, pictures, sight, words
from cassle.reports.cost import costs, percent
from cassle.reports.sheet import put
from cassle.reports.story import Story, families, gather
from cassle.reports.svg import COLOURS, again
from cassle.reports.table import rows


def write_page(runs: Sequence[Path], out: Path) -> Path:
    """Draw every run that `runs` are or hold, and write the page in one stroke."""
    stories = gather([Path(run) for run in runs])
    put(Path(out), lambda path: path.write_text(rendered(stories, time.strftime("%Y-%m-%d")), "utf-8"))
    return Path(out)


def rendered(stories: Sequence[Story], date: str) -> str:
    """The page as text; the same runs and date give the same page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    here = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=here, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": words.number, "drawn": Markup}
    environment.globals |= {"turn": lambda number: number % COLOURS, "again": again}
    probes = list(dict.fromkeys(probe for story in stories for probe in story.probes))
    return environment.get_template("page.html").render(
        date=date,
        version=__version__,
        words=words,
        stories=stories,
        tables=[_table(family) for family in families([s for s in stories if s.probes], lambda s: (*s.probes, s.judged_by))],
        means=[chart for probe in probes for chart in charts.means(_judged(stories, probe), probe)],
        by_task=[(probe, charts.by_task(_judged(stories, probe), probe)) for probe in probes],
        heats=[(probe, _heat(_judged(stories, probe), probe)) for probe in probes],
        by_class=[_classes(family) for family in families([s for s in stories if s.classes], lambda s: s.judged_by)],
        losses=charts.losses(stories),
        health=charts.health(stories),
        costs=[(story, cost) for story, cost in zip(stories, costs([s.record for s in stories])) if cost.step],
        percent=percent,
        near=sight.NEAR,
        few=sight.FEW,
        toml=(stories[0].record.path / "experiment.toml").read_text("utf-8"),
        views=[pictures.view(family) for family in families(stories, lambda s: s.judged_by)],
    )


def _table(stories: Sequence[Story]) -> dict:
    """The results of runs that were judged by the same probes on the same images, the best of each column marked."""
    header, *body = rows([story.record for story in stories])
    columns = [column.split() for column in header[1:]]
    values = [[words.UNDEFINED if value == "nan" else value for value in row[1:]] for row in body]
    racing = [story.continual and not story.unfinished for story in stories]
    best = [_best(short, [v for v, races in zip(column, racing) if races]) for (_, short), column in zip(columns, zip(*values))]
    marked = [[(value, races and value == b) for value, b in zip(row, best)] for row, races in zip(values, racing)]
    random = ["" if not column[0] else words.extent(column) for column in zip(*values[len(stories) :])]
    probes = [(probe, sum(column[0] == probe for column in columns)) for probe in stories[0].probes]
    return {
        "judged": words.judged(stories[0]),
        "probes": probes,
        "columns": columns,
        "runs": list(zip(stories, marked)),
        "random": random,
        "best": any(best),
    }


def _best(short: str, values: Sequence[str]) -> str | None:
    """As printed, among at least two."""
    defined = [value for value in values if value != words.UNDEFINED]
    return (min if short == "F" else max)(defined, key=float) if len(defined) > 1 else None


def _heat(stories: Sequence[Story], probe: str) -> dict:
    """Every run's matrix under its row of random weights, and the range of colours they share."""
    shown = [(story, story.accuracy[probe]["R"], story.accuracy[probe]["A"]) for story in stories]
    values = [v for _, R, A in shown for row in (R, *A) for v in row if v == v]
    return {"runs": shown, "low": min(values, default=0), "high": max(values, default=0)}


def _classes(stories: Sequence[Story]) -> dict:
    """What became of each class in every run by their first probe, the hardest first."""
    probe = stories[0].probes[0]
    found = [story.classes.get(probe, {}) for story in stories]
    names = sorted(found[0], key=lambda name: (found[0][name], name))
    return {"probe": probe, "runs": stories, "rows": [(name, [own.get(name, float("nan")) for own in found]) for name in names]}


def _judged(stories: Sequence[Story], probe: str) -> list[Story]:
    return [story for story in stories if probe in story.accuracy]
