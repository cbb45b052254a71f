"""What every method must do: a file in `methods/` gets these tests by being there."""

import dataclasses
import os
import socket
from copy import deepcopy

import pytest
import torch
from torch import multiprocessing
from torch.nn.functional import normalize

from cassle import registry
from cassle.augment.views import Augment, View
from cassle.clock import Clock
from cassle.networks.norm import whole_batch
from cassle.networks.resnet import resnet10
from cassle.strategies.cassle import CaSSLe
from cassle.strategies.finetune import FineTune
from cassle.training.learner import Learner
from cassle.training.loop import step
from cassle.training.optim import LARS
from cassle.typing import Batch, Task

METHODS = registry.names("methods")
MULTICROP = [name for name in METHODS if registry.load("methods", name, "").multicrop]


def made(name, small, seed=0, **changes):
    torch.manual_seed(seed)
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in small(name)["method"].items() if k != "name"} | changes
    method = registry.load("methods", name, "")(resnet10(width=4), **settings).double().train()
    method.begin_task(Task(0, torch.arange(32)))
    return method.double()


def batch(n=16, views=2, seed=1, epoch=0, first=0):
    torch.manual_seed(seed)
    images = torch.randint(256, (n, 3, 12, 12), dtype=torch.uint8)
    x = tuple(torch.randn(n, 3, 12 if v < 2 else 6, 12 if v < 2 else 6, dtype=torch.float64) for v in range(views))
    return Batch(images, torch.arange(first, first + n), torch.arange(n) // 4, torch.tensor(3), x, epoch=epoch)


def part(whole, rows):
    views = tuple(x[rows] for x in whole.views)
    return dataclasses.replace(whole, images=whole.images[rows], index=whole.index[rows], labels=whole.labels[rows], views=views)


def loss_of(method, batch):
    return method.loss(method.encoder(batch.views), batch)


@pytest.mark.parametrize("name", METHODS)
def test_the_loss_is_finite_and_its_gradient_reaches_all_that_learns(name, small):
    method = made(name, small)
    loss = loss_of(method, batch())
    loss.backward()
    assert loss.isfinite() and loss.ndim == 0
    for parameter in method.encoder.backbone.parameters():
        assert parameter.grad.isfinite().all()
    silent = [key for key, p in method.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())]
    assert all(key.endswith("bias") for key in silent), silent  # a bias before a BatchNorm moves nothing


@pytest.mark.parametrize("name", METHODS)
def test_a_toy_set_is_overfitted(name, small, tiny):
    """After some steps on twelve images, the other view of an image (or, with labels, one of its kind) is the nearest."""
    torch.manual_seed(0)
    tints, textures = torch.rand(12, 3, 1, 1), torch.rand(12, 1, 16, 16) > 0.5
    images = (255 * (0.2 + 0.6 * tints) * (0.5 + 0.5 * textures)).to(torch.uint8)
    size = {"momentum": (0.9, 0.9)} if name in ("byol", "dino", "mocov2plus", "ressl") else {}
    size |= {"invariance": 1.0, "variance": 1.0, "covariance": 0.04} if name == "vicreg" else {}  # its weights, for this learning rate
    method = made(name, small, **size).float()
    method.begin_task(Task(0, torch.arange(12)))
    view = View(size=16, scale=(0.6, 1.0), brightness=0.2, contrast=0.2, saturation=0.2, hue=0.0, gray=0.0)
    learner = Learner(method, FineTune(), Augment((view, view), (0.5,) * 3, (0.25,) * 3)).train()
    optimizer = LARS([p for p in learner.parameters() if p.requires_grad], weight_decay=0.0, eta=1.0)
    optimizer.param_groups[0]["lr"] = torch.zeros(())
    clock, labels = Clock(0, 0, 10, 150), torch.arange(12) % 3

    def separation():
        """Of an image's views from other images', or of its kind from other kinds, in units of the others' spread."""
        with torch.no_grad():
            seen = deepcopy(learner).train()
            z = seen.method.encoder(seen.augment(Batch(images, torch.arange(12), labels, torch.tensor(999))).views).z
            a, b = normalize(z - z.mean((0, 1)), dim=-1)
            kind = labels if method.labelled else torch.arange(12)
            same = kind[:, None] == kind
            cosines = a @ b.T
            return float(cosines[same].mean() - cosines[~same].mean())

    before = separation()
    for _ in range(clock.steps):
        if clock.step % clock.epoch_steps == 0:
            method.begin_epoch(clock)
        losses = step(learner, optimizer, torch.full((1, 150), 0.05), Batch(images, torch.arange(12), labels, clock.key, epoch=clock.epoch), clock)
        clock.tick()
    assert losses.total.isfinite()
    after = separation()
    assert after > before + 0.05 and after > 0.3, (before, after)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("epoch", [0, 2])
