"""Streams against the published splits, and the laws of cutting."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cassle.config import component
from cassle.data.dataset import Split, cut
from cassle.data.images import Images
from cassle.data.streams import class_incremental, data_incremental, domain_incremental, fraction, joint
from cassle.errors import UserError


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


def classes_of(tasks, labels):
    return [sorted(labels[task].unique().tolist()) for task in tasks]


def test_uneven_classes_are_the_even_order_cut_elsewhere():
    labels = torch.arange(100).repeat(3)
    order = [c for task in class_incremental(labels, 100, seed=5) for c in labels[task[:1]].tolist()]
    tasks = class_incremental(labels, seed=5, classes_each=(50, 10, 10, 30))
    assert classes_of(tasks, labels) == [sorted(order[a:b]) for a, b in ((0, 50), (50, 60), (60, 70), (70, 100))]
    assert is_partition(tasks, 300)
    with pytest.raises(UserError, match="stream.classes_each adds up to 60, but there are 100 classes"):
        class_incremental(labels, classes_each=(50, 10))


def test_tasks_that_do_not_divide_differ_by_one_class():
    assert [len(c) for c in classes_of(class_incremental(torch.arange(100), 7), torch.arange(100))] == [15, 15, 14, 14, 14, 14, 14]


@given(st.integers(1, 200), st.data())
def test_a_fraction_is_one_task_s_worth(n, data):
    of = data.draw(st.integers(1, n))
    (task,) = fraction(n, of)
    assert len(task) == n // of and len(task.unique()) == len(task) and 0 <= task.min() and task.max() < n
    assert of == 1 or torch.equal(task, data_incremental(n, of)[-1])


def test_joint_is_everything_in_place():
    assert [task.tolist() for task in joint(4)] == [[0, 1, 2, 3]]


def test_domains_come_in_the_order_of_the_data_set():
    assert [task.tolist() for task in domain_incremental(torch.tensor([2, 0, 1, 0, 2]))] == [[1, 3], [2], [0, 4]]


def test_images_without_a_label_are_in_no_class():
    labels = torch.tensor([-1, 3, -1, 1, 3])
    tasks = class_incremental(labels, 2)
    assert torch.cat(tasks).sort().values.tolist() == [1, 3, 4] and classes_of(tasks, labels) in ([[1], [3]], [[3], [1]])


def test_what_is_not_labelled_at_all_can_still_be_cut():
    none = torch.full((12,), -1)
    split = Split(Images(torch.zeros(12, 2, 2, 3, dtype=torch.uint8)), none, torch.arange(12) % 3)
    for name, count in {"data_incremental": 5, "domain_incremental": 3, "joint": 1, "fraction": 1}.items():
        tasks = cut(component("data/streams", name, "stream"), split)
        assert len(tasks) == count and (name == "fraction" or is_partition(tasks, 12))
    with pytest.raises(UserError, match="class_incremental needs labels, and no image has one; choose data_incremental"):
        cut(component("data/streams", "class_incremental", "stream"), split)
