"""CaSSLe: the laws of its loss."""

from copy import deepcopy
from math import exp, log

import pytest
import torch
from torch.nn.functional import normalize

from cassle.losses import Cosine, CrossCorrelation, InfoNCE, Invariance, Prototypes
from cassle.methods.byol import BYOL
from cassle.methods.simclr import SimCLR
from cassle.methods.swav import SwAV
from cassle.networks.resnet import resnet10
from cassle.strategies.cassle import CaSSLe
from cassle.strategies.finetune import FineTune
from cassle.strategies.strategy import Strategy
from cassle.typing import Batch, Task

FIRST, SECOND = Task(0, torch.arange(4)), Task(1, torch.arange(4, 8))


def made(method=SimCLR, **settings):
    torch.manual_seed(0)
    method = method(resnet10(width=4), projector=(16, 8)).train()
    strategy = CaSSLe(hidden=16, **settings)
    images = torch.zeros(6, 3, 16, 16, dtype=torch.uint8)
    views = tuple(torch.randn(2, 6, 3, 16, 16))
    return method, strategy, Batch(images, torch.arange(6), torch.zeros(6, dtype=torch.long), torch.tensor(0), views)


def test_the_first_task_is_fine_tuning():
    method, strategy, batch = made()
    strategy.begin_task(FIRST, method)
    assert float(strategy.penalty(method.encoder(batch.views), batch, method)) == 0
    assert not list(strategy.parameters()) and not list(strategy.buffers())


@pytest.mark.parametrize("method", [SimCLR, BYOL])
def test_it_is_equation_4(method):
    method, strategy, batch = made(method)
    strategy.begin_task(FIRST, method)
    strategy.begin_task(SECOND, method)
    now = method.encoder(batch.views)
    past = torch.stack([method.encoder.projector(method.encoder.backbone(x)[None])[0] for x in batch.views])
    expected = method.criterion(strategy.g(now.z), past)
    torch.testing.assert_close(strategy.penalty(now, batch, method), expected)


def test_gradient_reaches_the_present_and_the_predictor_view_by_view():
    """I13: view A is distilled to the past's view A, not to its view B."""
    method, strategy, batch = made(criterion=Invariance())
    strategy.begin_task(SECOND, method)
    now = method.encoder(batch.views)
    z = now.z.detach().requires_grad_()
    loss = strategy.penalty(type(now)(now.f, z), batch, method)
    loss.backward()
    assert z.grad.abs().sum() > 0 and all(p.grad.abs().sum() > 0 for p in strategy.g[-1].parameters())
    swapped = type(batch)(**{**vars(batch), "views": batch.views[::-1]})
    assert strategy.penalty(type(now)(now.f, z), swapped, method) != loss


@pytest.mark.parametrize("criterion", [InfoNCE(), Cosine(), CrossCorrelation(), Invariance()])
def test_present_equal_past_is_the_loss_of_identical_views(criterion):
    method, strategy, batch = made(criterion=criterion)
    strategy.begin_task(SECOND, method)
    strategy.g = torch.nn.Identity()
    now = method.encoder(batch.views)
    torch.testing.assert_close(strategy.penalty(now, batch, method), criterion(now.z, now.z))


def test_the_predictor_is_carried_and_the_past_is_renewed():
    method, strategy, _ = made()
    strategy.begin_task(SECOND, method)
    g, past = strategy.g, strategy.past
    with torch.no_grad():
        method.encoder.backbone.conv1.weight += 1
    strategy.begin_task(Task(2, torch.arange(8, 12)), method)
    assert strategy.g is g and strategy.past is not past
    assert torch.equal(strategy.past.encoder.backbone.conv1.weight, method.encoder.backbone.conv1.weight)


