"""Streams against the published splits, and the laws of cutting."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cassle.data.streams import class_incremental, data_incremental, domain_incremental, joint


def test_the_published_class_order(splits):
    order = splits["class_order_seed5"]
    labels = torch.arange(100).repeat(3)
    for T in (2, 5, 10):
        tasks = class_incremental(labels, T, seed=5)
        run = 100 // T
        assert [set(labels[task].tolist()) for task in tasks] == [set(order[i * run : (i + 1) * run]) for i in range(T)]


def test_the_published_data_split(splits):
    tasks = data_incremental(1003, 5, seed=42)
    assert [task[:10].tolist() for task in tasks] == splits["data_split_seed42_of_1003_first10"]
    assert [len(task) for task in tasks] == splits["data_split_sizes"]


def is_partition(tasks, n):
    return torch.cat(tasks).sort().values.tolist() == list(range(n))


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.data())
def test_tasks_partition_the_data(labels, data):
    labels = torch.tensor(labels)
    n, classes = len(labels), len(labels.unique())
    T = data.draw(st.integers(1, classes))
    tasks = class_incremental(labels, T, seed=data.draw(st.integers(0, 99)))
    counts = [len(labels[task].unique()) for task in tasks]
    assert is_partition(tasks, n) and len(tasks) == T
    assert sum(counts) == classes and max(counts) - min(counts) <= 1  # no class in two tasks, and an even share
    assert is_partition(data_incremental(n, data.draw(st.integers(1, n)), seed=1), n)
    assert is_partition(domain_incremental(labels), n)
    assert is_partition(joint(n), n)


def test_class_streams_do_not_care_what_classes_are_called():
    labels = torch.randint(7, (50,))
    renamed = 10 * labels + 3  # the same order of names
    assert all(torch.equal(a, b) for a, b in zip(class_incremental(labels, 3, 1), class_incremental(renamed, 3, 1)))


@pytest.mark.parametrize("cut", [lambda: class_incremental(torch.tensor([0, 1]), 3, 5), lambda: data_incremental(2, 3, 5)])
def test_more_tasks_than_there_is_to_cut(cut):
    with pytest.raises(ValueError, match="stream.tasks is 3"):
        cut()
