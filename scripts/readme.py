"""Bring the README's lists up to date: `PYTHONPATH=. python scripts/readme.py`."""

import re
from pathlib import Path

from cassle import registry

README = Path(__file__).parents[1] / "README.md"


def main() -> None:
    text = README.read_text("utf-8")
    for what, room in {"methods": "methods", "strategies": "strategies", "probes": "evaluation", "datasets": "data"}.items():
        rows = "".join(f"| `{name}` | {registry.summary(room, name)} |\n" for name in registry.names(room))
        text = re.sub(rf"(<!-- cassle list {what} --markdown -->\n[^\n]*\n\|---\|---\|\n).*?(<!-- end -->)", lambda m: m[1] + rows + m[2], text, flags=re.S)
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
