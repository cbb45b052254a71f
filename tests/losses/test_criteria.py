"""Criteria against the published code, against their formulas, and against what must always hold."""

import math

import pytest
import torch

from cassle.losses import Cosine, CrossCorrelation, InfoNCE, Invariance, swap

GOLDEN = {  # name: (criterion, its two differentiated inputs, what they are compared with)
    "simclr": (lambda z, f, t: InfoNCE(t)(z, swap(z), exclude_self=True), "z"),
    "distill.infonce": (lambda z, f, t: InfoNCE(t)(z, f), "p"),
    "barlow": (lambda z, f, t: CrossCorrelation(5e-3, 0.1)(z, swap(z)), "z"),
    "distill.cross_correlation": (lambda z, f, t: CrossCorrelation(5e-3, 0.1)(z, f), "p"),
    "byol": (lambda z, f, t: 2 * Cosine()(z, swap(f)), "p"),
    "distill.cosine": (lambda z, f, t: Cosine()(z, f), "p"),
    "distill.invariance": (lambda z, f, t: Invariance(25.0)(z, f), "p"),
}
CRITERIA = {"info_nce": InfoNCE(0.2), "cosine": Cosine(), "invariance": Invariance(25.0), "cross_correlation": CrossCorrelation()}


@pytest.mark.parametrize("name", GOLDEN)
def test_value_and_gradient_are_the_published_code_s(name, losses):
    formula, letter = GOLDEN[name]
    inputs = [losses[f"{letter}{view}"].clone().requires_grad_() for view in (1, 2)]
    past = torch.stack([losses["f1"], losses["f2"]])
    loss = formula(torch.stack(inputs), past, float(losses["temperature"]))
    loss.backward()
    torch.testing.assert_close(loss.detach(), losses[f"loss.{name}"], rtol=1e-9, atol=0)
    for i, z in enumerate(inputs):
        wanted = losses[f"grad{i}.{name}"]
        torch.testing.assert_close(z.grad, wanted, rtol=1e-9, atol=1e-9 * float(wanted.abs().max()))


def test_nt_xent_is_its_formula(losses):
    z, T, total = torch.cat([losses["z1"], losses["z2"]]).tolist(), 0.2, 0.0
    n = len(z)
    cos = lambda a, b: math.fsum(x * y for x, y in zip(a, b)) / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))  # noqa: E731
    for i in range(n):
        others = math.fsum(math.exp(cos(z[i], z[j]) / T) for j in range(n) if j != i)
        total -= math.log(math.exp(cos(z[i], z[(i + n // 2) % n]) / T) / others) / n
    views = torch.stack([losses["z1"], losses["z2"]])
    assert float(InfoNCE(T)(views, swap(views), exclude_self=True)) == pytest.approx(total, rel=1e-12)


def test_barlow_twins_is_its_formula(losses):
    a, b = losses["z1"], losses["z2"]
    a, b = ((z - z.mean(0)) / (z.var(0, correction=0) + 1e-5).sqrt() for z in (a, b))
    total = 0.0
    for i in range(a.shape[1]):
        for j in range(a.shape[1]):
            c = float((a[:, i] * b[:, j]).sum()) / len(a)
            total += (1 - c) ** 2 if i == j else 5e-3 * c**2
    views = torch.stack([losses["z1"], losses["z2"]])
    assert float(CrossCorrelation()(views, swap(views))) == pytest.approx(0.1 * total, rel=1e-10)


@pytest.fixture
def pair():
    torch.manual_seed(0)
    return torch.randn(2, 6, 5, dtype=torch.float64), torch.randn(2, 6, 5, dtype=torch.float64)


@pytest.mark.parametrize("name", CRITERIA)
def test_gradients_are_derivatives(name, pair):
    z, target = (x.clone().requires_grad_() for x in pair)
    assert torch.autograd.gradcheck(CRITERIA[name], (z, target))


@pytest.mark.parametrize("name", CRITERIA)
def test_order_of_the_batch_and_of_the_views_does_not_matter(name, pair):
    z, target = pair
    loss, order = CRITERIA[name](z, target), torch.randperm(6)
    torch.testing.assert_close(CRITERIA[name](z[:, order], target[:, order]), loss, rtol=1e-12, atol=0)
    torch.testing.assert_close(CRITERIA[name](swap(z), swap(target)), loss, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("name", "by_scale", "by_rotation"), [
    ("info_nce", True, True), ("cosine", True, True), ("invariance", False, True), ("cross_correlation", True, False),
])  # fmt: skip
def test_what_a_criterion_cannot_see(name, by_scale, by_rotation, pair):
    z, target = pair
    loss, criterion = CRITERIA[name](z, target), CRITERIA[name]
    rotation = torch.linalg.qr(torch.randn(5, 5, dtype=torch.float64)).Q
    close = lambda other: torch.allclose(other, loss, rtol=1e-4)  # noqa: E731
    assert close(criterion(3 * z, 3 * target)) == by_scale
    assert close(criterion(z @ rotation, target @ rotation)) == by_rotation


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("make", [torch.zeros, torch.ones, lambda *s: 1e4 * torch.ones(*s), torch.randn])
@pytest.mark.parametrize("batch", [1, 4])
def test_degenerate_batches_give_a_finite_loss_and_gradient(name, make, batch):
    z = make(2, batch, 8).requires_grad_()
    loss = CRITERIA[name](z, make(2, batch, 8))
    loss.backward()
    assert loss.isfinite() and z.grad.isfinite().all()


@pytest.mark.parametrize("name", CRITERIA)
def test_half_precision_is_computed_in_full(name, pair):
    z, target = (x.bfloat16() for x in pair)
    loss = CRITERIA[name](z, target)
    assert loss.dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        inside = CRITERIA[name](z, target)
    assert torch.equal(inside, loss) and torch.equal(loss, CRITERIA[name](z.float(), target.float()))


def test_a_perfect_prediction_costs_least(pair):
    z, _ = pair
    assert float(Cosine()(z, z)) == pytest.approx(0, abs=1e-12)
    assert float(Invariance(25.0)(z, z)) == 0
    for criterion in CRITERIA.values():
        assert criterion(z, z) < criterion(z, z.roll(1, dims=1))
