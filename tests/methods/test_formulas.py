"""Each method's own loss against its formula, written out slowly in float64; and what moves besides the gradient."""

from copy import deepcopy
from dataclasses import replace
from math import cos, exp, log, pi

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize

from cassle.clock import Clock
from cassle.methods.byol import BYOL
from cassle.methods.deepclusterv2 import DeepClusterV2
from cassle.methods.dino import DINO
from cassle.methods.mocov2plus import MoCoV2Plus
from cassle.methods.nnclr import NNCLR
from cassle.methods.ressl import ReSSL
from cassle.methods.supervised import Supervised
from cassle.methods.swav import SwAV
from cassle.methods.wmse import WMSE
from cassle.networks.encoder import Embedding
from cassle.networks.resnet import resnet10
from cassle.randomness import fold, key, permutation
from cassle.typing import Batch, Task
from tests.methods.stand_ins import Gives, embedding, made


def batch(n, epoch=0, views=(), labels=None, number=5):
    labels = torch.arange(n) % 4 if labels is None else labels
    return Batch(torch.zeros(n, 3, 2, 2, dtype=torch.uint8), torch.arange(n), labels, torch.tensor(number), views, epoch)


def some(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def pictures(n=8):
    return tuple(some(2, n, 3, 12, 12))


def close(ours, theirs):
    torch.testing.assert_close(torch.as_tensor(ours).detach(), torch.as_tensor(theirs, dtype=torch.float64), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [BYOL, MoCoV2Plus, DINO, ReSSL])
def test_slow_copies_take_one_step_towards_the_fast(kind):
    extras = {BYOL: {}, DINO: {"prototypes": 6}}.get(kind, {"queue": 16})
    method, views = made(kind, momentum=(0.9, 0.98), **extras), batch(8, views=pictures())
    now = method.encoder(views.views)
    method.loss(now, views)
    pairs = [(method.target.copy, method.encoder)] + ([(method.teacher.copy, method.criterion)] if kind is DINO else [])
    with torch.no_grad():
        for p in method.parameters():
            p += 0.1 * torch.randn_like(p)
        tau = 0.98 - 0.08 * (cos(pi / 2) + 1) / 2
        wanted = [[tau * s + (1 - tau) * f for s, f in zip(slow.parameters(), fast.parameters())] for slow, fast in pairs]
        method.after_step(Clock(0, 0, 4, 8, 4), now, views)
    for (slow, _), after in zip(pairs, wanted):
        assert not any(s.requires_grad for s in slow.parameters())
        close(torch.cat([s.flatten() for s in slow.parameters()]), torch.cat([s.flatten() for s in after]))


@pytest.mark.parametrize("kind", [MoCoV2Plus, ReSSL, NNCLR, SwAV])
def test_a_queue_takes_in_what_was_seen_last_in_the_place_of_the_oldest(kind):
    method, queued = made(kind, queue=12, **({"prototypes": 6} if kind is SwAV else {})), []
    method.begin_task(Task(0, torch.arange(8)))
    for seed in range(2):
        now, keys = embedding(some(2, 8, 24, seed=seed)), normalize(some(2, 8, 24, seed=seed + 9), dim=-1)
        if kind in (MoCoV2Plus, ReSSL):
            method.target = Gives(embedding(keys))
        method.loss(now, batch(8))
        with torch.no_grad():
            method.after_step(Clock(0, 0, 1, 8), now, batch(8))
        queued.append({MoCoV2Plus: keys, ReSSL: keys[:1], NNCLR: normalize(now.z[:1], dim=-1), SwAV: now.z}[kind])
    first, second = queued
    close(method.queue.z.mT, torch.cat((second[:, 4:], first[:, 4:], second[:, :4]), dim=1))


@pytest.mark.parametrize("kind", [SwAV, DINO])
def test_prototypes_rest_in_a_task_s_first_epochs_and_then_move(kind):
    """Two epochs of two steps; lengths too, where they are learned."""
    method = made(kind, prototypes=6, freeze=2)
    for step in range(6):
        before = deepcopy(method.criterion.state_dict())
        optimizer = torch.optim.SGD([p for p in method.parameters() if p.requires_grad], 0.1)
        clock, views = Clock(0, 1, 2, 8, step), batch(8, epoch=step // 2, views=pictures())
        method.loss(method.encoder(views.views), views).backward()
        method.after_backward(clock)
        optimizer.step()
        optimizer.zero_grad()
        for name, parameter in method.criterion.named_parameters():
            assert torch.equal(parameter, before[name]) == (step < 4 or not parameter.requires_grad)


def cross_entropy(codes, z, c, T=0.1):
    """Of unit z's scores on the prototypes c, view by view against the codes beside them."""
    total, n = 0.0, 0
    for code, one in zip(codes.flatten(0, 1).tolist(), normalize(z, dim=-1).detach().flatten(0, 1)):
        e = [exp(float(one @ row) / T) for row in c.detach()]
        total, n = total - sum(p * log(x / sum(e)) for p, x in zip(code, e)), n + 1
    return total / n


def test_swav_balances_its_assignments_with_the_queue_s_help():
    method = made(SwAV, prototypes=6, queue=16, queue_from=3)
    seen = [some(2, 8, 24, seed=seed) for seed in range(3)]
    for z in seen[:2]:
        with torch.no_grad():
            method.after_step(Clock(0, 0, 1, 8), embedding(z), batch(8))
    c = normalize(method.criterion.direction, dim=1) * method.criterion.length
    for epoch, crowd in ((2, seen[2]), (3, torch.cat((seen[2], seen[0], seen[1]), dim=1))):
        q = (normalize(crowd, dim=-1) @ c.T / 0.05).exp().detach()
        for _ in range(3):
            q = q / q.sum(1, keepdim=True)
            q = q / q.sum(2, keepdim=True)
        close(method.loss(embedding(seen[2]), batch(8, epoch)), cross_entropy(q[:, :8].flip(0), seen[2], c))


def test_swav_s_queue_is_emptied_for_a_new_task_and_its_prototypes_go_on():
    method = made(SwAV, prototypes=6, queue=16)
    with torch.no_grad():
        method.after_step(Clock(0, 0, 1, 8), embedding(some(2, 8, 24)), batch(8))
    prototypes = deepcopy(method.criterion.state_dict())
    method.begin_task(Task(1, torch.arange(8)))
    assert not method.queue.z.any() and not method.queue.head.any()
    assert all(torch.equal(prototypes[name], tensor) for name, tensor in method.criterion.state_dict().items())


@pytest.mark.parametrize(("epoch", "T"), [(0, 0.04), (3, 0.055), (6, 0.07), (99, 0.07)])
def test_dino_is_told_by_its_slow_copy_on_the_slow_copy_s_prototypes(epoch, T):
    method, views = made(DINO, prototypes=6, teacher=(0.04, 0.07), warmup=6), batch(8, epoch, pictures())
    with torch.no_grad():
        for p in (*method.target.parameters(), *method.teacher.parameters()):
            p += 0.1 * torch.randn_like(p)
        method.centre.copy_(0.1 * some(6))
    slow, now = deepcopy(method.target.copy)(views.views).z.detach(), method.encoder(views.views)
    theirs, ours = (normalize(c.direction, dim=1) * c.length for c in (method.teacher.copy, method.criterion))
    scores = normalize(slow, dim=-1) @ theirs.T
    codes = ((scores - method.centre) / T).exp()
    codes = (codes / codes.sum(-1, keepdim=True)).detach()
    close(method.loss(now, views), cross_entropy(codes.flip(0), now.z, ours))


def test_ressl_is_as_near_to_everybody_as_its_slow_copy_s_other_view():
    method = made(ReSSL, temperature=0.2, teacher=0.05, queue=10)
    z, keys = normalize(some(2, 4, 24), dim=-1), normalize(some(2, 4, 24, seed=1), dim=-1)
    method.target, queue, total = Gives(embedding(keys)), method.queue.z[0].T, 0.0
    for v in range(2):
        for i in range(4):
            here, there = ([exp(float(x @ q) / T) for q in queue] for x, T in ((z[v, i], 0.2), (keys[1 - v, i], 0.05)))
            total -= sum(p / sum(there) * log(e / sum(here)) for p, e in zip(there, here)) / 8
    close(method.loss(embedding(z), batch(4)), total)


def test_deepcluster_learns_the_clusters_of_what_it_saw_in_the_last_epoch():
    """Three clusterings: of the first view's embeddings, of the second's, of the first's from another start."""
    method, counts = made(DeepClusterV2, prototypes=(3, 4, 3), iterations=1), (3, 4, 3)
    task, seen = Task(1, torch.arange(40, 60)), some(2, 20, 24)
    method.begin_task(task)
    method.double()
    for part in (slice(0, 10), slice(10, 19)):  # the last image had no batch
        index = torch.arange(40, 60).flip(0)[part]
        with torch.no_grad():
            method.after_step(Clock(3, 1, 2, 8), embedding(seen[:, part]), replace(batch(len(index)), index=index))
    remembered = torch.cat((normalize(seen[:, :19], dim=-1), torch.zeros(2, 1, 24)), dim=1).flip(1)
    close(method.memory, remembered)
    method.begin_epoch(Clock(3, 1, 2, 8, 2))
    for number, count in enumerate(counts):  # one iteration, which is not enough to settle
        x = remembered[number % 2].tolist()
        near = lambda row, c: max(range(len(c)), key=lambda k: sum(a * b for a, b in zip(row, c[k])))  # noqa: E731, B023
        c = [x[i] for i in permutation(key(3, "k-means", 1, 1, number), 20)[:count].tolist()]
        kinds = [near(row, c) for row in x]
        sums = [[sum(column) for column in zip(*[row for row, kind in zip(x, kinds) if kind == k])] or c[k] for k in range(count)]
        c = [[a / max(sum(b * b for b in row) ** 0.5, 1e-12) for a in row] for row in sums]
        kinds = [-1 if place == 0 else near(row, c) for place, row in enumerate(x)]
        close(method.criterion.direction.split(counts)[number], c)
        assert method.clusters[number].tolist() == kinds
    z, index = some(2, 6, 24, seed=1), torch.tensor([59, 45, 41, 50, 52, 57])
    total = 0.0
    for c, clusters in zip(method.criterion.direction.split(counts), method.clusters):
        codes = nn.functional.one_hot(clusters[index - 40], len(c)).double()
        total += cross_entropy(codes.expand(2, -1, -1), z, c) / 3
    close(method.loss(embedding(z), replace(batch(6, epoch=1), index=index)), total)


def test_wmse_whitens_slices_and_averages_over_rounds():
    method, z, total = made(WMSE, 6, size=10, rounds=3, eps=0.0), some(2, 24, 6), 0.0
    for number in range(3):
        order = fold(fold(5, torch.tensor(number)), torch.arange(24)).argsort().tolist()
        for place in (0, 10):  # two slices of ten; four images are left over
            x = z[:, order[place : place + 10]]
            x = x - x.mean(1, keepdim=True)
            white = [torch.linalg.inv(torch.linalg.cholesky(v.T @ v / 9)) @ v.T for v in x]
            a, b = (w.T / w.T.norm(dim=1, keepdim=True) for w in white)
            total += float((2 - 2 * (a * b).sum(1)).mean()) / 6
    close(method.loss(embedding(z), batch(24)), total)


def test_supervised_chooses_among_the_classes_of_the_batch():
    torch.manual_seed(0)
    method, labels = Supervised(resnet10(width=4), classes=7).double(), torch.tensor([2, 5, 5, 3])
    f, total = some(2, 4, method.encoder.backbone.dim), 0.0
    for view in f:
        for one, y in zip(view, labels.tolist()):
            e = {k: exp(float((method.classifier.weight[k] @ one + method.classifier.bias[k]).detach())) for k in (2, 3, 5)}
            total -= log(e[y] / sum(e.values())) / 8
    loss = method.loss(Embedding(f, f), batch(4, labels=labels))
    loss.backward()
    close(loss, total)
    assert method.classifier.bias.grad[[0, 1, 4, 6]].eq(0).all()  # the absent are not pushed down
