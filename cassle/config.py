"""Plain trees in, checked components out; and the small part of TOML that a run is written in."""

import ast
import json
import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from cassle import registry
from cassle.errors import UserError
from cassle.kinds import BOUNDS

Tree = dict[str, object]

ROOM_OF = {room.noun: path for path, room in registry.ROOMS.items()}
PLAIN = {"bool": "true or false", "str": "a text in quotes", "Folder": "a folder's path"}


@dataclass(frozen=True)
class Component:
    """A component by name, with every setting it takes: the defaults are filled in."""

    room: str
    name: str
    settings: Tree

    @property
    def label(self) -> str:
        """Its name, and what of its settings is not the default: `knn(features=projector)`."""
        schema = registry.schema(self.room, self.name, self.room)
        changed = {key: plain(value) for key, value in self.settings.items() if plain(value) != plain(self._default(schema[key], key))}
        words = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in changed.items()]
        return self.name + (f"({','.join(words)})" if words else "")

    def _default(self, setting: registry.Setting, key: str) -> object:
        return None if setting.default is registry.REQUIRED else accept(setting.kind, setting.default, key)

    def tree(self) -> Tree:
        return {"name": self.name, **{key: plain(value) for key, value in self.settings.items() if value is not None}}

    def build(self, *given):
        """Import it and make it; `given` are the parameters that the program supplies."""
        settings = {key: _built(value) for key, value in self._at_hand().items()}
        return registry.load(self.room, self.name, self.room)(*given, **settings)

    def check(self) -> None:
        """That every folder it needs is there: known without importing it."""
        for value in self._at_hand().values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Component):
                    part.check()

    def _at_hand(self) -> Tree:
        """Its settings, with folders where they are."""
        schema = registry.schema(self.room, self.name, self.room)
        kinds = {key: ast.unparse(setting.kind) for key, setting in schema.items()}
        found = dict(self.settings)
        for key, value in self.settings.items():
            if kinds[key] == "Folder":
                found[key] = folder(value, f"{self.room}.{key}")
            elif kinds[key] == "Some[Folder]":
                found[key] = tuple(folder(one, f"{self.room}.{key}.{i}") for i, one in enumerate(value))
        return found


def _built(value: object) -> object:
    if isinstance(value, Component):
        return value.build()
    return tuple(_built(v) for v in value) if isinstance(value, tuple) else value


def component(room: str, value: object, where: str) -> Component:
    """A name, or a table with a name and settings, checked against the component's signature."""
    if isinstance(value, Component):
        value = value.tree()
    tree = {"name": value} if isinstance(value, str) else value
    if room == "augment/views" and isinstance(tree, dict):
        tree = {"name": "view", **tree}  # the one component of its room
    if not isinstance(tree, dict) or not isinstance(tree.get("name"), str):
        raise UserError(f"{where}: want a name or a table with a name, got {value!r}")
    name, given = tree["name"], {key: v for key, v in tree.items() if key != "name"}
    return Component(room, name, settings(registry.schema(room, name, where), given, where, name))


def settings(schema: dict[str, registry.Setting], given: Tree, where: str, owner: str) -> Tree:
    """All settings of a schema: the given ones checked, the others at their defaults."""
    for key in given:
        if key not in schema:
            known = sorted(schema)
            raise UserError(f"{dotted(where, key)}: {owner} has no such setting{registry.suggest(key, known) if known else ''}")
    checked = {}
    for key, setting in schema.items():
        value = merge(setting.default, given[key]) if key in given else setting.default
        if value is registry.REQUIRED:
            raise UserError(f"{dotted(where, key)}: {owner} needs this setting")
        checked[key] = accept(setting.kind, value, dotted(where, key))
    return checked


