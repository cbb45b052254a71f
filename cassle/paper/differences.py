"""What makes a run a certain cell of a table, and in what else it differs from what was published."""

import json
import re
from collections.abc import Iterator
from importlib import import_module

from cassle.config import Tree, dotted
from cassle.paper.cells import Cell

ASKED = ("aware", "share", "features", "data", "domain")
"""Settings of a probe that say what is asked; the others say how."""
STAND_INS = ("online", "sgd", "linear")
"""Probes that may answer for each other, with a mark; those that come first are preferred."""
SEVERAL = ("seed", "probes")
"""In these, runs of one cell may differ: what is averaged over, and who else was asked."""


def identity(tree: Tree) -> Tree:
    """What makes a run this cell and no other: data, method, strategy and its switches, stream, backbone.  Numbers are no switches."""
    names = {name: tree[name]["name"] for name in ("data", "method", "backbone")}
    cuts = {name: tree.get(name, tree["stream"]) for name in ("stream", "groups")}
    cuts = {name: {key: value for key, value in cut.items() if key != "seed"} for name, cut in cuts.items()}
    return names | cuts | {"strategy": _switches(tree["strategy"])}


def apart(tree: Tree) -> str:
    """Equal for runs that may be averaged."""
    data = {key: value for key, value in tree["data"].items() if key != "root"}
    return json.dumps({key: value for key, value in tree.items() if key not in SEVERAL} | {"data": data}, sort_keys=True)


def marks(cell: Cell, tree: Tree, probe: str) -> tuple[str, ...]:
    """The differences in words; a preset's budget, with all that hangs on it, is one."""
    published = cell.experiment()
    words = list(_differences(published.tree(), tree, grid(cell)))
    for budget in budgets(cell):
        shorter = cell.experiment(budget)
        head = f"{shorter.epochs} epochs a task instead of {published.epochs}"
        words = min(words, [head, *_differences(shorter.tree(), tree, grid(cell))], key=len)
    if _anywhere(probe) != _anywhere(cell.probe):
        words = [*words, f"judged by {probe} instead of {cell.probe}"]
    return tuple(dict.fromkeys(words))


def answering(wanted: str, accuracy: Tree) -> str | None:
    """The probe that was asked the question: in the published way, or else in another."""
    exact = next((label for label in accuracy if _anywhere(label) == _anywhere(wanted)), None)
    if exact:
        return exact
    name, settings = _parsed(wanted)
    alike = STAND_INS if name in STAND_INS else (name,)
    able = []
    for label in accuracy:
        other, own = _parsed(label)
        if other in alike and all(own.get(key) == settings.get(key) for key in ASKED):
            able.append((other != name, alike.index(other), label))
    return min(able)[-1] if able else None


def grid(cell: Cell) -> dict[str, list]:
    """What the paper tuned of the cell's strategy, by key, and the values that the preset would try."""
    return getattr(_preset(cell), "GRIDS", {}).get(cell.experiment().strategy.name, {})


def budgets(cell: Cell) -> list[int]:
    return list(getattr(_preset(cell), "BUDGETS", {}))


def _preset(cell: Cell):
    return import_module(f"cassle.presets.{cell.head.preset}")


def _parsed(label: str) -> tuple[str, dict[str, str]]:
    """`sgd(lr=3.0,aware=true)` as its name and settings."""
    name, _, inside = _anywhere(label).partition("(")
    return name, dict(re.findall(r"(\w+)=(\{.*?\}|\[.*?\]|[^,]*)", inside.removesuffix(")")))


def _anywhere(label: str) -> str:
    """Wherever the data of a probe lie."""
    return re.sub(r'"root": "[^"]*",? ?', "", label)


def _differences(there: object, here: object, tuned: dict[str, list], where: str = "") -> Iterator[str]:
    """`here` from `there`, leaf by leaf; views that differ alike are told of once."""
    if isinstance(there, dict) and isinstance(here, dict) and there.get("name") == here.get("name"):
        for key in dict.fromkeys([*there, *here]):
            known = key == "root" or dotted(where, key) in (*tuned, *SEVERAL, "groups")
            if not known:
                yield from _differences(there.get(key), here.get(key), tuned, dotted(where, key))
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for a, b in zip(there, here):
            yield from _differences(a, b, tuned, where)
    elif where == "steps" and here != there:
        yield f"{here} steps a task instead of epochs"
    elif there != here:
        there, here = (value.get("name") if isinstance(value, dict) else value for value in (there, here))
        yield f"{where} {_word(here)} instead of {_word(there)}"


def _word(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def _switches(tree: Tree) -> Tree:
    """A component's name and what is not a number of its settings, all the way down."""
    numbers = {key for key, value in tree.items() if type(value) in (int, float)}
    return {key: _switches(value) if isinstance(value, dict) else value for key, value in tree.items() if key not in numbers}
