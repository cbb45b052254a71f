"""LARS and its schedule against the published code, plain SGD against torch's."""

import pytest
import torch
from torch import nn

from cassle.training.optim import LARS, SGD
from cassle.training.schedule import warmup_cosine

SETTINGS = {
    "clip_exclude": {"clip": True, "exclude_1d": True, "weight_decay": 1e-4},
    "clip": {"clip": True, "exclude_1d": False, "weight_decay": 1e-6},
    "plain": {"clip": False, "exclude_1d": True, "weight_decay": 1e-4},
}


@pytest.mark.parametrize("tag", SETTINGS)
@pytest.mark.parametrize("on_device", [False, True])
def test_five_steps_are_the_published_code_s(tag, on_device, losses):
    golden = {name: losses[f"lars.{tag}.{name}"] for name in ("w0", "b0", "gw", "gb", "w", "b", "lr")}
    w, b = nn.Parameter(golden["w0"].clone()), nn.Parameter(golden["b0"].clone())
    optimizer = LARS([w, b], lr=1.0, momentum=0.9, eta=0.02, **SETTINGS[tag])
    for i in range(5):
        optimizer.param_groups[0]["lr"] = golden["lr"][i] if on_device else float(golden["lr"][i])
        w.grad, b.grad = golden["gw"][i].clone(), golden["gb"][i].clone()
        optimizer.step()
        torch.testing.assert_close(w.detach(), golden["w"][i], rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(b.detach(), golden["b"][i], rtol=1e-9, atol=1e-12)
    assert torch.equal(w.grad, golden["gw"][4])  # gradients are read, not changed


def test_a_tensor_without_size_or_without_gradient_moves_like_plain_sgd():
    zero, still = nn.Parameter(torch.zeros(2, 2)), nn.Parameter(torch.ones(2, 2))
    zero.grad, still.grad = torch.ones(2, 2), torch.zeros(2, 2)
    LARS([zero, still], lr=0.5, weight_decay=0.1).step()
    assert torch.equal(zero.detach(), torch.full((2, 2), -0.5)) and torch.equal(still.detach(), torch.ones(2, 2))


def test_without_clip_the_step_is_a_fixed_share_of_the_weight():
    w = nn.Parameter(torch.randn(8, 8))
    size = w.detach().norm()
    for scale in (1e-4, 1e4):
        fresh = nn.Parameter(w.detach().clone())
        fresh.grad = scale * torch.randn(8, 8)
        LARS([fresh], lr=1.0, eta=0.02, weight_decay=0.0, clip=False).step()
        assert float((fresh - w).detach().norm() / size) == pytest.approx(0.02, rel=1e-3)


@pytest.mark.parametrize("on_device", [False, True])
def test_plain_sgd_is_torch_s(on_device):
    torch.manual_seed(0)
    ours, theirs = ([nn.Parameter(torch.ones(3, 2).double()), nn.Parameter(torch.zeros(2).double())] for _ in range(2))
    own, known = SGD(ours, lr=1.0, weight_decay=1e-2), torch.optim.SGD(theirs, lr=1.0, momentum=0.9, weight_decay=1e-2)
    assert all("momentum" in own.state[w] for w in ours)  # before the first step: a checkpoint has where to go
    for rate in (0.1, 0.2, 0.05):
        for optimizer in (own, known):
            optimizer.param_groups[0]["lr"] = torch.tensor(rate, dtype=torch.float64) if on_device and optimizer is own else rate
        for a, b in zip(ours, theirs):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        own.step()
        known.step()
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_the_schedule_is_the_published_one(splits):
    golden = splits["warmup_cosine"]
    rates = warmup_cosine(golden["lr"], 50 * 39, 39, warmup=10, start=golden["start"], minimum=golden["min"])
    torch.testing.assert_close(rates.view(50, 39), torch.tensor(golden["values"], dtype=torch.float64)[:, None].expand(50, 39))


def test_a_schedule_by_step_rises_to_its_peak_and_falls_to_its_minimum():
    rates = warmup_cosine(0.4, 100, 10, warmup=2, start=0.0, minimum=0.01, by="step")
    assert rates[19] == 0.4 == rates.max() and rates[0] == 0
    assert rates[-1] == pytest.approx(0.01, abs=1e-3) and (rates[20:].diff() <= 0).all() and (rates[:20].diff() > 0).all()
    short = warmup_cosine(0.4, 5, 10, warmup=2, by="step")  # a task shorter than its warm-up
    assert short.isfinite().all() and (short.diff() > 0).all()
