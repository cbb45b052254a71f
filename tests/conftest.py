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


@pytest.fixture(scope="session")
def tiny():
    """Makes an experiment of seconds, with changes over it."""
    from cassle.config import merge
    from cassle.experiment import Experiment

    return lambda changes=None: Experiment.preset("demo", merge(TINY, changes or {}))
