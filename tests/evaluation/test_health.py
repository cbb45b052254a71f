"""Signs of collapse."""

import pytest
import torch

from cassle.evaluation.health import rankme
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
