"""Three whole training steps against the published code: encode, losses, gradients, LARS, EMA, BatchNorm's statistics."""

import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from cassle.clock import Clock
from cassle.losses import InfoNCE
from cassle.methods.barlow_twins import BarlowTwins
from cassle.methods.byol import BYOL
from cassle.methods.simclr import SimCLR
from cassle.methods.mocov2plus import MoCoV2Plus
from cassle.methods.simsiam import SimSiam
from cassle.methods.supcon import SupCon
from cassle.methods.swav import SwAV
from cassle.methods.vicreg import VICReg
from cassle.networks.resnet import resnet18
from cassle.strategies.cassle import CaSSLe
from cassle.strategies.finetune import FineTune
from cassle.training.learner import Learner
from cassle.training.loop import step
from cassle.training.optim import LARS
from cassle.typing import Batch, Task

STEPS = json.loads((Path(__file__).parents[1] / "golden" / "steps.json").read_text())


def heads(s, hidden=1):
    return (s["proj_hidden_dim"],) * hidden + (s["output_dim"],)


METHODS = {
    "simclr": lambda s: SimCLR(resnet18(), projector=heads(s), temperature=s["temperature"]),
    "supcon": lambda s: SupCon(resnet18(), projector=heads(s), temperature=s["temperature"]),
    "barlow_twins": lambda s: BarlowTwins(resnet18(), projector=heads(s, 2), off_diagonal=s["lamb"], scale=s["scale_loss"]),
    "byol": lambda s: BYOL(
        resnet18(),
        projector=heads(s),
        predictor=s["pred_hidden_dim"],
        momentum=(s["base_tau_momentum"], s["final_tau_momentum"]),
    ),
    "vicreg": lambda s: VICReg(
        resnet18(),
        projector=heads(s, 2),
        invariance=s["sim_loss_weight"],
        variance=s["var_loss_weight"],
        covariance=s["cov_loss_weight"],
    ),
    "mocov2plus": lambda s: MoCoV2Plus(
        resnet18(),
        projector=heads(s),
        temperature=s["temperature"],
        queue=s["queue_size"],
        momentum=(s["base_tau_momentum"], s["final_tau_momentum"]),
    ),
    "swav": lambda s: SwAV(
        resnet18(),
        projector=heads(s),
        prototypes=s["num_prototypes"],
        temperature=s["temperature"],
        eps=s["sk_epsilon"],
        iterations=s["sk_iters"],
        queue=s["queue_size"],
        freeze=s["freeze_prototypes_epochs"],
    ),
    "simsiam": lambda s: SimSiam(resnet18(), projector=heads(s, 2), predictor=s["pred_hidden_dim"]),
}

def rn(key, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(zlib.crc32(key.encode())))


def fill(module, role, by_position):
    """The parameters that the golden file's makers gave a module of that role."""
    for position, (name, parameter) in enumerate(module.named_parameters()):
        value = rn(f"{role}/{position if by_position else name}", *parameter.shape)
        if parameter.ndim > 1:
            value *= (2 / parameter[0].numel()) ** 0.5
        else:
            value = 0.1 * value + (1 if name.endswith("weight") else 0)
        parameter.data.copy_(value)


def fill_prototypes(prototypes, role):
    direction = rn(role, *prototypes.direction.shape) * (2 / prototypes.direction.shape[1]) ** 0.5
    prototypes.direction.data.copy_(direction)
    prototypes.length.data.copy_(direction.norm(dim=1, keepdim=True))


class GivenViews(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, batch):
        return replace(batch, views=tuple(rn(f"images/{int(batch.index[0])}/{view}", 16, 3, 32, 32).to(self.dtype) for view in range(2)))


@pytest.mark.parametrize("name", ["simclr", "byol"])
def test_two_steps_with_cassle_in_single_precision_are_nearly_the_published_code_s(name):
    """Seconds, where double precision takes half a minute; each step makes the rounding a hundred times larger."""
    descend(name, "cassle", torch.float32, (2e-5, 2e-3))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["finetune", "cassle"])
