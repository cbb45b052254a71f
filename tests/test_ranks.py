"""Several processes learn what one would: every strategy's step in value and gradient, and whole runs through a death."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from cassle import registry

STEPS = """
import sys
from itertools import islice
from pathlib import Path
import torch
from cassle import distributed
from cassle.clock import Clock
from cassle.data.batches import Batches
from cassle.experiment import Experiment
from cassle.record import Record
from cassle.run import Course

torch.set_num_threads(1)
cpu, out = torch.device("cpu"), Path(sys.argv[1])


def found(experiment):
    course = Course(experiment, Record(out / "never"), cpu, 60, print)
    course.learner.augment.double()
    for task in course.tasks[:2]:
        batches = Batches(course.dataset.train, task, experiment.batch_size)
        clock = Clock(experiment.seed, task.number, batches.epoch_steps, 4, 0, cpu)
        course._begin(task)
        learner = course.learner.double().train()
        forward = distributed.parallel(learner)
        for _ in range(2):  # the second meets what the first left in queues
            learner.zero_grad()
            losses = forward(batches(clock))
            losses.total.backward()
            with torch.no_grad():
                learner.method.after_step(clock, losses.now, losses.batch)
                learner.strategy.after_step(clock, losses.now, losses.batch)
            clock.tick()
        if task.first:
            learner.strategy.end_task(task, learner.method, islice(course._again(batches, clock), 3))
    mean = distributed.summed(losses.total.detach()) / distributed.world()
    gradients = {f"gradient of {k}": p.grad for k, p in learner.named_parameters() if p.grad is not None}
    return {"loss": mean} | gradients | {k: b.clone() for k, b in learner.named_buffers() if b.is_floating_point()}


with distributed.team(cpu):
    all = {path.stem: found(Experiment.preset(str(path))) for path in sorted(out.glob("*.toml"))}
    if distributed.rank() == 0:
        torch.save(all, out / str(distributed.world()))
"""


def launched(n: int, *command: str, **more) -> subprocess.Popen:
    """`command` in n processes, as one job."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.Popen([*start, *command], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, **more)


def test_two_processes_take_the_steps_that_one_would(tiny, tmp_path):
    for strategy in registry.names("strategies"):
        settings = {name: n for name, n in {"batch": 8, "hidden": 16}.items() if name in registry.schema("strategies", strategy, "")}
        (tmp_path / f"{strategy}.toml").write_text(tiny({"strategy": {"name": strategy} | settings}).toml())
    (tmp_path / "steps.py").write_text(STEPS)
    for process in [launched(n, str(tmp_path / "steps.py"), str(tmp_path)) for n in (1, 2)]:
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 0, said
    alone, both = (torch.load(tmp_path / n, weights_only=True) for n in "12")
    assert alone.keys() == both.keys() == set(registry.names("strategies"))
    for strategy, found in alone.items():
        assert found.keys() == both[strategy].keys() and len(found) > 30
        for name, value in found.items():
            scale = max(1e-3, float(value.abs().max())) if value.numel() else 1.0
            torch.testing.assert_close(both[strategy][name], value, rtol=1e-9, atol=1e-9 * scale, msg=lambda text: f"{strategy}: {name}: {text}")


def losses(run: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_a_job_of_two_survives_the_death_of_one(tiny, tmp_path):
    from cassle.run import run

    changes = {"steps": 20, "strategy": {"name": "er", "batch": 8, "capacity": 16}}
    (tmp_path / "mine.toml").write_text(tiny(changes).toml())
    command = ["-m", "cassle", "train", str(tmp_path / "mine.toml"), "--device", "cpu", "--save-every", "0"]
    whole = launched(2, *command, "--out", str(tmp_path / "whole"))
    broken = launched(2, *command, "--out", str(tmp_path / "broken"))
    while not (found := list((tmp_path / "broken" / "last").glob("*.json"))) and broken.poll() is None:
        time.sleep(0.05)
    children = subprocess.run(["pgrep", "-P", str(broken.pid)], capture_output=True, text=True).stdout.split()
    assert found and len(children) == 2
    os.kill(int(children[1]), signal.SIGKILL)
    said = broken.communicate(timeout=60)[1]
    assert broken.returncode and "cassle: process 0 lost another" in said or "Signal 9" in said
    again = launched(2, *command, "--out", str(tmp_path / "broken"))
    assert [process.communicate(timeout=180) and process.returncode for process in (whole, again)] == [0, 0]
    for path in ("metrics.jsonl", "accuracy.json", "task0.safetensors", "task2.safetensors"):
        assert (tmp_path / "broken" / path).read_bytes() == (tmp_path / "whole" / path).read_bytes()
    run(tiny(changes), tmp_path / "alone", device="cpu")
    assert losses(tmp_path / "whole")[:2] == pytest.approx(losses(tmp_path / "alone")[:2], rel=1e-3)


@pytest.mark.parametrize("change, said", [({"batch_size": 15}, "2 processes cannot share"), ({"method": "simcler"}, "did you mean 'simclr'")])
def test_an_error_is_said_once(change, said, tiny, tmp_path):
    text = tiny({"batch_size": change.get("batch_size", 16)}).toml()
    (tmp_path / "mine.toml").write_text(text.replace('"simclr"', f'"{change.get("method", "simclr")}"'))
    job = launched(2, "-m", "cassle", "train", str(tmp_path / "mine.toml"), "--device", "cpu", "--out", str(tmp_path / "run"))
    lines = [line for line in job.communicate(timeout=120)[1].splitlines() if line.startswith("cassle: ")]
    assert job.returncode and len(lines) == 1 and said in lines[0]


@pytest.mark.slow
def test_a_silent_process_ends_the_job(tiny, tmp_path):
    (tmp_path / "mine.toml").write_text(tiny({"steps": 2000}).toml())
    job = launched(2, "-m", "cassle", "train", str(tmp_path / "mine.toml"), "--device", "cpu", "--save-every", "0", "--out", str(tmp_path / "run"))
    while not list((tmp_path / "run" / "last").glob("*.json")):
        time.sleep(0.1)
    children = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, text=True).stdout.split()
    os.kill(int(children[1]), signal.SIGSTOP)
    said = job.communicate(timeout=120)[1]
    assert job.returncode and "cassle: process 0 lost another" in said
