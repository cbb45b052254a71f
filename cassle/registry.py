"""Names are paths: `methods/simclr.py` is "simclr", and a component's signature is the schema of its settings.

Signatures are read from the source, not by importing it: a mistyped name is answered before torch has loaded, and
reading a configuration executes nothing.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from cassle.errors import UserError

HERE = Path(__file__).parent
REQUIRED = object()


@dataclass(frozen=True)
class Room:
    """A place where components live: a folder with one a file, or a file with several."""

    path: str
    word: str
    noun: str
    """What a component derives from, if it is a class, or returns, if it is a function."""
    given: int = 0
    """How many leading parameters the program supplies, not the configuration."""


ROOMS = {
    room.path: room
    for room in (
        Room("methods", "method", "Method", given=1),
        Room("strategies", "strategy", "Strategy"),
        Room("losses", "criterion", "Criterion"),
        Room("data", "data set", "Dataset"),
        Room("data/streams", "stream", "Tasks", given=1),
        Room("networks/resnet", "backbone", "ResNet"),
        Room("augment/views", "view", "View"),
        Room("evaluation", "probe", "Probe"),
        Room("training/optim", "optimizer", "Optimizer", given=1),
        Room("training/schedule", "schedule", "Schedule", given=3),
    )
}


@dataclass(frozen=True)
class Setting:
    """One parameter of a component: its annotation, as source, and its default."""

    kind: ast.expr
    default: object


@dataclass(frozen=True)
class Source:
    """Where a component is defined."""

    module: str
    object: str
    node: ast.ClassDef | ast.FunctionDef


def names(room: str) -> list[str]:
    """All components of a room."""
    return sorted(_sources(room))


def find(room: str, name: str, where: str) -> Source:
    """The component of that name; `where` is the key that asked for it."""
    if ":" in name:
        return _outside(name, where)
    if name not in _sources(room):
        raise UserError(f"{where}: no {ROOMS[room].word} is called {name!r}{suggest(name, names(room))}")
    return _sources(room)[name]


def schema(room: str, name: str, where: str) -> dict[str, Setting]:
    """The settings of a component, read from its signature."""
    node = find(room, name, where).node
    if isinstance(node, ast.ClassDef):
        init = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if init is None:  # a dataclass, or a class with nothing to set
            return {n.target.id: _setting(n.annotation, n.value) for n in node.body if isinstance(n, ast.AnnAssign)}
        skip, arguments = 1 + ROOMS[room].given, init.args
    else:
        skip, arguments = ROOMS[room].given, node.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    pairs = [*zip(arguments.args, defaults)][skip:] + [*zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return {argument.arg: _setting(argument.annotation, default) for argument, default in pairs}


def load(room: str, name: str, where: str) -> type:
    """The component itself: only now is its module imported."""
    source = find(room, name, where)
    made = getattr(import_module(source.module), source.object)
    if ":" in name:
        noun = getattr(import_module("cassle." + room.replace("/", ".")), ROOMS[room].noun, None)
        if not (isinstance(noun, type) and isinstance(made, type) and issubclass(made, noun)):
            raise UserError(f"{where}: {name} is not a {ROOMS[room].noun}")
    return made


def companion(source: Source, name: str):
    """Another function of a component's module, if it has one by that name."""
    return getattr(import_module(source.module), name, None)


def summary(room: str, name: str) -> str:
    """The first line of a file's docstring."""
    return (ast.get_docstring(_parsed(HERE / room / f"{name}.py")) or "").split("\n")[0]


def suggest(wrong: str, right: list[str]) -> str:
    """The end of an error line: the nearest valid name, and all of them."""
    near = get_close_matches(wrong, right, n=1, cutoff=0.4)
    return (f"; did you mean {near[0]!r}?" if near else "") + f" (there is: {', '.join(right)})"


@cache
def _sources(room: str) -> dict[str, Source]:
    place, noun = HERE / room, ROOMS[room].noun
    if place.is_dir():
        found = [(path.stem, source) for path in place.glob("*.py") for source in _definitions(path)]
        named = {stem: s for stem, s in found if s.object.lower().replace("_", "") == stem.replace("_", "")}
        return {stem: s for stem, s in named.items() if _returns(s.node, noun) or _bases(s.node) and s.object != noun}
    found = {source.object.lower(): source for source in _definitions(place.with_suffix(".py"))}
    own = lambda s: s.object == noun and not _bases(s.node)  # noqa: E731
    return {name: s for name, s in found.items() if _returns(s.node, noun) or noun in _bases(s.node) or own(s)}


def _returns(node: ast.AST, noun: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.returns is not None and noun == ast.unparse(node.returns).strip("'")


def _bases(node: ast.AST) -> list[str]:
    return [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []


def _definitions(path: Path) -> Iterator[Source]:
    """The public classes and functions of a file."""
    module = ".".join(("cassle", *path.relative_to(HERE).with_suffix("").parts))
    for node in _parsed(path).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            yield Source(module, node.name, node)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _outside(name: str, where: str) -> Source:
    """`my_pkg.my_mod:MyClass`, a class that is not ours."""
    module, _, wanted = name.partition(":")
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise UserError(f"{where}: there is no Python module {module!r} (of {name!r})")
    classes = {n.name: n for n in _parsed(Path(spec.origin)).body if isinstance(n, ast.ClassDef)}
    if wanted not in classes:
        raise UserError(f"{where}: {module} has no class {wanted!r}{suggest(wanted, sorted(classes))}")
    return Source(module, wanted, classes[wanted])


def _setting(kind: ast.expr, default: ast.expr | None) -> Setting:
    return Setting(kind, REQUIRED if default is None else ast.literal_eval(default))
