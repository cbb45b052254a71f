"""The house's rules, enforced: who may import whom, how long a file may be, what nobody may write."""

import ast
import re
from pathlib import Path

import pytest

from cassle import registry

HOUSE = Path(registry.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))
FLOOR = {"clock", "config", "disk", "distributed", "environment", "errors", "kinds", "randomness", "registry", "typing"}
MAY_IMPORT = {  # besides the floor and its own room
    "losses": set(),
    "networks": set(),
    "data": set(),
    "augment": set(),
    "methods": {"losses", "networks"},
    "strategies": {"losses", "networks", "methods"},
    "evaluation": {"networks", "data", "augment"},
    "training": {"strategies", "methods", "losses", "networks", "data"},
    "experiment": {"presets"},
    "record": {"experiment"},
    "run": {"experiment", "record", "training", "evaluation", "augment", "data", "networks"},
    "sweep": {"experiment", "record", "run", "training"},
    "reports": {"experiment", "record", "training", "evaluation", "networks", "data"},
    "paper": {"experiment", "record", "presets", "reports", "sweep", "training"},
    "cli": {"experiment", "record", "run", "sweep", "presets", "reports", "paper"},
    "presets": {"presets"},
    "__main__": {"cli"},
}
NOT_FOR_METHODS = {"config", "registry", "environment", "disk"}


def room(path):
    part = path.relative_to(HOUSE).parts[0]
    return part.removesuffix(".py")


def imports(path):
    """Rooms of ours, and packages of others, that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            first, *rest = name.split(".")
            if first == "cassle":
                yield from ([rest[0]] if rest else [alias.name for alias in getattr(node, "names", [])])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_a_room_imports_only_what_lies_below_it(path):
    here = room(path)
    if here == "__init__":
        return
    allowed = FLOOR if here in FLOOR else FLOOR | {here} | MAY_IMPORT[here]
    found = {name for name in imports(path) if (HOUSE / name).exists() or (HOUSE / f"{name}.py").exists()}
    assert found <= allowed, f"{path.name} must not import {found - allowed}"
    if here in ("methods", "losses", "networks"):
        assert not found & NOT_FOR_METHODS
    if here == "strategies":
        assert {n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom) and re.match(r"cassle\.methods\.(?!method$)", n.module)} == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_a_file_is_short_says_what_it_is_and_reads_nothing_that_executes(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 300
    assert ast.get_docstring(ast.parse(text)), "no docstring"
    for forbidden in ("torch.load(", "pickle", "strict=False", "hasattr(", "NotImplementedError", "eval(compile", "exec("):
        assert forbidden not in text or (forbidden, path.name) == ("pickle", "archive.py"), forbidden
    if path.name != "distributed.py":
        assert "torch.distributed" not in text and "torch import distributed" not in text
    assert path.stem not in ("utils", "common", "helpers", "misc")
    assert not re.search(r"class (Base\w*|\w+(Wrapper|Manager|Func))\b", text)


def test_every_component_s_settings_can_be_read_without_importing_it():
    for path in registry.ROOMS:
        found = registry.names(path)
        assert found, path
        for name in found:
            registry.schema(path, name, "")


def test_checking_words_does_not_import_torch():
    import subprocess
    import sys

    code = """
import sys
from cassle.cli import _experiments
from cassle.record import Record
for experiment in _experiments("demo", ["method=simclr,byol"]).values():
    Record("nowhere/at/all").check(experiment)
from pathlib import Path
from cassle.paper.comparison import compared
from cassle.paper.formats import as_text
from cassle.paper.plan import planned
assert as_text(compared("2", [])) and planned("6", Path("nowhere"), budget=50, seeds=[5], tuned=True).said(1)
assert not {"torch", "numpy", "matplotlib"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