def accept(kind: ast.expr, value: object, where: str):
    """The value as the annotation wants it, or one line that says what is wrong."""
    match kind:
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return None if value is None else accept(left, value, where)
        case ast.Name(id=("bool" | "str") as name) if type(value).__name__ == name:
            return value
        case ast.Name(id=name) if name in BOUNDS:
            base, holds, words = BOUNDS[name]
            if type(value) in (int, base) and abs(value) <= sys.float_info.max and holds(value):
                return base(value)
            raise UserError(f"{where}: want {words}, got {value!r}")
        case ast.Name(id="Folder") if isinstance(value, str) and value:
            return value
        case ast.Name(id=name) if name in ROOM_OF:
            return component(ROOM_OF[name], value, where)
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, ast.Constant(value=room)])):
            return component(room, value, where)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            allowed = [c.value for c in (choices.elts if isinstance(choices, ast.Tuple) else [choices])]
            if value not in allowed:
                raise UserError(f"{where}: got {value!r}{registry.suggest(str(value), [str(a) for a in allowed])}")
            return value
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=kinds)):
            many = isinstance(kinds[-1], ast.Constant) and kinds[-1].value is ...
            if not isinstance(value, (list, tuple)) or (not many and len(value) != len(kinds)):
                raise UserError(f"{where}: want a list{'' if many else f' of {len(kinds)}'}, got {value!r}")
            kinds = [kinds[0]] * len(value) if many else kinds
            return tuple(accept(k, v, f"{where}.{i}") for i, (k, v) in enumerate(zip(kinds, value)))
        case ast.Subscript(value=ast.Name(id="Some"), slice=one):
            if not isinstance(value, (list, tuple)) or not value:
                raise UserError(f"{where}: want a list of one at least, got {value!r}")
            return tuple(accept(one, v, f"{where}.{i}") for i, v in enumerate(value))
        case ast.Subscript(value=ast.Name(id="Span"), slice=one):
            if not isinstance(value, (list, tuple)) or len(value) != 2:
                raise UserError(f"{where}: want a list of 2, got {value!r}")
            low, high = (accept(one, v, f"{where}.{i}") for i, v in enumerate(value))
            if not low <= high > 0:
                raise UserError(f"{where}: want the smaller number first and the larger one above 0, got {value!r}")
            return low, high
    raise UserError(f"{where}: want {PLAIN.get(ast.unparse(kind), ast.unparse(kind))}, got {value!r}")


def folder(value: str, where: str) -> str:
    """A folder that is there; a bare name is looked for where `cassle data` puts things."""
    path = Path(value).expanduser()
    path = path if path.is_absolute() or path.exists() else data_home() / path
    if not path.is_dir():
        raise UserError(f"{where}: there is no folder {path}; name one, or fetch the data set with `cassle data NAME`")
    return str(path)


def data_home() -> Path:
    """Where fetched data sets live: $CASSLE_DATA, or the user's cache."""
    return Path(os.environ.get("CASSLE_DATA", "~/.cache/cassle")).expanduser()


def merge(base: object, change: object) -> object:
    """`base` with `change` over it; naming another component drops the old one's settings, a list takes a change everywhere."""
    if isinstance(base, (list, tuple)) and isinstance(change, dict):
        each = {key: value for key, value in change.items() if not key.isdecimal()}
        merged = [merge(item, each) for item in base]
        for key in change.keys() - each.keys():
            if key not in map(str, range(len(merged))):
                raise UserError(f"there is no number {key} in a list of {len(merged)} (they count from 0)")
            merged[int(key)] = merge(merged[int(key)], change[key])
        return merged
    if isinstance(base, str) and isinstance(change, dict):
        base = {"name": base}
    if isinstance(base, dict) and "name" in base and isinstance(change, str):
        change = {"name": change}
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    if base.get("name") and change.get("name", base["name"]) != base["name"]:
        return change
    return base | {key: merge(base[key], value) if key in base else value for key, value in change.items()}


def override(text: str) -> Tree:
    """`a.b=value` as a tree; the value is TOML, or else a text."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.split(".")):
        raise UserError(f"{text!r}: want key=value, as in method.temperature=0.1")
    try:
        tree: object = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):  # a number of thousands of digits is no TOML error
        tree = value
    for part in reversed(key.split(".")):
        tree = {part: tree}
    return tree


def plain(value: object) -> object:
    """Components as tables and tuples as lists, all the way down."""
    if isinstance(value, Component):
        return value.tree()
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def toml(tree: Tree, path: str = "") -> str:
    """A tree as TOML: plain values first, then a table for each component."""
    tables = {key: value for key, value in tree.items() if isinstance(value, dict)}
    arrays = {key: value for key, value in tree.items() if isinstance(value, list) and value and isinstance(value[0], dict)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in tree.items() if key not in tables and key not in arrays]
    text = "\n".join(lines) + "\n"
    for key, value in tables.items():
        text += f"\n[{dotted(path, key)}]\n" + toml(value, dotted(path, key))
    for key, values in arrays.items():
        text += "".join(f"\n[[{dotted(path, key)}]]\n" + toml(value, dotted(path, key)) for value in values)
    return text


def dotted(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