def test_weight_scales_and_the_past_s_norm_is_a_choice():
    (method, once, batch), (_, twice, _) = made(), made(weight=2.0)
    for strategy in (once, twice):
        torch.manual_seed(1)
        strategy.begin_task(SECOND, method)
    now = method.encoder(batch.views)
    torch.testing.assert_close(twice.penalty(now, batch, method), 2 * once.penalty(now, batch, method))
    running = CaSSLe(hidden=16, past_norm="running")
    torch.manual_seed(1)
    running.begin_task(SECOND, method)
    assert not torch.allclose(running.penalty(now, batch, method), once.penalty(now, batch, method))


def info_nce(p, t, T=0.2):
    p, t = (normalize(x.flatten(0, 1), dim=1).tolist() for x in (p, t))
    e = [[exp(sum(a * b for a, b in zip(x, y)) / T) for y in t] for x in p]
    rows, columns = [sum(row) for row in e], [sum(column) for column in zip(*e)]
    return -sum(log(e[i][i] / rows[i]) + log(e[i][i] / columns[i]) for i in range(len(e))) / len(e) / 2


def invariance(p, t):
    squares = [(a - b) ** 2 for a, b in zip(p.flatten().tolist(), t.flatten().tolist())]
    return 3 * sum(squares) / len(squares)


def assigned(p, t, ours, theirs):
    """Cross-entropy of what each side's prototypes say, at a temperature of .1."""
    total = 0.0
    for here, there in zip(normalize(p, dim=-1).flatten(0, 1), normalize(t, dim=-1).flatten(0, 1)):
        here, there = [[exp(10 * float(row @ x)) for row in c] for x, c in ((here, ours), (there, theirs))]
        total -= sum(b / sum(there) * log(a / sum(here)) for a, b in zip(here, there))
    return total / (p.shape[0] * p.shape[1])


def rows(c):
    return (normalize(c.direction, dim=1) * c.length).detach()


