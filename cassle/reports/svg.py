"""An empty figure, and how it becomes a part of the page: colours and letters come from around it."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO

COLOURS = 8
"""How many the page has for runs, and as many for columns; what comes after them takes them again, dashed or square."""
INK, MUTED, RULE = "#fd0000", "#fd0001", "#fd0002"
"""Stand-ins for the page's variables: matplotlib knows none."""

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cassle",
    "path.simplify": False,
    "font.size": 10.5,
    "axes.edgecolor": RULE,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "axes.axisbelow": True,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "text.color": INK,
    "lines.solid_capstyle": "round",
}


def of_run(number: int | None) -> str:
    """The colour of a run, or of random weights."""
    return MUTED if number is None else f"#fe00{number % COLOURS:02d}"


def of_column(number: int) -> str:
    """The colour of the test images of a column."""
    return f"#fe01{number % COLOURS:02d}"


def again(number: int | None) -> bool:
    """Whether the colour has been given before."""
    return number is not None and number % (2 * COLOURS) >= COLOURS


@contextmanager
def figure(width: float, height: float) -> Iterator[tuple[object, Callable[[], str]]]:
    """An empty figure, and what turns it into text."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that matplotlib's own font lacks; the page's font has them
        empty = Figure(figsize=(width / 72, height / 72))
        empty.patch.set_visible(False)

        def finished() -> str:
            text = StringIO()
            empty.savefig(text, format="svg", metadata={"Date": None})
            return _inline(text.getvalue())

        yield empty, finished


def _inline(svg: str) -> str:
    """What a page needs of it: no prologue or style of its own, no ids that could meet others, the page's colours and font."""
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r"<[^>]*>", lambda tag: _tidied(tag[0]), svg)
    svg = re.sub(r"<defs>.*?</defs>|<g/>", "", svg, flags=re.S)  # nothing is clipped
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"<g>\s*</g>", "", svg))


def _tidied(tag: str) -> str:
    """One tag without what the page says better."""
    tag = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 aria-hidden="true">', tag)
    tag = re.sub(r' (id|clip-path)="[^"]*"| transform="rotate\(-0 [^"]*"|font-family: [^;"]*; ?', "", tag)
    tag = re.sub(r"(\d+\.\d\d)\d+", r"\1", tag)
    tag = re.sub(r"M (\S+ \S+) \nL \1 \n", r"M\1h0", tag)  # dots
    tag = re.sub(r"#fe0([01])0(\d)", lambda found: f"var(--{'rc'[int(found[1])]}{found[2]})", tag)
    return tag.replace(INK, "var(--ink)").replace(MUTED, "var(--muted)").replace(RULE, "var(--rule)")
