"""Several experiments side by side; what they have in common is learned once."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread

import torch

from cassle.config import Component
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
    device: str | Sequence[str] = "auto",
    save_every: float = 60.0,
    watch: Callable[[str, Progress], None] = lambda name, progress: None,
    until: Mapping[str, int] | None = None,
    patient: bool = False,
) -> None:
    """Run every experiment into `out/NAME`, `jobs` at a time: as many as there are cores, or two on a GPU, if not said.

    On the first task a strategy that has nothing to keep yet is fine-tuning, bit for bit: experiments that differ in
    such a strategy alone share it.

    Args:
        device: one for all, or several to take turns on: then one run on each, if `jobs` are not said.
        until: how many tasks, of those that are not to be learned to the end.
        patient: an error in one run leaves the others alone, and is raised when they are done.
    """
    places = {name: Path(out) / name for name in experiments}
    for name, experiment in experiments.items():
        Record(places[name]).check(experiment)
    devices = _places(device, jobs)
    families = _families(experiments)
    donors = [Job(family[0], experiments[family[0]], places[family[0]], until=1) for family in families if len(family) > 1]
    failed = _side_by_side(donors, devices, save_every, watch, patient)
    for family in families:
        for name in family[1:]:
            _adopt(Record(places[family[0]]), Record(places[name]), experiments[name])
    left = [Job(name, e, places[name], (until or {}).get(name)) for name, e in experiments.items() if name not in failed]
    failed |= _side_by_side(left, devices, save_every, watch, patient)
    if failed:
        errors = "; ".join(f"{name}: {error}" for name, error in failed.items())
        raise UserError(f"{len(failed)} of {len(experiments)} runs failed: {errors}")


def decode(experiments: Iterable[Experiment]) -> None:
    """Images are decoded once for all runs, and with progress: before a display begins."""
    used = [part for e in experiments for part in (e.data, *(value for probe in e.probes for value in probe.settings.values()))]
    for data in {repr(part): part for part in used if isinstance(part, Component) and part.room == "data"}.values():
        data.build()


def _places(device: str | Sequence[str], jobs: int | None) -> list[str]:
    """A device for each of the runs that may go on at a time."""
    if isinstance(device, str):
        return [device] * (jobs or (2 if device != "cpu" and torch.cuda.is_available() else os.cpu_count() or 1))
    return [device[i % len(device)] for i in range(jobs or len(device))]


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


def _side_by_side(
    jobs: list[Job], devices: list[str], save_every: float, watch: Callable[[str, Progress], None], patient: bool
) -> dict[str, Exception]:
    """Run jobs in processes, at most one at a time for each of `devices`, the cores divided among them.

    An error in one, or a request to stop, lets the others save their state; then it is raised here.  Who is patient gets the
    errors, by name, when all others are done.
    """
    failed: dict[str, Exception] = {}
    if not jobs:
        return failed
    context, waiting, running = get_context("spawn"), list(jobs), {}
    threads, free = max(1, torch.get_num_threads() // min(len(devices), len(jobs))), list(devices)
    end: Exception | None = None
    with StopSignal() as stop:
        while running or (waiting and end is None):
            while waiting and end is None and free:
                job, device = waiting.pop(0), free.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(job, threads, device, save_every, theirs), daemon=True)
                process.start()
                theirs.close()
                running[ours] = (job, process, device)
            for pipe in wait(list(running), timeout=0.5):
                job, process, device = running[pipe]
                try:
                    news = pipe.recv()
                except EOFError:
                    process.join()
                    del running[pipe]
                    free.append(device)
                    news = _ended(job, process.exitcode) if process.exitcode else None
                if isinstance(news, Progress):
                    watch(job.name, news)
                if isinstance(news, Exception) and patient and not isinstance(news, Stopped):
                    failed[job.name] = news
                else:
                    end = end or (news if isinstance(news, Exception) else None)
            if stop.asked:
                end = end or Stopped("a request")
            if end is not None:
                for _, process, _ in running.values():
                    process.terminate()  # which asks it to save its state and stop
    if end is not None:
        raise end
    return failed


def _ended(job: Job, code: int) -> UserError:
    """What to say of a process that could not say it itself, or has printed it."""
    why = "killed, for want of memory maybe: take fewer --jobs" if code == -9 else f"its process ended with {code}"
    return UserError(f"{job.name}: {why}; the same command continues")


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
