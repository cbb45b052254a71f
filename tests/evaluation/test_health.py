"""Signs of collapse."""

import pytest
import torch

from cassle.evaluation.health import alignment, cka, overlap, rankme, spread, uniformity
from cassle.networks.encoder import Embedding


def test_rankme_counts_equal_directions_whatever_their_size_and_angle():
    torch.manual_seed(0)
    basis = torch.linalg.qr(torch.randn(40, 40, dtype=torch.float64)).Q
    for k in (1, 3, 12):
        features = basis[:, :k] @ basis[:k, :12].clone() if k < 12 else basis[:, :12]
        features = torch.linalg.qr(features).Q[:, :k] @ torch.linalg.qr(torch.randn(12, 12, dtype=torch.float64)).Q[:k]
        assert rankme(features) == pytest.approx(k, rel=1e-6) and rankme(5 * features) == pytest.approx(k, rel=1e-6)
    assert rankme(torch.zeros(5, 3)) == 0
    assert rankme(torch.randn(50, 8)) <= 8


def test_spread_is_one_for_all_directions_and_none_for_one():
    torch.manual_seed(0)
    everywhere, one = torch.randn(2, 4000, 64), torch.ones(2, 4000, 64)
    assert float(Embedding(everywhere, everywhere).spread) == pytest.approx(1, abs=0.02)
    assert float(Embedding(one, one).spread) == pytest.approx(0, abs=1e-5)


def test_the_features_own_spread_is_the_same_measure():
    torch.manual_seed(0)
    f = torch.randn(300, 12)
    assert spread(f) == pytest.approx(float(Embedding(f[None], f[None]).spread)) and spread(torch.ones(20, 4)) == pytest.approx(0, abs=1e-6)


def test_alignment_and_uniformity_on_what_can_be_reckoned_by_hand():
    f = torch.eye(4) * torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert alignment(f, 5 * f) == pytest.approx(0) and alignment(f, f.roll(1, 0)) == pytest.approx(2)
    assert uniformity(f) == pytest.approx(-4)  # all pairs at a squared distance of 2
    assert uniformity(torch.ones(4, 3)) == pytest.approx(0, abs=1e-6)


def test_cka_sees_no_turn_and_no_scale_but_what_is_lost():
    torch.manual_seed(0)
    x = torch.randn(200, 6, dtype=torch.float64)
    turned = 3 * x @ torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64)).Q + 7
    assert cka(x, turned) == pytest.approx(1) and cka(x, torch.randn(200, 6).double()) < 0.2 < cka(x, x[:, :3]) < 0.95
    gram = [(f - f.mean(0)) @ (f - f.mean(0)).T for f in (x, x[:, :3])]
    assert cka(x, x[:, :3]) == pytest.approx(float((gram[0] * gram[1]).sum() / (gram[0].norm() * gram[1].norm())))
    assert cka(torch.ones(5, 2), x[:5]) == 0


def test_neighbours_are_kept_by_a_turn_and_lost_by_chance():
    torch.manual_seed(0)
    x = torch.randn(100, 8)
    assert overlap(x, 2 * x @ torch.linalg.qr(torch.randn(8, 8)).Q) == 1
    assert overlap(x, torch.randn(100, 8)) == pytest.approx(10 / 99, abs=0.04)
    assert overlap(x[:3], x[:3]) == 1