def test_the_order_of_the_batch_and_of_the_views_changes_nothing(name, epoch, small):
    method, whole = made(name, small), batch(epoch=epoch)
    loss = loss_of(deepcopy(method), whole)
    shuffled = part(whole, torch.randperm(16))
    torch.testing.assert_close(loss_of(deepcopy(method), shuffled), loss, rtol=1e-9, atol=1e-11)
    if name == "mocov2plus":  # each view has a queue of its own
        method.queue.z.copy_(method.queue.z.flip(0))
    swapped = dataclasses.replace(whole, views=whole.views[::-1])
    torch.testing.assert_close(loss_of(method, swapped), loss, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", ["one", "two", "zeros", "constant"])
def test_a_degenerate_batch_gives_a_finite_loss_or_one_clear_error(name, kind, small):
    whole = batch(n={"one": 1, "two": 2}.get(kind, 8))
    if kind in ("zeros", "constant"):
        whole = dataclasses.replace(whole, views=tuple(torch.full_like(x, kind == "constant") for x in whole.views))
    method = made(name, small)
    try:
        loss = loss_of(method, whole)
    except ValueError as error:  # BatchNorm's own words; an experiment refuses such a batch size before it begins
        assert kind == "one" and "more than 1 value" in str(error)
        return
    loss.backward()
    assert loss.isfinite() and all(p.grad is None or p.grad.isfinite().all() for p in method.parameters())


@pytest.mark.parametrize("name", METHODS)
def test_state_survives_saving_and_loading(name, small):
    first, second = made(name, small), made(name, small, seed=7)

    def advance(method, steps, clock):
        for _ in range(steps):
            if clock.step % 2 == 0:
                method.begin_epoch(clock)
            now = method.encoder(batch(seed=clock.step, epoch=clock.epoch).views)
            method.loss(now, batch(seed=clock.step, epoch=clock.epoch))
            with torch.no_grad():
                method.after_step(clock, now, batch(seed=clock.step, epoch=clock.epoch))
            clock.tick()
        return method.state_dict()

    state = deepcopy(advance(first, 3, Clock(0, 0, 2, 8)))
    second.load_state_dict(state)
    ours, theirs = advance(first, 3, Clock(0, 0, 2, 8, 3)), advance(second, 3, Clock(0, 0, 2, 8, 3))
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


@pytest.mark.parametrize("name", MULTICROP)
def test_small_crops_take_part_and_none_is_a_target(name, small):
    method, whole = made(name, small), batch(views=5)
    now = method.encoder(whole.views)
    now.z.retain_grad()
    loss = method.loss(now, whole)
    loss.backward()
    assert loss.isfinite() and now.z.grad.abs().sum((1, 2)).gt(0).all()
    past = CaSSLe(hidden=8).double()
    past.begin_task(Task(1, torch.arange(32)), method)
    assert past.double().penalty(method.encoder(whole.views), whole, method).isfinite()


VISITS = (0, 0), (2, 4)
"""Epoch and step of two batches; the second meets what the first left in queues, memories and clusters."""
LOCAL = ("simclr", "supcon", "nnclr", "vicreg")


def visited(method, rows):
    """The losses of some rows of each batch, and their gradients."""
    values, gradients = [], []
    for epoch, place in VISITS:
        mine, clock = part(batch(seed=epoch, epoch=epoch), rows), Clock(0, 0, 2, 8, place)
        method.begin_epoch(clock)
        method.zero_grad()
        now = method.encoder(mine.views)
        loss = method.loss(now, mine)
        loss.backward()
        with torch.no_grad():
            method.after_step(clock, now, mine)
        values.append(loss.detach())
        gradients.append({key: p.grad.clone() for key, p in method.named_parameters() if p.grad is not None})
    return torch.stack(values), gradients


def shares(rank, results, address, methods, whole):
    """One of two processes, each with half of the batch; BatchNorm sees the `whole` of it or that half."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(address)}
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    found = {}
    for name in methods:
        method = deepcopy(methods[name])  # spawned processes share tensors
        values, gradients = visited(whole_batch(method) if whole else method, torch.arange(8) + 8 * rank)
        for own in (values, *(gradient for step in gradients for gradient in step.values())):
            torch.distributed.all_reduce(own)
            own /= 2  # as DDP does
        found[name] = (values, gradients, dict(method.named_buffers()))
    if rank == 0:
        torch.save(found, results)
    torch.distributed.destroy_process_group()


def shared(methods, folder, whole):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()[1]
    multiprocessing.spawn(shares, (folder / "found", address, deepcopy(methods), whole), nprocs=2)
    return torch.load(folder / "found", weights_only=True)


def equal(ours, theirs, what):
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10, msg=lambda text: f"{what}: {text}")


def test_two_processes_are_one_with_the_whole_batch(small, tmp_path):
    methods = {name: made(name, small) for name in METHODS}
    found = shared(methods, tmp_path, whole=True)
    for name, method in methods.items():
        values, gradients = visited(method, torch.arange(16))
        equal(found[name][0], values, name)
        for ours, theirs in zip(found[name][1], gradients):
            assert ours.keys() == theirs.keys()
            for key in ours:
                equal(ours[key], theirs[key], f"{name}, {key}")
        for key, buffer in method.named_buffers():
            equal(found[name][2][key], buffer, f"{name}, {key}")


def test_each_of_two_processes_alone_with_its_half_is_what_local_means(small, tmp_path):
    methods = {name: made(name, small, local=True) for name in LOCAL}
    found = shared(methods | {f"{name}, together": made(name, small) for name in LOCAL}, tmp_path, whole=False)
    for name, method in methods.items():
        halves = [visited(deepcopy(method), torch.arange(8) + 8 * half) for half in range(2)]
        values, gradients, _ = found[name]
        equal(values[0], (halves[0][0] + halves[1][0])[0] / 2, name)  # later, the queues have seen both halves
        for key, gradient in gradients[0].items():
            equal(gradient, (halves[0][1][0][key] + halves[1][1][0][key]) / 2, f"{name}, {key}")
        together = found[f"{name}, together"]
        assert abs(values[0] - together[0][0]) > 1e-3
        assert any(not torch.allclose(gradient, together[1][0][key], rtol=1e-3) for key, gradient in gradients[0].items())
