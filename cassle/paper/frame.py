"""What the figures share: colours, the legend, what must be said below, and the files."""

import textwrap
from pathlib import Path

from cassle.paper.matching import Found
from cassle.reports.sheet import put

KINDS = (".png", ".svg")
BLUE, GREEN, RED, INK, MUTED = "#3b6fb6", "#4aa564", "#c8372d", "#222222", "#6f6f6f"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.titlesize": 10,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.hashsalt": "cassle",
    "svg.fonttype": "none",
    "legend.frameon": False,
}
LOOKS = {
    "Fine-tuning": (BLUE, "o"),
    "EWC": ("#a8762a", "v"),
    "ER": ("#8d6cab", "s"),
    "DER": ("#c774a5", "D"),
    "LUMP": ("#3aa7b0", "^"),
    "Less-Forget": ("#8a8a34", "P"),
    "POD": ("#d9822b", "X"),
    "CaSSLe": (GREEN, "o"),
}
"""A colour and a marker for every strategy of Table 2."""
ALONE, SUPERVISED = "CaSSLe, alone or below fine-tuning", "supervised fine-tuning"
PUBLISHED = [f"paper: {word}" for word in ("fine-tuning", "CaSSLe", SUPERVISED)]
ORDER = ["fine-tuning", "CaSSLe's gain", ALONE, SUPERVISED, *PUBLISHED, *LOOKS, "Offline"]
"""Of the legend."""


def told(drawn, found: dict[str, Found], *sentences: str) -> None:
    """A legend that names everything once, and below it in what the numbers differ from the paper's."""
    named = {label: handle for axes in drawn.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    ordered = sorted(named, key=ORDER.index)
    columns = max(1, int(drawn.get_figwidth() / (0.4 + 0.06 * max(map(len, ordered)))))
    drawn.legend([named[label] for label in ordered], ordered, loc="outside upper center", ncols=columns, fontsize=8)
    sentences = list(sentences)
    for mark in dict.fromkeys(mark for f in found.values() for mark in f.marks):
        where = [name for name, f in found.items() if mark in f.marks]
        few = ", ".join(where) if len(where) < 4 else f"{len(where)} of {len(found)}"
        sentences.append(mark if len(where) == len(found) else f"{few}: {mark}")
    lines = textwrap.wrap("; ".join(sentences), int(18 * drawn.get_figwidth()))
    if lines:
        drawn.supxlabel("\n".join(lines), fontsize=6.5, color=MUTED, x=0.01, ha="left")
    drawn.set_figheight(drawn.get_figheight() + 0.1 * len(lines) + 0.18 * -(-len(ordered) // columns))


def written(drawn, path: Path) -> Path:
    dated = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 200}
    put(path, lambda place: drawn.savefig(place, format=path.suffix[1:], **dated))
    return path
