"""The command line: thin, and quick to say what is wrong (nothing heavy is imported before the words are checked)."""

import itertools
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Annotated, Literal

import typer

from cassle import __version__, registry
from cassle.config import Tree, merge, override
from cassle.disk import check
from cassle.errors import UserError
from cassle.experiment import Experiment, grid, presets
from cassle.kinds import DEVICE, DEVICE_WORDS
from cassle.record import Record, runs_in

Change = tuple[str, str]
"""A value, and the `KEY=VALUE` that it is in."""

app = typer.Typer(
    help="Continual self-supervised learning: an encoder that learns from a stream of unlabelled images and keeps what it knew.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _device(text: str) -> str:
    if not re.fullmatch(DEVICE, text):
        raise UserError(f"--device: want {DEVICE_WORDS}, got {text!r}")
    return text


def _seconds(number: float) -> float:
    if not 0 <= number < math.inf:
        raise UserError(f"--save-every: want a number of seconds from 0, got {number}")
    return number


Changes = Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="e.g. method=byol strategy.weight=0.5 epochs=100")]
Out = Annotated[Path | None, typer.Option("--out", help="Where the run goes; the same command again continues it.")]
Device = Annotated[str, typer.Option("--device", callback=_device, help="cpu, cuda, cuda:1 ...; the GPU if there is one.")]
SaveEvery = Annotated[float, typer.Option("--save-every", callback=_seconds, help="Seconds between two saves of the resumable state.")]
Runs = Annotated[list[Path] | None, typer.Argument(metavar="[RUNS]...", help="Runs, or folders of some; `runs`, if not said.")]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="How many runs at a time, when there are several.")]


@app.command()
def train(
    preset: Annotated[str, typer.Argument(help="A preset (see `cassle list presets`) or a run's experiment.toml.")],
    changes: Changes = None,
    out: Out = None,
    device: Device = "auto",
    save_every: SaveEvery = 60.0,
    jobs: Jobs = None,
) -> None:
    """Learn a stream; killed or stopped, the same command continues. KEY=A,B runs both, side by side; KEY=grid what the preset would try."""
    experiments = _experiments(preset, changes or [])
    if len(experiments) == 1:
        experiment = next(iter(experiments.values()))
        place = out or Path("runs") / f"{Path(preset).stem}-{experiment.fingerprint[:8]}"
        _learn({place.name: experiment}, place.parent, device, save_every, 1)
    else:
        _learn(experiments, out or Path("runs") / Path(preset).stem, device, save_every, jobs)


@app.command()
def demo(out: Annotated[Path, typer.Option("--out")] = Path("runs/demo"), device: Device = "auto", save_every: SaveEvery = 60.0) -> None:
    """Fine-tuning and CaSSLe on images that ship with the package; then a page with what came out."""
    from cassle.presets.demo import ENTRIES

    records = _learn({name: Experiment.preset("demo", change) for name, change in ENTRIES.items()}, out, device, save_every, None)
    _report([record.path for record in records], out / "report.html")


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders that hold some.")],
    out: Annotated[Path, typer.Option("--out", help="The page to write.")] = Path("report.html"),
) -> None:
    """One self-contained page: accuracy over tasks, matrices, losses, embeddings, neighbours."""
    _report(runs, out)


@app.command("list")
def list_(
    what: Annotated[Literal["methods", "strategies", "datasets", "probes", "presets"], typer.Argument()],
    markdown: Annotated[bool, typer.Option("--markdown", help="As a table.")] = False,
) -> None:
    """What there is to choose from."""
    room = {"datasets": "data", "probes": "evaluation"}.get(what, what)
    for name in presets() if what == "presets" else registry.names(room):
        print(f"| `{name}` | {registry.summary(room, name)} |" if markdown else f"{name:22}{registry.summary(room, name)}")


@app.command()
def show(preset: Annotated[str, typer.Argument()], changes: Changes = None) -> None:
    """The resolved experiment as TOML, headed by what the paper has for it."""
    from cassle.paper.expected import expected

    experiments = _experiments(preset, changes or [])
    for name, experiment in experiments.items():
        heads = [name] * (len(experiments) > 1) + expected(experiment)
        print("".join(f"# {line}\n" for line in heads) + experiment.toml(), end="")


@app.command()
def table(
    number: Annotated[str, typer.Argument(help="2 to 15; the appendix's A to F are 10 to 15.")],
    runs: Runs = None,
    format: Annotated[Literal["text", "markdown", "latex", "csv"], typer.Option("--format")] = "text",
    out: Annotated[Path | None, typer.Option("--out", help="The file to write, instead of the terminal.")] = None,
) -> None:
    """A table of the paper: our numbers beside its own, and in what the runs differ from its."""
    from cassle.paper.comparison import compared
    from cassle.paper.formats import FORMATS
    from cassle.reports.sheet import put

    text = FORMATS[format](compared(number, runs or []))
    put(out, lambda path: path.write_text(text + "\n", "utf-8")) if out else print(text)


@app.command()
def figure(
    name: Annotated[Literal["teaser", "evolution"], typer.Argument()],
    runs: Runs = None,
    out: Annotated[Path | None, typer.Option("--out", help="FILE.png or FILE.svg; without either, both.")] = None,
) -> None:
    """A figure of the paper from our runs: what CaSSLe gains (teaser), strategies over tasks (evolution)."""
    from cassle.paper.figures import figure

    print("\n".join(f"figure: {path}" for path in figure(name, runs or [], out or Path(name))))


