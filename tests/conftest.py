"""What all tests share: golden numbers, checked shapes, a small fast experiment."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from jaxtyping import install_import_hook

ROOMS = ("augment", "clock", "data", "distributed", "evaluation.knn", "evaluation.linear", "evaluation.features", "losses", "methods", "networks", "randomness", "strategies", "training")
hook = install_import_hook([f"cassle.{room}" for room in ROOMS], "beartype.beartype")  # tests check every annotated shape
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors do not gain from more, and the tests run side by side."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def losses() -> dict[str, torch.Tensor]:
    """Outputs of the published code, in float64."""
    with np.load(GOLDEN / "losses.npz", allow_pickle=False) as file:
        return {name: torch.from_numpy(file[name]) for name in file}


@pytest.fixture(scope="session")
def splits() -> dict:
    return json.loads((GOLDEN / "splits.json").read_text())


TINY = {
    "data": {"name": "sources", "sets": ["scenes", "emoji", "glyphs"]},
    "stream": "domain_incremental",
    "backbone": {"name": "resnet10", "width": 4},
    "views": {"size": 16},
    "steps": 12,
    "batch_size": 16,
    "precision": "float32",
    "probes": ["knn"],
    "strategy": {"name": "cassle", "hidden": 16},
    "method": {"name": "simclr", "projector": [16, 8]},
}


SMALL = {
    "simclr": {"projector": [16, 8]},
    "supcon": {"projector": [16, 8]},
    "barlow_twins": {"projector": [16, 16, 8]},
    "vicreg": {"projector": [16, 16, 8]},
    "byol": {"projector": [16, 8], "predictor": 16},
    "simsiam": {"projector": [16, 16, 8], "predictor": 8},
    "mocov2plus": {"projector": [16, 8], "queue": 64},
    "nnclr": {"projector": [16, 16, 8], "predictor": 16, "queue": 64},
    "ressl": {"projector": [16, 8], "queue": 64},
    "swav": {"projector": [16, 8], "prototypes": 12, "queue": 32, "queue_from": 1, "freeze": 0},
    "deepclusterv2": {"projector": [16, 8], "prototypes": [5, 7]},
    "dino": {"projector": [16, 16, 8], "prototypes": 12, "freeze": 0},
    "wmse": {"projector": [16, 4], "size": 8},
    "supervised": {"classes": 118},
}
"""Each method, small enough for a test of seconds."""


@pytest.fixture(scope="session")
def small():
    """A method by name, small."""
    return lambda name: {"method": {"name": name} | SMALL.get(name, {})}


@pytest.fixture(scope="session")
def tiny():
    """Makes an experiment of seconds, with changes over it."""
    from cassle.config import merge
    from cassle.experiment import Experiment

    return lambda changes=None: Experiment.preset("demo", merge(TINY, changes or {}))


@pytest.fixture
def pretend(tmp_path):
    """Makes a run directory that was never run: an experiment, and accuracies that end at A."""
    from cassle.experiment import Experiment
    from cassle.paper.matching import Run

    def make(name, changes, A=50.0, *, preset="cifar100", done=5, width=5, probes=None, seconds=3600.0):
        experiment, place = Experiment.preset(preset, changes), tmp_path / "runs" / name
        place.mkdir(parents=True)
        rows = [[A - done + 1 + task] * width for task in range(done)]
        judged = {"A": rows, "R": [10.0] * width, "average": rows[-1][0]}
        judged |= {"forgetting": 1.5 if done > 1 else None, "forward_transfer": 30.0 if done > 1 else None}
        (place / "experiment.toml").write_text(experiment.toml())
        (place / "accuracy.json").write_text(json.dumps(dict.fromkeys(probes or [p.label for p in experiment.probes], judged)))
        (place / "cost.json").write_text(json.dumps({"tasks": [{"seconds": seconds, "steps": 100, "peak_bytes": 1, "stored_bytes": 0}] * done}))
        (place / "environment.json").write_text(json.dumps({"device": "an abacus"}))
        return Run(place)

    return make
