"""Put what `make demo` measured into `benchmarks/demo.json` and the README.

    PYTHONPATH=. python benchmarks/demo.py runs/demo
"""

import json
import re
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from cassle.presets.demo import ENTRIES
from cassle.record import Record
from cassle.reports.table import markdown, rows

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- measured: benchmarks/demo.py -->\n).*?(\n<!-- end -->)", re.S)


def main() -> None:
    records = [Record(Path(sys.argv[1]) / name) for name in ENTRIES]
    stamps = [line[:19] for record in records for line in (record.path / "log.txt").read_text().splitlines()]
    first, last = (datetime.fromisoformat(pick(stamps)) for pick in (min, max))
    measured = {
        "command": "make demo",
        "date": time.strftime("%Y-%m-%d"),
        "commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip(),
        "seconds of training and evaluation": (last - first).total_seconds(),
        "environment": records[0].environment(),
        "table": rows(records),
    }
    (ROOT / "benchmarks/demo.json").write_text(json.dumps(measured, indent=1) + "\n")
    readme = (ROOT / "README.md").read_text("utf-8")
    (ROOT / "README.md").write_text(BLOCK.sub(lambda m: m[1] + markdown(measured["table"]) + m[2], readme), "utf-8")


if __name__ == "__main__":
    main()
