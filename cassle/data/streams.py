"""A scenario is data: functions that cut a training set into tasks, each a tensor of indices."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from cassle.errors import UserError
from cassle.kinds import Count

Tasks = list[Int[Tensor, "..."]]


def class_incremental(
    labels: Int[Tensor, " n"] | Sequence[int], tasks: Count = 5, seed: int = 5, classes_each: tuple[Count, ...] = ()
) -> Tasks:
    """The classes are shuffled, then dealt out in runs of equal length (or one longer than others, where they do not divide).

    `classes_each` deals them out unevenly: (50, 10, 10), say, whatever `tasks` is.  Images without a label are in no task.
    """
    labels = torch.as_tensor(labels)
    classes = labels.unique()
    classes = classes[classes >= 0]
    if not len(classes):
        raise UserError("stream: class_incremental needs labels, and no image has one; choose data_incremental, domain_incremental or joint")
    if classes_each and sum(classes_each) != len(classes):
        raise UserError(f"stream.classes_each adds up to {sum(classes_each)}, but there are {len(classes)} classes")
    tasks = len(classes_each) or tasks
    if not 1 <= tasks <= len(classes):
        raise UserError(f"stream.tasks is {tasks}, but there are {len(classes)} classes: choose 1 to {len(classes)}")
    order = classes[torch.randperm(len(classes), generator=torch.Generator().manual_seed(seed))]
    shares = order.split(list(classes_each)) if classes_each else order.tensor_split(tasks)
    return [torch.isin(labels, own).nonzero().flatten() for own in shares]


def data_incremental(n: int, tasks: Count = 5, seed: int = 42) -> Tasks:
    """The images are shuffled, then dealt out; what does not divide goes to the first task."""
    if not 1 <= tasks <= n:
        raise UserError(f"stream.tasks is {tasks}, but there are {n} images: choose 1 to {n}")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return list(order.split([n // tasks + n % tasks] + [n // tasks] * (tasks - 1)))


def domain_incremental(domains: Int[Tensor, " n"] | Sequence[int]) -> Tasks:
    """One domain (photos, sketches, ...) a task, in the order that the data set has them."""
    domains = torch.as_tensor(domains)
    return [(domains == domain).nonzero().flatten() for domain in domains.unique()]


def joint(n: int) -> Tasks:
    """Everything at once: the upper bound."""
    return [torch.arange(n)]


def fraction(n: int, of: Count = 5, seed: int = 42) -> Tasks:
    """One random part of everything, 1 / `of`: what a single task's worth of images can teach."""
    return data_incremental(n, of, seed)[-1:]
