"""CaSSLe: the laws of its loss."""

import pytest
import torch

from cassle.losses import Cosine, CrossCorrelation, InfoNCE, Invariance
from cassle.methods.byol import BYOL
from cassle.methods.simclr import SimCLR
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


def test_only_strategies_without_a_trace_of_the_first_task_may_share_it():
    class Hoarder(Strategy):
        def after_step(self, clock, now, batch):
            self.seen = batch

    assert FineTune.indifferent_to_the_first_task() and CaSSLe.indifferent_to_the_first_task()
    assert not Hoarder.indifferent_to_the_first_task()