@pytest.mark.parametrize("name", METHODS)
def test_three_steps_are_the_published_code_s(name, strategy):
    golden = STEPS[f"{name}/{strategy}"]
    backbone = descend(name, strategy, torch.float64, (1e-6, 1e-6, 1e-6)).encoder.backbone
    size = torch.stack([p.detach().norm() for p in backbone.parameters()]).norm()
    assert float(size) == pytest.approx(golden["encoder_weight_norm"], rel=1e-6)
    assert backbone.conv1.weight.flatten()[:5].tolist() == pytest.approx(golden["conv1_first5"], rel=1e-6)
    assert backbone.bn1.running_mean[:3].tolist() == pytest.approx(golden["bn1_running_mean_first3"], rel=1e-6)
    assert backbone.bn1.running_var[:3].tolist() == pytest.approx(golden["bn1_running_var_first3"], rel=1e-6)


def descend(name, strategy, dtype, tolerances):
    """A step for each tolerance: its losses and its gradient are the published code's as nearly as that."""
    golden = STEPS[f"{name}/{strategy}"]
    settings = golden["settings"]
    method = METHODS[name](settings).to(dtype)
    fill(method.encoder.backbone, "encoder", False)
    fill(method.encoder.projector, "projector", True)
    if name in ("byol", "simsiam"):
        fill(method.h, "predictor", True)
    if name in ("byol", "mocov2plus"):
        method.target.copy.load_state_dict(method.encoder.state_dict())
    if name == "mocov2plus":
        method.queue.z.copy_(nn.functional.normalize(rn("queue", 2, 128, 1024), dim=1))
    if name == "swav":
        fill_prototypes(method.criterion, "prototypes")
    keep = FineTune()
    if strategy == "cassle":
        other = InfoNCE(settings["distill_temperature"]) if name == "supcon" else None  # the published code has a temperature of its own
        keep = CaSSLe(criterion=other)
        keep.begin_task(Task(1, torch.arange(16)), method)
        keep.to(dtype)
        fill(keep.g, "distill_predictor", True)
        fill(keep.past.encoder.backbone, "frozen_encoder", False)
        fill(keep.past.encoder.projector, "frozen_projector", True)
        if name == "swav":
            fill_prototypes(keep.distance, "frozen_prototypes")
            fill_prototypes(keep.prototypes, "distill_prototypes")
    learner = Learner(method, keep, GivenViews(dtype)).train()
    optimizer = LARS(
        [p for p in learner.parameters() if p.requires_grad],
        weight_decay=settings["weight_decay"],
        exclude_1d=settings.get("exclude_bias_n_norm", True),
    )
    optimizer.param_groups[0]["lr"] = torch.zeros((), dtype=dtype)
    rates, clock = torch.full((1, 8), settings["lr"], dtype=dtype), Clock(0, 1, 8, 8)
    for number, (wanted, rel) in enumerate(zip(golden["steps"], tolerances)):
        batch = Batch(torch.zeros(16, 3, 32, 32, dtype=torch.uint8), torch.full((16,), number), torch.arange(16) % 4, clock.key)
        losses = step(learner, optimizer, rates, batch, clock)
        clock.tick()
        norm = torch.stack([p.grad.norm() for p in method.encoder.backbone.parameters()]).norm()
        assert float(losses.total.detach()) == pytest.approx(wanted["total"], rel=rel)
        ssl, *distilled = wanted["logged"].values()
        assert float(losses.ssl.detach()) == pytest.approx(ssl, rel=rel)
        assert len(distilled) == (strategy == "cassle")
        assert float(losses.keep.detach()) == pytest.approx(settings.get("distill_lamb", 1) * sum(distilled), rel=rel)
        assert float(norm) == pytest.approx(wanted["encoder_grad_norm"], rel=rel)
    return method
