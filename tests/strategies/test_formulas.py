"""Each strategy's price against its formula, transcribed slowly and in float64."""

from copy import deepcopy
from dataclasses import replace
from math import exp, log, sqrt

import pytest
import torch

from cassle.methods.barlow_twins import BarlowTwins
from cassle.methods.byol import BYOL
from cassle.methods.simclr import SimCLR
from cassle.networks.encoder import Embedding
from cassle.networks.resnet import resnet10
from cassle.strategies.ccssl import CCSSL
from cassle.strategies.der import DER
from cassle.strategies.ewc import EWC
from cassle.strategies.less_forget import LessForget
from cassle.strategies.pfr import PFR
from cassle.strategies.pod import POD
from cassle.typing import Batch, Task

FIRST, SECOND = Task(0, torch.arange(6), (16, 16)), Task(1, torch.arange(6, 12), (16, 16))


def made(method=SimCLR):
    torch.manual_seed(0)
    return method(resnet10(width=4), projector=(16, 8)).double().train()


def batch(seed=0, n=6):
    views = tuple(torch.randn(2, n, 3, 16, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)))
    images = torch.randint(0, 256, (n, 3, 16, 16), dtype=torch.uint8)
    return Batch(images, torch.arange(n), torch.zeros(n, dtype=torch.long), torch.tensor(seed), views)


def embedding(seed, views=2, n=3):
    torch.manual_seed(seed)
    shapes = ((4, 3, 5), (8, 2, 3))
    maps = tuple(tuple(torch.randn(n, *shape, dtype=torch.float64).relu() for shape in shapes) for _ in range(views))
    return Embedding(torch.randn(views, n, 7, dtype=torch.float64), torch.randn(views, n, 5, dtype=torch.float64), maps)


def cosine(a, b):
    a, b = a.tolist(), b.tolist()
    return sum(x * y for x, y in zip(a, b)) / sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def angle(now, past):
    pairs = [(now[v, i], past[v, i]) for v in range(len(now)) for i in range(now.shape[1])]
    return sum(1 - cosine(a, b) for a, b in pairs) / len(pairs)


def near(ours, theirs):
    assert float(ours.detach()) == pytest.approx(theirs, rel=1e-10, abs=1e-12)


def test_less_forget():
    now, past = embedding(0), embedding(1)
    near(LessForget().change(now, past), angle(now.f, past.f))


def test_pfr():
    strategy, method = PFR(hidden=16), made()
    strategy.begin_task(SECOND, method)
    strategy.double()
    now, past = (Embedding(torch.randn(2, 3, method.encoder.backbone.dim, dtype=torch.float64), torch.zeros(2, 3, 5)) for _ in range(2))
    near(strategy.change(now, past), angle(torch.stack([strategy.g(view[None])[0] for view in now.f]), past.f))


def pooled(h):
    """Of one image's maps: squares summed by row and by column, of length 1."""
    channels, height, width = h.shape
    rows = [sum(float(h[c, y, x]) ** 2 for x in range(width)) for c in range(channels) for y in range(height)]
    columns = [sum(float(h[c, y, x]) ** 2 for y in range(height)) for c in range(channels) for x in range(width)]
    length = sqrt(sum(v * v for v in rows + columns))
    return [v / length for v in rows + columns]


def test_pod():
    now, past = embedding(0), embedding(1)
    distances = []
    for v in range(2):
        for stage in range(2):
            for i in range(3):
                a, b = pooled(now.maps[v][stage][i]), pooled(past.maps[v][stage][i])
                distances.append(sqrt(sum((x - y) ** 2 for x, y in zip(a, b))))
    near(POD(spatial=2.0, flat=0.5).change(now, past), 2 * sum(distances) / len(distances) + 0.5 * angle(now.f, past.f))


