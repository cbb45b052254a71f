"""Criteria against the published code, against their formulas, and against what must always hold."""

import math
from copy import deepcopy

import pytest
import torch

from torch.nn.functional import one_hot

from cassle.losses import Cosine, CrossCorrelation, InfoNCE, Invariance, Prototypes, Whitened, crossed, sinkhorn, swap
from cassle.methods.vicreg import flatness, redundancy

def given(prototypes, length=1.0):
    """Prototypes with these directions."""
    made = Prototypes(prototypes.shape[1], (len(prototypes),), 0.1).double()
    made.direction.data.copy_(prototypes)
    made.length.data.fill_(length)
    return made


def swav(z, g):
    c = given(g["prototypes"])
    students, codes = crossed(z, sinkhorn(c.scores(z).detach()))
    return c(students, students, codes=codes)


def dino(z, g):
    c = given(g["prototypes"], 5.0)
    codes = ((g["dino.teacher_logits"].unflatten(0, (2, -1)) - g["dino.center"]) / g["dino.teacher_temperature"]).softmax(-1)
    students, codes = crossed(z, codes)
    return c(students, students, codes=codes)


def deepcluster(z, g):
    c = given(g["prototypes"])
    return c(z, z, codes=one_hot(g["deepcluster.assignment"].expand(2, -1), 30).double())


def vicreg(z, g):
    return Invariance(25.0)(z, swap(z)) + 25 * flatness(z) + redundancy(z)


def student(g):
    own = given(g["prototypes"])
    norms = g["student_prototypes"].norm(dim=1, keepdim=True)
    own.direction.data.copy_(g["student_prototypes"])
    own.length.data.copy_(norms)
    return own


GOLDEN = {  # name: (criterion on its two differentiated inputs, what they are called)
    "simclr": (lambda z, g: InfoNCE(0.2)(z, swap(z), exclude_self=True), "z"),
    "supcon": (lambda z, g: InfoNCE(0.2)(z, swap(z), exclude_self=True, labels=g["labels"]), "z"),
    "distill.infonce": (lambda p, g: InfoNCE(0.2)(p, past(g)), "p"),
    "barlow": (lambda z, g: CrossCorrelation(5e-3, 0.1)(z, swap(z)), "z"),
    "distill.cross_correlation": (lambda p, g: CrossCorrelation(5e-3, 0.1)(p, past(g)), "p"),
    "byol": (lambda p, g: 2 * Cosine()(p, swap(past(g))), "p"),
    "distill.cosine": (lambda p, g: Cosine()(p, past(g)), "p"),
    "simsiam": (lambda p, g: Cosine()(p, swap(torch.stack([g["z1"], g["z2"]]))) / 2 - 1, "p"),
    "vicreg": (vicreg, "z"),
    "distill.invariance": (lambda p, g: Invariance(25.0)(p, past(g)), "p"),
    "moco": (lambda z, g: InfoNCE(0.2)(z, swap(past(g)), negatives=swap(g["queue"])), "z"),
    "nnclr": (lambda p, g: InfoNCE(0.2)(past(g), swap(p), one_way=True), "p"),
    "swav": (swav, "z"),
    "distill.prototypes.same": (lambda p, g: given(g["prototypes"])(p, past(g)), "p"),
    "distill.prototypes.own": (lambda p, g: given(g["prototypes"])(p, past(g), student=student(g)), "p"),
    "dino": (dino, "z"),
    "deepclusterv2": (deepcluster, "z"),
    "wmse_unwhitened_pair": (lambda z, g: Whitened(Cosine(), eps=0.0)(z, swap(z)), "wmse.z"),
}
CRITERIA = {
    "info_nce": InfoNCE(0.2),
    "cosine": Cosine(),
    "invariance": Invariance(25.0),
    "cross_correlation": CrossCorrelation(),
    "prototypes": Prototypes(5, (4, 3)).double(),
    "whitened": Whitened(Cosine(), eps=1e-6),
}


def past(g):
    return torch.stack([g["f1"], g["f2"]])


def test_every_golden_loss_is_tested(losses):
    assert {name.removeprefix("loss.") for name in losses if name.startswith("loss.")} == set(GOLDEN)


@pytest.mark.parametrize("name", GOLDEN)
def test_value_and_gradient_are_the_published_code_s(name, losses):
    formula, letter = GOLDEN[name]
    inputs = [losses[f"{letter}{view}"].clone().requires_grad_() for view in (1, 2)]
    loss = formula(torch.stack(inputs), losses)
    loss.backward()
    torch.testing.assert_close(loss.detach(), losses[f"loss.{name}"], rtol=1e-9, atol=0)
    for i, z in enumerate(inputs):
        wanted = losses[f"grad{i}.{name}"]
        torch.testing.assert_close(z.grad, wanted, rtol=1e-9, atol=1e-9 * float(wanted.abs().max()))


def test_whitening_sinkhorn_and_dino_s_centre_are_the_published_code_s(losses):
    z = torch.stack([losses["wmse.z1"], losses["wmse.z2"]])
    white = Whitened(eps=0.0).whiten(z)
    torch.testing.assert_close(white[0], losses["whitened.z1"], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(white.mT @ white / 63, torch.eye(12).double().expand(2, -1, -1), rtol=1e-9, atol=1e-9)
    codes = sinkhorn(losses["sinkhorn.scores"])
    torch.testing.assert_close(codes, losses["sinkhorn.assignments"], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(sinkhorn(losses["sinkhorn.scores"], iterations=500).sum(0), torch.full((30,), 16 / 30).double())
    centre = losses["dino.center"].lerp(losses["dino.teacher_logits"].mean(0, keepdim=True), 0.1)
    torch.testing.assert_close(centre, losses["dino.center_after"], rtol=1e-9, atol=1e-12)


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
    z, target = pair[0].clone().requires_grad_(), pair[1].clone().requires_grad_(name != "prototypes")  # its target has none
    assert torch.autograd.gradcheck(CRITERIA[name], (z, target))


@pytest.mark.parametrize("name", CRITERIA)
def test_order_of_the_batch_and_of_the_views_does_not_matter(name, pair):
    z, target = pair
    loss, order = CRITERIA[name](z, target), torch.randperm(6)
    torch.testing.assert_close(CRITERIA[name](z[:, order], target[:, order]), loss, rtol=1e-12, atol=0)
    torch.testing.assert_close(CRITERIA[name](swap(z), swap(target)), loss, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("name", "by_scale", "by_rotation"), [
    ("prototypes", True, False), ("whitened", True, False), ("info_nce", True, True), ("cosine", True, True), ("invariance", False, True), ("cross_correlation", True, False),
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
    z = make(2, batch, 5).requires_grad_()
    loss = deepcopy(CRITERIA[name]).float()(z, make(2, batch, 5))
    loss.backward()
    assert loss.isfinite() and z.grad.isfinite().all()


@pytest.mark.parametrize("name", CRITERIA)
def test_half_precision_is_computed_in_full(name, pair):
    z, target = (x.bfloat16() for x in pair)
    criterion = deepcopy(CRITERIA[name]).float()
    loss = criterion(z, target)
    assert loss.dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        inside = criterion(z, target)
    assert torch.equal(inside, loss) and torch.equal(loss, criterion(z.float(), target.float()))


def test_a_perfect_prediction_costs_least(pair):
    z, _ = pair
    assert float(Cosine()(z, z)) == pytest.approx(0, abs=1e-12)
    assert float(Invariance(25.0)(z, z)) == 0
    for criterion in CRITERIA.values():
        assert criterion(z, z) < criterion(z, z.roll(1, dims=1))
