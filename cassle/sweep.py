"""Several experiments side by side; what they have in common is learned once."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread

import torch

from cassle.environment import StopSignal
from cassle.errors import UserError
from cassle.experiment import Experiment
from cassle.record import Record
from cassle.registry import load
from cassle.run import Stopped, run
from cassle.training import checkpoint
from cassle.training.log import Progress


@dataclass(frozen=True)
class Job:
    """One call of `run` in a process of its own."""

    name: str
    experiment: Experiment
    out: Path
    until: int | None = None


def sweep(
    experiments: Mapping[str, Experiment],
    out: Path | str,
    *,
    jobs: int | None = None,
    device: str = "auto",
    save_every: float = 60.0,
    watch: Callable[[str, Progress], None] = lambda name, progress: None,
) -> None:
    """Run every experiment into `out/NAME`, `jobs` at a time: as many as there are cores, or two on a GPU, if not said.

    On the first task a strategy that has nothing to keep yet is fine-tuning, bit for bit: experiments that differ in
    such a strategy alone share it.
    """
    places = {name: Path(out) / name for name in experiments}
    for name, experiment in experiments.items():
        Record(places[name]).check(experiment)
    limit = jobs or (2 if device != "cpu" and torch.cuda.is_available() else os.cpu_count() or 1)
    families = _families(experiments)
    donors = [Job(family[0], experiments[family[0]], places[family[0]], until=1) for family in families if len(family) > 1]
    _side_by_side(donors, limit, device, save_every, watch)
    for family in families:
        for name in family[1:]:
            _adopt(Record(places[family[0]]), Record(places[name]), experiments[name])
    _side_by_side([Job(name, e, places[name]) for name, e in experiments.items()], limit, device, save_every, watch)


def _families(experiments: Mapping[str, Experiment]) -> list[list[str]]:
    """Names of experiments whose first task is the same."""
    families: dict[str, list[str]] = {}
    for name, experiment in experiments.items():
        strategy = experiment.strategy
        tree = experiment.tree()
        if load(strategy.room, strategy.name, "strategy").indifferent_to_the_first_task():
            tree = tree | {"strategy": None}
        families.setdefault(json.dumps(tree, sort_keys=True), []).append(name)
    return list(families.values())


def _adopt(donor: Record, heir: Record, experiment: Experiment) -> None:
    """Give the heir what the donor learned in its first task, if that is where they both are."""
    found = checkpoint.newest(donor.last)
    if not found or checkpoint.newest(heir.last) or (found.facts["task"], found.facts["finished"]) != (0, True):
        return
    with heir.claim(experiment):
        heir.last.mkdir(exist_ok=True)
        for name in ("metrics.jsonl", "accuracy.json", "classes.json", "health.json", "cost.json", "task0.safetensors", f"last/{found.path.name}"):
            shutil.copyfile(donor.path / name, heir.path / name)
        shutil.copyfile(found.path.with_suffix(".json"), heir.last / "000000.json.copying")
        manifest = heir.last / found.path.with_suffix(".json").name
        os.replace(heir.last / "000000.json.copying", manifest)  # last: it vouches for the rest


def _side_by_side(jobs: list[Job], limit: int, device: str, save_every: float, watch: Callable[[str, Progress], None]) -> None:
    """Run jobs in processes, at most `limit` at a time, the cores divided among them.

    An error in one, or a request to stop, lets the others save their state; then it is raised here.
    """
    if not jobs:
        return
    context, waiting, running = get_context("spawn"), list(jobs), {}
    threads = max(1, torch.get_num_threads() // min(limit, len(jobs)))
    end: Exception | None = None
    with StopSignal() as stop:
        while running or (waiting and end is None):
            while waiting and end is None and len(running) < limit:
                job = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(job, threads, device, save_every, theirs), daemon=True)
                process.start()
                theirs.close()
                running[ours] = (job, process)
            for pipe in wait(list(running), timeout=0.5):
                job, process = running[pipe]
                try:
                    news = pipe.recv()
                except EOFError:
                    process.join()
                    del running[pipe]
                    news = RuntimeError(f"the process of {job.name} ended with {process.exitcode}") if process.exitcode else None
                if isinstance(news, Progress):
                    watch(job.name, news)
                end = end or (news if isinstance(news, Exception) else None)
            if stop.asked:
                end = end or Stopped("a request")
            if end is not None:
                for _, process in running.values():
                    process.terminate()  # which asks it to save its state and stop
    if end is not None:
        raise end


def _work(job: Job, threads: int, device: str, save_every: float, pipe: Connection) -> None:
    """In a process of its own: run, and tell the parent."""
    torch.set_num_threads(threads)
    Thread(target=_die_with_the_parent, daemon=True).start()
    try:
        run(job.experiment, job.out, device=device, save_every=save_every, until=job.until, watch=pipe.send)
    except (Stopped, UserError) as end:
        pipe.send(end)


def _die_with_the_parent() -> None:
    """A killed sweep must leave nobody behind who holds its runs."""
    wait([parent_process().sentinel])
    os._exit(1)
