"""Two steps of each preset, in its own precision and under its own probes, on a tiny stand-in of the files that its publisher gives out."""

import json

import pytest
import torch

from cassle.config import merge
from cassle.experiment import Experiment
from cassle.record import Record
from cassle.run import run
from tests.data.layouts import LAYOUTS

SMALL = {"backbone": {"name": "resnet10", "width": 4}, "views": {"size": 16}, "steps": 2, "batch_size": 8}


def stood_in(preset, data, changes):
    """The preset on other files, small; probes that take epochs take one."""
    found = Experiment.preset(preset, merge(SMALL | {"data": data}, changes))
    probes = [probe.tree() | ({"epochs": 1, "batch_size": 8} if probe.name == "sgd" else {}) for probe in found.probes]
    size = {} if found.test_size is None else {"test_size": 16}
    return Experiment.from_tree(found.tree() | {"probes": probes} | size)


METHODS = ("simclr", "barlow_twins", "byol", "swav", "vicreg", "mocov2plus", "supcon", "supervised")


@pytest.mark.parametrize(("preset", "method"), [("imagenet100", "byol"), ("domainnet", "swav"), *(("cifar100", method) for method in METHODS)])
def test_every_preset_trains_and_is_judged(preset, method, tmp_path, monkeypatch):
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path / "home"))
    torch.set_num_threads(1)
    queue = {"method": {"name": method, "queue": 64}} if method in ("mocov2plus", "swav") else {"method": method}
    experiment = stood_in(preset, LAYOUTS[preset](tmp_path / "data"), queue | {"strategy": "cassle"})
    accuracy = run(experiment, tmp_path / "run")
    tasks = 6 if preset == "domainnet" else 5
    assert list(accuracy) == [probe.label for probe in experiment.probes]
    assert all(len(judged["A"]) == tasks and len(judged["A"][0]) == tasks for judged in accuracy.values())
    assert [row["task"] for row in Record(tmp_path / "run").metrics()] == list(range(tasks))


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("cifar100", "imagenet100", "domainnet")])
def test_every_other_layout_trains_and_is_judged(layout, tmp_path, monkeypatch):
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path / "home"))
    torch.set_num_threads(1)
    cut = {"stream": {"name": "data_incremental", "tasks": 2}, "method": {"name": "simclr", "projector": [16, 8]}, "batch_size": 2}
    experiment = stood_in("demo", LAYOUTS[layout](tmp_path / "data"), cut | {"strategy": {"name": "cassle", "hidden": 16}})
    run(experiment, tmp_path / "run")
    health = json.loads((tmp_path / "run/health.json").read_text())
    assert len(health["rankme"]) == 3 and (tmp_path / "run/task1.safetensors").is_file()