@app.command()
def reproduce(
    number: Annotated[str, typer.Argument(metavar="TABLE", help="table2, say.")],
    budget: Annotated[int | None, typer.Option("--budget", help="Epochs a task, of those that the presets have: 50 or 100.")] = None,
    seeds: Annotated[str, typer.Option("--seeds", help="5,6,7, say; the preset's, if not said.")] = "",
    grid: Annotated[bool, typer.Option("--grid", help="Also tune what the paper tuned.")] = False,
    gpus: Annotated[str, typer.Option("--gpus", help="0,1, say: one run on each at a time.")] = "",
    plan: Annotated[bool, typer.Option("--plan", help="Only say what is missing and how long it will take.")] = False,
    out: Out = None,
    device: Device = "auto",
    save_every: SaveEvery = 60.0,
    jobs: Jobs = None,
) -> None:
    """Make a table of the paper: run what is missing of it, then print it; killed or stopped, the same command continues."""
    from cassle.paper.plan import planned
    from cassle.paper.reproduce import check, make, numbers

    places = numbers(gpus, "--gpus")
    wanted = planned(number, out, budget=budget, seeds=numbers(seeds, "--seeds"), tuned=grid)
    if not plan:
        check(wanted, places)
    print(wanted.said(jobs or len(places) or 1))
    if not plan:
        with _stoppable():
            make(wanted, places, device=device, jobs=jobs, save_every=save_every)
        print(wanted.filled())


@app.command()
def data(
    name: Annotated[str, typer.Argument(help="See `cassle list datasets`.")],
    root: Annotated[Path | None, typer.Option("--root", help="Where to put it; $CASSLE_DATA or ~/.cache/cassle.")] = None,
) -> None:
    """Fetch a data set, or say what to put where."""
    source = registry.find("data", name, "data")
    fetch = registry.companion(source, "fetch")
    print(fetch(root) if fetch else f"{name} ships with the package: nothing to fetch")


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Runs a command; what the user can put right is one line and exit code 2."""
    usage_error = typer.BadParameter.__base__  # wherever this version of typer keeps it
    try:
        sys.exit(app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0)
    except (UserError, usage_error, OSError) as error:
        text = error.format_message() if isinstance(error, usage_error) else str(error)
        if isinstance(error, OSError):
            text = f"{error.filename}: {error.strerror}" if error.filename else text
        if _leads() or type(error).__name__ == "Lost":
            print("cassle: " + re.sub(r"\s+", " ", text), file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)


def _experiments(preset: str, changes: list[str]) -> dict[str, Experiment]:
    """One experiment, or one for every combination where a value is a list of alternatives."""
    choices = [_alternatives(text) for text in changes]
    several = [len(options) > 1 or options[0][0] == "grid" for options in choices]
    found = {}
    for combination in itertools.product(*choices):
        for chosen in itertools.product(*_with_grids(preset, combination)):
            name = "-".join(value for (value, _), varies in zip(chosen, several) if varies) or "run"
            found[re.sub(r"[^\w.+-]+", "_", name).strip("_")] = Experiment.preset(preset, _merged(chosen))
    return found


def _merged(changes: Iterable[Change]) -> Tree:
    return reduce(merge, (override(text) for _, text in changes), {})


def _with_grids(preset: str, changes: Sequence[Change]) -> list[list[Change]]:
    """Each change by itself; in `grid`'s place the values that the preset has for the strategy, as all the others make it."""
    if not any(value == "grid" for value, _ in changes):
        return [[change] for change in changes]
    strategy = Experiment.preset(preset, _merged(change for change in changes if change[0] != "grid")).strategy.name
    found = []
    for value, text in changes:
        key = text.partition("=")[0]
        found.append([(str(v), f"{key}={v}") for v in grid(preset, strategy, key)] if value == "grid" else [(value, text)])
    return found


def _alternatives(text: str) -> list[Change]:
    """Each value after `=`, and the change that it makes: values may be several, with commas between them."""
    key, _, value = text.partition("=")
    return [(v, f"{key}={v}") for v in _split(value)] or [(value, text)]


def _split(value: str) -> list[str]:
    """At the commas that stand outside brackets, braces and quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in value:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "[{") - (letter in "]}")
        if letter == "," and depth <= 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _learn(experiments: dict[str, Experiment], out: Path, device: str, save_every: float, jobs: int | None) -> list[Record]:
    """Run, with a display, and print what was measured."""
    records = [Record(out / name) for name in experiments]
    for record, experiment in zip(records, experiments.values()):
        record.check(experiment)
        experiment.check()
    from cassle.distributed import place
    from cassle.reports.live import Live
    from cassle.reports.table import printed
    from cassle.run import run
    from cassle.sweep import decode, sweep

    place(device)
    decode(experiments.values())
    with _stoppable(), Live(list(experiments) if _leads() else []) as live:
        if len(experiments) == 1 or "RANK" in os.environ:
            for name, experiment in experiments.items():
                run(experiment, out / name, device=device, save_every=save_every, watch=lambda p: live.tell(name, p))
        else:
            sweep(experiments, out, jobs=jobs, device=device, save_every=save_every, watch=live.tell)
    if _leads():
        printed(records)
    return records


@contextmanager
def _stoppable() -> Iterator[None]:
    """Say where a run was stopped, and leave."""
    from cassle.run import Stopped

    try:
        yield
    except Stopped as where:
        if _leads():
            print(f"cassle: stopped at {where}; the same command continues from there", file=sys.stderr)
        sys.exit(130)


def _leads() -> bool:
    """Of the processes that `torchrun` started, one speaks for all."""
    return os.environ.get("RANK", "0") == "0"


def _report(runs: list[Path], out: Path) -> None:
    places = runs_in(runs, "accuracy.json")
    check(out)
    from cassle.reports.page import write_page

    print(f"report: {write_page(places, out)}")