@pytest.mark.parametrize("strategy", [POD, LessForget])
def test_where_nothing_has_changed_yet_the_price_is_nothing_and_its_gradient_finite(strategy):
    """A task's first step: there the present is the past, and a distance has no direction."""
    method, strategy, views = made(), strategy(), batch()
    strategy.begin_task(SECOND, method)
    near(strategy.penalty(method.encoder(views.views, maps=True), views, method), 0)
    strategy.penalty(method.encoder(views.views, maps=True), views, method).backward()
    assert all(w.grad.isfinite().all() for w in method.encoder.backbone.parameters())


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("method", [SimCLR, BarlowTwins, BYOL])
def test_ewc(method, relative):
    method, strategy = made(method), EWC(weight=3.0, relative=relative)
    strategy.begin_task(FIRST, method)
    wanted = 0
    for task in range(2):  # importance adds up, over tasks and their batches
        before = deepcopy(method.state_dict())
        strategy.end_task(FIRST, method, iter([batch(2 * task), batch(2 * task + 1)]))
        assert all(torch.equal(before[name], tensor) for name, tensor in method.state_dict().items())
        assert all(w.grad is None for w in method.parameters())
        for seed in (2 * task, 2 * task + 1):
            other = deepcopy(method)
            other.loss(other.encoder(batch(seed).views), batch(seed)).backward()
            wanted = wanted + torch.cat([w.grad.flatten() for w in other.encoder.parameters()]) ** 2 / 2
        anchor = torch.cat([w.detach().flatten() for w in method.encoder.parameters()])
        with torch.no_grad():
            for w in method.encoder.parameters():
                w += 0.01 * torch.randn_like(w)
    torch.testing.assert_close(strategy.fisher, wanted, rtol=1e-9, atol=1e-14)
    strategy.begin_task(SECOND, method)
    moved = torch.cat([w.detach().flatten() for w in method.encoder.parameters()]) - anchor
    unit = sum(wanted.tolist()) / len(wanted) if relative else 1
    near(strategy.penalty(embedding(0), batch(), method), sum(1.5 * f / unit * d * d for f, d in zip(wanted.tolist(), moved.tolist())))


def test_der():
    method, strategy = made(), DER(weight=2.0)
    strategy.begin_task(SECOND, method)
    old = replace(batch(1, 4), z=torch.randn(4, 8))
    z = deepcopy(method).encoder(old.views).z.detach()
    squares = [(float(z[v, i, d]) - float(old.z[i, d])) ** 2 for v in range(2) for i in range(4) for d in range(8)]
    near(strategy.penalty(embedding(0), replace(batch(), old=old), method), 2 * sum(squares) / len(squares))


def test_der_remembers_what_the_encoder_made_of_a_view():
    method, strategy = made().float(), DER(capacity=6)
    strategy.begin_task(FIRST, method)
    seen = replace(batch(), views=tuple(x.float() for x in batch().views))
    before = deepcopy(method.state_dict())
    strategy.end_task(FIRST, method, iter([seen]))
    assert all(torch.equal(before[name], tensor) for name, tensor in method.state_dict().items())
    torch.testing.assert_close(strategy.memory.z, method.encoder(seen.views).z[0].detach())
    assert torch.equal(strategy.memory.images, seen.images)


def test_ccssl():
    method, strategy = made(), CCSSL(weight=2.0, temperature=0.3)
    strategy.begin_task(SECOND, method)
    with torch.no_grad():
        method.encoder.projector[0].weight += torch.randn_like(method.encoder.projector[0].weight)
    old = batch(1, 4)
    now, past = (encoder(old.views).z.detach().flatten(0, 1) for encoder in (deepcopy(method).encoder, strategy.past))
    total = 0
    for i in range(8):
        weights = [[exp(cosine(z[i], z[j]) / 0.3) for j in range(8) if j != i] for z in (now, past)]
        p, before = ([w / sum(row) for w in row] for row in weights)
        total += sum(b * (log(b) - log(a)) for a, b in zip(p, before))
    near(strategy.penalty(embedding(0), replace(batch(), old=old), method), 2 * total / 8)
