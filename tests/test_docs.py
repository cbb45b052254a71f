"""Documents say what is so: symbols and files exist, tables are those that were measured."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from cassle import registry

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "benchmarks").glob("*.md"))]


@pytest.mark.parametrize("symbol", sorted(set(re.findall(r"`(cassle\.[\w.]+)`", (ROOT / "docs/paper_to_code.md").read_text()))))
def test_every_equation_leads_to_something(symbol):
    parts = symbol.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
            break
        except ModuleNotFoundError:
            continue
    for name in parts[cut:]:
        found = getattr(found, name)
    assert found.__doc__ or parts[-1] in ("forward", "penalty", "loss")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_are_there(page):
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(r"`([\w./]+/[\w.]+\.(?:py|md|toml|json))`", text):
        assert (ROOT / name).exists() or (ROOT / "cassle" / name).exists(), name


def test_each_place_where_paper_and_code_differ_is_in_the_table():
    marked = [path for path in (ROOT / "cassle").rglob("*.py") if "# paper != code:" in path.read_text("utf-8")]
    page = (ROOT / "docs/paper_vs_code.md").read_text("utf-8")
    assert len(marked) >= 6 and page.count("\n| ") > len(marked)


def test_the_readme_lists_every_component_and_draws_the_tree():
    readme = (ROOT / "README.md").read_text("utf-8")
    for room in ("methods", "strategies", "evaluation", "data"):
        table = "\n".join(f"| `{name}` | {registry.summary(room, name)} |" for name in registry.names(room))
        assert table in readme, f"{room}: run `python scripts/readme.py`"
    assert all(f"`{name}`" in readme for name in registry.names("data/streams"))
    tree = readme[readme.index("cassle/\n") :]
    for path in (ROOT / "cassle").iterdir():
        if not path.name.startswith("__"):
            assert path.name in tree, path.name


def test_the_readme_s_table_is_the_measured_one():
    from cassle.reports.table import markdown

    measured = json.loads((ROOT / "benchmarks/demo.json").read_text())
    assert markdown(measured["table"]) in (ROOT / "README.md").read_text("utf-8")


def test_the_method_that_the_readme_adds_works(tmp_path, monkeypatch, tiny):
    from cassle.evaluation.matrix import average
    from cassle.run import run

    code = next(block for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S) if "class AlignUniform" in block)
    (tmp_path / "added.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    method = {"name": "added:AlignUniform", "projector": [16, 8]}
    accuracy = run(tiny({"method": method}), tmp_path / "run", until=2)
    assert average(accuracy["knn"]["A"]) > 0 and len(accuracy["knn"]["A"]) == 2
