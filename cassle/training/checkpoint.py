"""State that outlives a kill: tensors beside a manifest that vouches for them, each replaced in one stroke.

A checkpoint is `NUMBER.safetensors` and `NUMBER.json`; the second is written only when the first is safely on the disk,
and holds its SHA-256.  The newest pair that verifies counts.  Nothing read is ever executed.
"""

import json
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from cassle.disk import write
from cassle.errors import UserError


@dataclass(frozen=True)
class Checkpoint:
    """What was found on the disk; `facts` is the JSON that was saved with it."""

    path: Path
    facts: dict

    def restore(self, learner: nn.Module, optimizer: Optimizer | None) -> None:
        """Load every tensor in its place; any that is missing or left over is an error."""
        tensors = read_tensors(self.path)
        state = flat(learner, optimizer)
        if unlike := sorted(tensors.keys() ^ state.keys()):
            raise RuntimeError(f"{self.path} does not fit this learner: {unlike[:3]} ... stand on one side only")
        with torch.no_grad():
            for name, tensor in state.items():
                if tensor.shape != tensors[name].shape:
                    raise RuntimeError(f"{self.path}: {name} is {tuple(tensors[name].shape)}, want {tuple(tensor.shape)}")
                tensor.copy_(tensors[name])


def flat(learner: nn.Module, optimizer: Optimizer | None) -> dict[str, Tensor]:
    """Every tensor that decides the next step, by name, sharing memory with its owner."""
    state = {f"learner.{name}": tensor for name, tensor in learner.state_dict().items()}
    if optimizer is not None:
        for number, held in optimizer.state_dict()["state"].items():
            state |= {f"optimizer.{number}.{name}": tensor for name, tensor in held.items()}
    return state


def save(folder: Path, state: dict[str, Tensor], facts: dict, keep: int = 2) -> None:
    """Write one more checkpoint; the older ones go only when it is safe."""
    folder.mkdir(exist_ok=True)
    number = max((int(path.stem) for path in folder.glob("[0-9]*.json")), default=-1) + 1
    tensors = folder / f"{number:06d}.safetensors"
    write_tensors(tensors, state)
    with open(tensors, "rb") as file:
        facts = facts | {"sha256": file_digest(file, "sha256").hexdigest()}
    write(tensors.with_suffix(".json"), lambda path: path.write_text(json.dumps(facts, indent=1) + "\n", "utf-8"))
    for path in folder.iterdir():
        if not path.stem.isdigit() or int(path.stem) <= number - keep:
            path.unlink()


def newest(folder: Path) -> Checkpoint | None:
    """The last checkpoint whose tensors are what its manifest says; None where none was ever finished."""
    manifests = sorted(folder.glob("[0-9]*.json"), reverse=True)
    for manifest in manifests:
        tensors = manifest.with_suffix(".safetensors")
        try:
            facts = json.loads(manifest.read_text("utf-8"))
            with open(tensors, "rb") as file:
                if file_digest(file, "sha256").hexdigest() == facts["sha256"]:
                    return Checkpoint(tensors, facts)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    if any(manifest.exists() for manifest in manifests):  # a run that goes on has newer ones by now
        raise UserError(f"{folder}: no checkpoint in it is whole; put it back from a copy, or delete the folder to learn all again")
    return None


def write_tensors(path: Path, state: dict[str, Tensor]) -> None:
    """Equal tensors give equal bytes, whatever the order of their names."""
    ready = {name: state[name].detach().cpu().contiguous() for name in sorted(state)}
    try:
        write(path, lambda temporary: save_file(ready, temporary))
    except SafetensorError as error:  # a full disk is no OSError to it
        raise OSError(f"{path.name}: {error}") from error


def read_tensors(path: Path) -> dict[str, Tensor]:
    """What `write_tensors` wrote."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} cannot be read ({error}); put it back from a copy") from None
