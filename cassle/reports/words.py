"""What the page says in sentences."""

import math
import shlex
from collections.abc import Iterable, Sequence

from cassle.config import Tree, dotted
from cassle.reports.story import Story

STREAMS = {
    "class_incremental": "a few classes at a time",
    "domain_incremental": "one domain after the other",
    "data_incremental": "a share of the images at a time",
    "joint": "all at once",
}
UNDEFINED = "–"
MEASURES = {
    "A": "accuracy at the end, averaged over the tasks; higher is better",
    "F": "forgetting: how far each task has fallen from its best, on average; lower is better",
    "FT": "forward transfer: what a task gains from those before it, over random weights; higher is better",
}


def title(stories: Sequence[Story]) -> str:
    """The stream, in a few words."""
    story = max(stories, key=lambda s: s.tasks)
    if 1 < story.tasks <= 5 and story.aligned and story.column_names[0] != "task 1":
        text = ", then ".join(story.column_names)
    else:
        text = f"{data(story)} in {_several(story.tasks, 'task')}" if story.continual else f"{data(story)}, all at once"
    return text[0].upper() + text[1:].replace("_", " ")


def lede(stories: Sequence[Story]) -> str:
    """What was learned, how, and in which order."""
    streamed = [s for s in stories if s.continual] or stories
    order = either(STREAMS.get(s.tree["stream"]["name"], s.tree["stream"]["name"]) for s in streamed)
    size = either(f"{_several(s.tasks, 'task')} of {_duration(s)}" for s in streamed)
    text = f"{_article(either(s.tree['backbone']['name'] for s in stories))} learned the images of {either(map(data, stories))} "
    text += f"by {either(s.tree['method']['name'] for s in stories)}, {order}: {size}{' each' if streamed[0].continual else ''}. "
    if streamed[0].continual:
        strategies = dict.fromkeys(s.tree["strategy"]["name"] for s in streamed)
        text += f"The {'strategies' if len(strategies) > 1 else 'strategy'}: {both(strategies)}. "
    if at_once := [s.name for s in stories if s not in streamed]:
        text += f"For comparison, {both(at_once)} learned everything at once. "
    if not (probes := stories[0].probes):
        return text.rstrip()
    return text + f"What its features tell about the test images was asked after every task, by {_probes(probes)}."


def finding(stories: Sequence[Story]) -> str:
    """Who is best at the end, by the first probe; runs that are under way, or were judged on other images, do not compete."""
    if not stories[0].probes:
        return "Nothing is labelled, or no probe was asked; what can be told without labels is under Health."
    probe = stories[0].probes[0]
    end = {s.name: s.accuracy[probe]["average"] for s in stories if probe in s.accuracy}
    whole = [s for s in stories if not s.unfinished and probe in s.accuracy and s.judged_by == stories[0].judged_by]
    ranked = sorted((s for s in whole if s.continual), key=lambda s: -end[s.name])
    if not ranked:
        return ""
    best, R = ranked[0].name, ranked[0].accuracy[probe]["R"]
    others = [f"{number(end[s.name])} for {s.name}" for s in ranked[1:3]]
    text = f"{best} with {number(end[best])} percent" if others else f"{best} ends at {number(end[best])} percent"
    text = f"the highest in the end is {text}, against {both(others)}" if others else text
    upper = next((f"; {s.name}, which saw everything at once, has {number(end[s.name])}" for s in whole if not s.continual), "")
    return f"By {_probes([probe])}, {text}. Random weights have {number(sum(R) / len(R))}{upper}."


def commands(stories: Sequence[Story]) -> list[str]:
    """How to do it again."""
    return [f"cassle train {shlex.quote(str(s.record.path / 'experiment.toml'))}" for s in stories]


def differences(stories: Sequence[Story]) -> list[tuple[str, list[str]]]:
    """The settings in which the experiments differ, and each one's value."""
    flat = [dict(_flat(story.tree)) for story in stories]
    keys = dict.fromkeys(key for tree in flat for key in tree)
    table = [(key, [str(tree.get(key, "")) for tree in flat]) for key in keys]
    return [(key, values) for key, values in table if len(set(values)) > 1]


def environments(stories: Sequence[Story]) -> list[tuple[str, str]]:
    """Where the runs ran: one value where they agree; where many do not, the first and the last."""
    table = []
    for key in dict.fromkeys(key for story in stories for key in story.environment):
        values = sorted({str(s.environment[key]) for s in stories if key in s.environment})
        table.append((key, " / ".join(values) if len(values) < 4 else f"{values[0]} … {values[-1]}"))
    return table


def number(value: float) -> str:
    """As the page writes it."""
    return f"{value:.1f}" if math.isfinite(value) else UNDEFINED


def extent(values: Sequence[str]) -> str:
    """From the least to the greatest of some numbers, as printed."""
    ordered = sorted(set(values), key=lambda value: (value != UNDEFINED, float(value.replace(UNDEFINED, "0"))))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} … {ordered[-1]}"


def data(story: Story) -> str:
    """The data set's name, or the names of those it joins."""
    tree = story.tree["data"]
    return both(part["name"] for part in tree["sets"]) if "sets" in tree else tree["name"]


def judged(story: Story) -> str:
    """On what."""
    return f"on {data(story)} in {_several(story.width, 'column')}"


def both(values: Iterable[str]) -> str:
    return _listed(values, "and")


def either(values: Iterable[str]) -> str:
    return _listed(values, "or")


def _listed(values: Iterable[str], last: str) -> str:
    *head, tail = dict.fromkeys(values)
    return f"{', '.join(head)} {last} {tail}" if head else tail


def _probes(names: Sequence[str]) -> str:
    return f"the {both(names)} probe{'s' if len(names) > 1 else ''}"


def _several(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _duration(story: Story) -> str:
    steps = story.tree.get("steps")
    return _several(steps, "step") if steps else _several(story.tree["epochs"], "epoch")


def _article(noun: str) -> str:
    return f"{'An' if noun[0] in 'aeiou' else 'A'} {noun}"


def _flat(value: object, where: str = "") -> Iterable[tuple[str, object]]:
    """Every leaf of a tree, by its dotted key."""
    if isinstance(value, (dict, list)) and value:
        pairs: Tree = value if isinstance(value, dict) else {str(i): item for i, item in enumerate(value)}
        for key, item in pairs.items():
            yield from _flat(item, dotted(where, key))
    else:
        yield where, value
