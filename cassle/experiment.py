"""Everything that decides a run, in one frozen, checked tree."""

import ast
import json
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

from cassle import registry
from cassle.config import Component, Tree, merge, plain, settings, toml
from cassle.errors import UserError
from cassle.kinds import Count
from cassle.registry import REQUIRED, Setting


@dataclass(frozen=True)
class Experiment:
    """One continual run: two with equal trees end with equal bits (on one machine, with as many threads).

    A component is given by name, or as a table of its name and settings.
    """

    data: Annotated[Component, "data"]
    method: Annotated[Component, "methods"]
    strategy: Annotated[Component, "strategies"] = "finetune"
    stream: Annotated[Component, "data/streams"] = "class_incremental"
    groups: Annotated[Component, "data/streams"] | None = None
    """How the test images are grouped into the columns of the accuracy matrix; as the stream, if not said."""
    backbone: Annotated[Component, "networks/resnet"] = "resnet18"
    views: tuple[Annotated[Component, "augment/views"], ...] = ({}, {})
    optimizer: Annotated[Component, "training/optim"] = "lars"
    schedule: Annotated[Component, "training/schedule"] = "warmup_cosine"
    epochs: Count = 500
    """Of every task."""
    steps: Count | None = None
    """Of every task, instead of epochs, whatever the task's size."""
    batch_size: Count = 256
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the networks; weights and losses are always float32."""
    norm: Literal["whole", "local"] = "whole"
    """BatchNorm of several processes: over the whole batch, as one process would, or each over its own part."""
    probes: tuple[Annotated[Component, "evaluation"], ...] = ("linear", "knn")
    test_size: Count | None = None
    """The side that images are brought to before they are judged, by a cut in their middle of 7/8 of the shorter side; as they are, if not
    said (as large as the first view, if their sizes differ)."""
    seed: int = 5

    def __post_init__(self):
        given = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        for key, value in settings(_schema(), given, "", "an experiment").items():
            object.__setattr__(self, key, value)
        if len(self.views) < 2:
            raise UserError(f"views: two are needed to compare, got {len(self.views)}")
        if self.batch_size < 2:
            raise UserError("batch_size: an image alone has nothing to be compared with; 2 at least")
        if len({probe.label for probe in self.probes}) < len(self.probes):
            raise UserError("probes: each may be named once, unless with other settings")

    @classmethod
    def preset(cls, name: str, changes: Tree | None = None) -> "Experiment":
        """A preset by name, or a run's TOML by path, with changes over it; of a preset also `budget`, its tables of fewer epochs."""
        changes = changes or {}
        if name.endswith(".toml"):
            return cls.from_tree(merge(_read(Path(name)), changes))
        if name not in presets():
            raise UserError(f"no preset is called {name!r}{registry.suggest(name, presets())}")
        module = import_module(f"cassle.presets.{name}")
        tree = merge(module.PRESET, {"method": changes.get("method", module.PRESET["method"])})
        method = _called(tree["method"])
        found = merge(module.PRESET, module.METHODS.get(method, {"method": method}))
        for table in (_together(module, method, changes), *_budget(name, module, method, changes)):
            found = merge(found, table)
        return cls.from_tree(merge(found, {key: value for key, value in changes.items() if key != "budget"}))

    @classmethod
    def from_tree(cls, tree: Tree) -> "Experiment":
        """From plain tables, as a TOML file has them."""
        return cls(**settings(_schema(), tree, "", "an experiment"))

    def check(self) -> None:
        """That the folders it needs are there."""
        for component in (self.data, *self.probes):
            component.check()

    def judged_at(self, size: tuple[int, int] | None) -> int | None:
        """The side that images of a size (None: of several) are brought to before they are judged, or None."""
        return self.test_size or (None if size else self.views[0].settings["size"])

    def tree(self) -> Tree:
        """As plain tables, with every default filled in."""
        values = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return {key: value for key, value in values.items() if value is not None}

    def toml(self) -> str:
        return toml(self.tree())

    @property
    def fingerprint(self) -> str:
        """Equal for equal experiments."""
        return sha256(json.dumps(self.tree(), sort_keys=True).encode()).hexdigest()[:16]


def grid(preset: str, strategy: str, key: str) -> list:
    """The values of a strategy's setting that a preset would try."""
    grids = getattr(import_module(f"cassle.presets.{preset}"), "GRIDS", {}) if preset in presets() else {}
    if key not in grids.get(strategy, {}):
        known = [f"{key} with strategy={name}" for name, keys in grids.items() for key in keys]
        raise UserError(f"{key}=grid: {preset} has no such grid for {strategy}{registry.suggest(key, known) if known else ''}")
    return grids[strategy][key]


def presets() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in (registry.HERE / "presets").glob("[a-z]*.py"))


def _together(module: ModuleType, method: str, changes: Tree) -> Tree:
    """What the preset has for the method with the strategy."""
    strategy = _called(merge(module.PRESET["strategy"], changes.get("strategy", module.PRESET["strategy"])))
    pair = getattr(module, "PAIRS", {}).get((method, strategy), {})
    return merge({"strategy": {"name": strategy}}, pair) if pair else {}


def _budget(name: str, module: ModuleType, method: str, changes: Tree) -> list[Tree]:
    """What `budget=50` makes shorter: for all methods, then for this one."""
    if "budget" not in changes:
        return []
    budgets, wanted = getattr(module, "BUDGETS", {}), changes["budget"]
    if type(wanted) is not int or wanted not in budgets:
        there = f"there is: {', '.join(map(str, budgets))}; any other length is epochs=" if budgets else "say epochs= or steps="
        raise UserError(f"budget: {name} has none of {wanted!r} ({there})")
    shared, own = budgets[wanted]
    return [shared, own.get(method, {})]


def _called(component: object) -> str:
    """The name of a component that nobody has checked yet; nothing, if it has none."""
    name = component.get("name") if isinstance(component, dict) else component
    return name if isinstance(name, str) else ""


@cache
def _schema() -> dict[str, Setting]:
    """The fields above, as a component's settings are read."""
    node = next(n for n in ast.parse(Path(__file__).read_text("utf-8")).body if isinstance(n, ast.ClassDef))
    pairs = [(n.target.id, n) for n in node.body if isinstance(n, ast.AnnAssign)]
    return {key: Setting(n.annotation, ast.literal_eval(n.value) if n.value else REQUIRED) for key, n in pairs}


def _read(path: Path) -> Tree:
    """What a TOML file holds."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:  # that it is no UTF-8, or has a number of thousands of digits, is no TOML error
        raise UserError(f"{path}: is not TOML ({error})") from None
