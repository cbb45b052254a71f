"""A table of the runs under a folder, into a page of `benchmarks/`, with what it takes to get it again.

    PYTHONPATH=. python benchmarks/table.py runs/methods benchmarks/methods.md "cassle train demo method=... --out runs/methods"

With `--across linear`, say, a row is a strategy, and every method has its A, F and FT by that probe side by side, as in the paper's Table 2.
"""

import argparse
import json
import re
import subprocess
import time
from pathlib import Path

from cassle.record import Record

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.S)


def rows(folder: Path) -> list[str]:
    """Method by method, strategy by strategy: accuracy at the end, forgetting, transfer, and what random weights have."""
    lines = ["| method | strategy | linear A | F | FT | k-NN A | F | FT | k-NN of random weights | rank |", "|---" * 10 + "|"]
    for path in sorted(folder.iterdir()):
        if not (path / "accuracy.json").is_file():
            continue
        record = Record(path)
        tree, accuracy = record.experiment().tree(), record.accuracy()
        own = [f"`{tree['method']['name']}`", _strategy(tree["strategy"])]
        for probe in ("linear", "knn"):
            own += [_number(accuracy[probe][key]) for key in ("average", "forgetting", "forward_transfer")]
        random = sum(accuracy["knn"]["R"]) / len(accuracy["knn"]["R"])
        above = "" if accuracy["knn"]["average"] > random else " **(not above)**"
        lines.append("| " + " | ".join([*own, _number(random) + above, _number(record.health()["rankme"][-1])]) + " |")
    return lines


def across(folder: Path, probe: str) -> list[str]:
    """Strategy by strategy, each method's A, F and FT."""
    records = [Record(path) for path in sorted(folder.iterdir()) if (path / "accuracy.json").is_file()]
    trees = [record.experiment().tree() for record in records]
    methods = sorted({tree["method"]["name"] for tree in trees}, key=["simclr", "barlow_twins", "byol"].index)
    found = {(_strategy(tree["strategy"]), tree["method"]["name"]): record.accuracy()[probe] for tree, record in zip(trees, records)}
    lines = ["| strategy | " + " | ".join(f"`{m}` A | F | FT" for m in methods) + " |", "|---" * (1 + 3 * len(methods)) + "|"]
    for strategy in dict.fromkeys(name for name, _ in found):
        cells = []
        for method in methods:
            values = found.get((strategy, method), {})
            cells += [_number(values.get(key)) for key in ("average", "forgetting", "forward_transfer")]
        lines.append(f"| {strategy} | " + " | ".join(cells) + " |")
    R = [value for record in records for value in record.accuracy()[probe]["R"]]
    return [*lines, f"| random weights | {_number(sum(R) / len(R))} |" + " |" * (3 * len(methods) - 1)]


def _strategy(tree: dict) -> str:
    from cassle.config import component

    default = component("strategies", tree["name"], "strategy").tree()
    changed = [f"{key}={json.dumps(value)}" for key, value in tree.items() if default.get(key) != value and key != "hidden"]
    return f"`{tree['name']}`" + (f" {', '.join(changed)}" if changed else "")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("page", type=Path, help="has the lines <!-- measured --> and <!-- end -->, between which this writes")
    parser.add_argument("command", help="that made the runs")
    parser.add_argument("--across", metavar="PROBE", nargs="+", default=[])
    args = parser.parse_args()
    some = next(path for path in sorted(args.runs.iterdir()) if (path / "environment.json").is_file())
    machine = Record(some).environment()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    about = f"{machine['device']}, {machine['cores']} cores; torch {machine['torch']}, Python {machine['python']}; commit {commit}; {time.strftime('%Y-%m-%d')}."
    body = [line for probe in args.across for line in (f"By {probe}:", "", *across(args.runs, probe), "")]
    text = "\n".join([f"```sh\n{args.command}\n```\n", *(body if args.across else rows(args.runs)), "", about, ""])
    args.page.write_text(BLOCK.sub(lambda m: m[1] + text + m[2], args.page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