def g(z, strategy):
    """The published predictor by its parameters: linear, BatchNorm of each view by itself, ReLU, linear."""
    W, b, gamma, beta, V, c = strategy.g.parameters()
    hidden = [x @ W.T + b for x in z]
    hidden = [(x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt() * gamma + beta for x in hidden]
    return torch.stack([x.relu() @ V.T + c for x in hidden])


def g_without_norm(z, strategy):
    W, b, V, c = strategy.g.parameters()
    return (z @ W.T + b).relu() @ V.T + c


def g_of_one_layer(z, strategy):
    W, b = strategy.g.parameters()
    return z @ W.T + b


def no_g(z, strategy):
    assert not any(p.requires_grad for p in strategy.parameters())
    return z


def taught(method=SimCLR, **settings):
    """CaSSLe in its second task, in float64; its method, which has changed since; and the past as it was, to be asked by hand."""
    method, strategy, batch = made(method, **settings)
    method, views = method.double(), tuple(x.double() for x in batch.views)
    strategy.begin_task(FIRST, method)
    method.encoder(views)  # BatchNorm's running statistics move
    past = deepcopy(method)
    strategy.begin_task(SECOND, method)
    with torch.no_grad():
        for p in (*method.parameters(), *strategy.parameters()):
            if p.requires_grad:
                p += 0.1 * torch.randn_like(p)
    return method, strategy.double(), type(batch)(**{**vars(batch), "views": views}), past


PRICES = {  # what is switched: (settings, the price of the present's z beside the past's)
    "nothing": ({}, lambda z, t, s: info_nce(g(z, s), t)),
    "swap": ({"swap": True}, lambda z, t, s: info_nce(g(z, s), t[[1, 0]])),
    "one view": ({"one_view": True}, lambda z, t, s: info_nce(g(z[:1], s), t[:1])),
    "swap of one view": ({"swap": True, "one_view": True}, lambda z, t, s: info_nce(g(z[:1], s), t[1:])),
    "norm": ({"norm": False}, lambda z, t, s: info_nce(g_without_norm(z, s), t)),
    "linear": ({"linear": True}, lambda z, t, s: info_nce(g_of_one_layer(z, s), t)),
    "predictor": ({"predictor": False}, lambda z, t, s: info_nce(no_g(z, s), t)),
    "weight": ({"weight": 2.5}, lambda z, t, s: 2.5 * info_nce(g(z, s), t)),
    "criterion": ({"criterion": Invariance(3.0)}, lambda z, t, s: invariance(g(z, s), t)),
    "past's norm": ({"past_norm": "running"}, lambda z, t, s: info_nce(g(z, s), t)),
    "fresh": ({"fresh": True}, lambda z, t, s: info_nce(g(z, s), t)),
}


@pytest.mark.parametrize("switch", PRICES)
def test_every_switch_is_its_equation(switch):
    settings, price = PRICES[switch]
    method, strategy, batch, past = taught(**settings)
    with torch.no_grad():
        past = past.eval() if switch == "past's norm" else past
        then = torch.stack([past.encoder.projector(past.encoder.backbone(x)[None])[0] for x in batch.views])
        now = method.encoder(batch.views)
        assert float(strategy.penalty(now, batch, method)) == pytest.approx(price(now.z, then, strategy), rel=1e-10)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_fresh_predictor_forgets_what_the_last_one_learned(fresh):
    method, strategy, batch, _ = taught(fresh=fresh)
    first, learned = strategy.g, [p.detach().clone() for p in strategy.g.parameters()]
    strategy.begin_task(Task(2, torch.arange(8, 12)), method)
    assert (strategy.g is first) != fresh
    for old, new in zip(learned, strategy.g.parameters()):
        assert torch.equal(old, new) != fresh and new.requires_grad
    strategy.double()
    now = method.encoder(batch.views)
    with torch.no_grad():  # the past is now the present itself
        assert float(strategy.penalty(now, batch, method)) == pytest.approx(info_nce(g(now.z, strategy), now.z), rel=1e-10)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("given", [False, True])
def test_prototypes_are_the_past_s_or_for_the_present_its_own(own, given):
    """Those of the past are the method's as they were, or the ones that were given; the method's go on, and they do not."""
    torch.manual_seed(3)
    criterion = Prototypes(8, (5,)) if given else None
    wanted = deepcopy(criterion)
    method, strategy, batch, past = taught(lambda *a, **k: SwAV(*a, prototypes=6, queue=0, **k), criterion=criterion, own_prototypes=own)
    theirs = rows((wanted if given else past.criterion).double())
    ours = rows(strategy.prototypes) if own else theirs
    learned = [*strategy.g.parameters(), *(strategy.prototypes.parameters() if own else ())]
    assert {id(p) for p in strategy.parameters() if p.requires_grad} == {id(p) for p in learned}
    now = method.encoder(batch.views)
    loss = strategy.penalty(now, batch, method)
    loss.backward()
    assert all(p.grad is not None for p in learned)  # an optimizer that holds others decays them, and DDP waits for them
    with torch.no_grad():
        then = torch.stack([past.encoder.projector(past.encoder.backbone(x)[None])[0] for x in batch.views])
        assert float(loss) == pytest.approx(assigned(g(now.z, strategy), then, ours, theirs), rel=1e-10)


def test_own_prototypes_begin_elsewhere_and_go_on_while_the_past_s_are_renewed():
    method, strategy, _ = made(lambda *a, **k: SwAV(*a, prototypes=6, queue=0, **k))
    strategy.begin_task(SECOND, method)
    own, first = strategy.prototypes, deepcopy(strategy.prototypes)
    assert rows(own).shape == rows(method.criterion).shape and not torch.isclose(rows(own), rows(method.criterion)).any()
    with torch.no_grad():
        method.criterion.direction += 1
    strategy.begin_task(Task(2, torch.arange(8, 12)), method)
    assert strategy.prototypes is own and torch.equal(rows(own), rows(first))
    assert torch.equal(rows(strategy.distance), rows(method.criterion))


def test_only_strategies_without_a_trace_of_the_first_task_may_share_it():
    class Hoarder(Strategy):
        def after_step(self, clock, now, batch):
            self.seen = batch

    assert FineTune.indifferent_to_the_first_task() and CaSSLe.indifferent_to_the_first_task()
    assert not Hoarder.indifferent_to_the_first_task()
