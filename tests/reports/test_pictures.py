"""What the pictures claim: neighbours are nearest, samples are even, labels do not touch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.nn import functional as F

from cassle.data.emoji import emoji
from cassle.reports import sight
from cassle.reports.plots import Line, _apart, cloud, curves, thinned


@pytest.fixture(scope="module")
def domains():
    dataset = emoji()
    return sight.sample(dataset, [(dataset.test.domains == d).nonzero().flatten() for d in range(4)], 160)


def test_a_sample_is_even_over_columns_and_classes(domains):
    assert domains.column.bincount().tolist() == [40] * 4
    counts = torch.stack([domains.labels[domains.column == d].bincount(minlength=8) for d in range(4)])
    whole = emoji().test.labels.bincount() / len(emoji().test)
    assert (counts - 40 * whole).abs().max() < 1
    assert torch.equal(domains.dataset.test.domains, domains.column)


def test_queries_are_of_every_column_and_of_unlike_classes(domains):
    chosen = sight.queries(domains, 2)
    assert domains.column[chosen].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert (domains.labels[chosen][::2] != domains.labels[chosen][1::2]).all()


def test_neighbours_are_the_nearest_others():
    features = F.normalize(torch.randn(50, 8, generator=torch.Generator().manual_seed(0)), dim=1)
    for query, near in zip(range(50), sight.nearest(features, torch.arange(50))):
        others = [i for i in range(50) if i != query]
        assert near.tolist() == sorted(others, key=lambda i: -float(features[query] @ features[i]))[: sight.NEAR]


def test_kinship_of_separate_classes_is_whole():
    labels = torch.arange(3).repeat_interleave(10)
    features = F.normalize(F.one_hot(labels).float() + 0.01 * torch.rand(30, 3), dim=1)
    assert sight.kinship(features, labels, torch.arange(30)) == 100
    assert sight.kinship(features, torch.arange(30), torch.arange(30)) == 0


def test_layouts_of_many_few_and_no_different_points():
    features = torch.randn(80, 8, generator=torch.Generator().manual_seed(0))
    first = sight.layout(features)
    assert first.shape == (80, 2) and np.array_equal(first, sight.layout(features))
    assert sight.layout(features, first).shape == (80, 2)
    assert sight.layout(features[:10]).shape == (10, 2)
    assert sight.layout(torch.ones(80, 8)) is None
    assert sight.layout(torch.full((80, 8), torch.nan)) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 170), min_size=1, max_size=14))
def test_labels_keep_their_order_and_their_distance(wanted):
    places = _apart(sorted(wanted), gap=12, high=170)
    assert all(b - a > 12 - 1e-6 for a, b in zip(places, places[1:]))
    assert -1e-6 <= places[0] and places[-1] <= 170 + 1e-6


def test_labels_with_room_stay_where_they_belong():
    assert _apart([10, 50, 90], gap=12, high=170) == [10, 50, 90]


def test_a_thinned_curve_keeps_its_mean():
    x, y = thinned(range(1000), np.sin(np.arange(1000)).tolist(), 100)
    assert len(x) == len(y) == 100 and np.isclose(np.mean(x), 499.5)


def test_figures_have_no_ids_and_no_colours_of_their_own():
    lines = [Line("<&>$\\alpha$ 1.23456", number, (1, 2, 3), (1.0, float("nan"), 2.0), "run", 0) for number in (0, 9, None)]
    for svg in (curves(lines, tasks=("a", "b", "c")), curves(lines, starts=[(0, "a"), (2, "b")]), cloud(np.eye(20)[:, :2], np.arange(20))):
        assert not any(word in svg for word in (" id=", "url(", "href", "font-family", "#f", "nan"))
        assert svg.startswith('<svg viewBox="') and "var(--" in svg
    assert "&lt;&amp;&gt;$\\alpha$ 1.23456" in curves(lines, tasks=("a", "b", "c"))
