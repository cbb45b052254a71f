"""The reservoir: uniform, exact, of a stated size, and one for all processes; and who lives on it."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from cassle.methods.simclr import SimCLR
from cassle.networks.resnet import resnet10
from cassle.randomness import branch, fold, key
from cassle.registry import load, names
from cassle.strategies.er import ER
from cassle.strategies.lump import LUMP
from cassle.strategies.memory import LARGEST, Reservoir
from cassle.typing import Batch, Task


def numbered(numbers, seed=0, dim=0):
    """Images that show their number; so do their label and their embedding."""
    n = torch.as_tensor(numbers)
    images = n.to(torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 2, 2)
    z = n.float()[:, None].expand(-1, dim) if dim else None
    return Batch(images, n, n, torch.tensor(key(seed)), z=z)


def test_it_is_algorithm_r_with_the_last_newcomer_to_a_place_staying():
    memory, slots = Reservoir(4, (2, 2), dim=3), {}
    chances = branch(torch.tensor(key(7)), "reservoir")
    for start in range(0, 96, 32):  # batches far larger than the memory: many newcomers want one place
        memory.add(numbered(range(start, start + 32), 7, dim=3))
        for s in range(start, start + 32):
            j = s if s < 4 else (int(fold(chances, torch.tensor(s))) & LARGEST) % (s + 1)
            if j < 4:
                slots[j] = s
        assert memory.labels.tolist() == [slots[j] for j in range(4)]
        assert torch.equal(memory.images[:, 1, 1, 0].long(), memory.labels) and torch.equal(memory.z[:, 2].long(), memory.labels)
    assert int(memory.seen) == 96


def test_it_is_uniform_over_all_that_was_offered():
    images, capacity, runs = 40, 8, 500
    counts = torch.zeros(images, dtype=torch.float64)
    for seed in range(runs):
        memory = Reservoir(capacity, (2, 2))
        for start, stop in ((0, 12), (12, 20), (20, 40)):
            memory.add(numbered(range(start, stop), f"{seed}, {start}"))
        assert memory.labels.unique().numel() == capacity
        counts[memory.labels] += 1
    expected = runs * capacity / images
    # Without replacement, the counts of one run hold each other back: hence the factor.
    chi_square = float(((counts - expected) ** 2 / expected).sum() * (images - 1) / (images - capacity))
    assert 15 < chi_square < 75  # 39 degrees of freedom: 39 +- 9; beyond these, fewer than one in 1000


def test_how_images_come_in_batches_does_not_matter():
    whole, parts = Reservoir(8, (2, 2)), Reservoir(8, (2, 2))
    whole.add(numbered(range(60)))
    for start in range(0, 60, 6):
        parts.add(numbered(range(start, start + 6)))
    assert torch.equal(whole.images, parts.images) and torch.equal(whole.labels, parts.labels)


@pytest.mark.parametrize("dim", [0, 128])
def test_it_occupies_what_it_states(dim):
    memory = Reservoir(500, (32, 32), dim)
    assert memory.bytes == 500 * (3 * 32 * 32 + 8 + 4 * dim) + 8
    before = memory.bytes
    memory.add(Batch(torch.zeros(9, 3, 32, 32, dtype=torch.uint8), *torch.zeros(2, 9, dtype=torch.long), torch.tensor(0), z=torch.ones(9, dim)))
    assert memory.bytes == before == sum(tensor.nbytes for tensor in memory.state_dict().values())


def test_a_draw_has_no_image_twice_until_all_were_drawn_and_none_that_is_not_there():
    memory = Reservoir(16, (2, 2))
    memory.add(numbered(range(100, 112)))
    state = torch.get_rng_state()
    drawn = memory.sample(torch.tensor(key(1)), 30)
    assert torch.equal(state, torch.get_rng_state())
    assert sorted(drawn.labels[:12].tolist()) == sorted(drawn.labels[12:24].tolist()) == list(range(100, 112))
    assert torch.equal(drawn.images[:, 0, 0, 0].long(), drawn.labels)
    assert drawn.index.max() < 0 and drawn.index.unique().numel() == 30
    others = [memory.sample(torch.tensor(key(seed)), 5).labels.tolist() for seed in range(50)]
    assert len({tuple(labels) for labels in others}) == 50
    first = torch.bincount(torch.tensor([memory.sample(torch.tensor(key(s)), 1).labels for s in range(600)]) - 100, minlength=12)
    assert len(first) == 12 and 20 < first.min() and first.max() < 85  # 50 +- 7


def after_the_first_task(strategy, capacity=8):
    """A strategy of which one task is past, and a batch of the next with views that show whose they are."""
    strategy.memory = Reservoir(capacity, (2, 2))
    strategy.memory.add(numbered(range(200, 220)))
    strategy.begin_task(Task(1, torch.arange(6), (2, 2)), SimCLR(resnet10(width=4)))
    return show(numbered(range(6)))


def show(batch):
    return replace(batch, views=(batch.images.float(), batch.images.float() + 0.5))


def test_er_puts_old_images_behind_the_new_ones_with_labels_indices_and_views():
    strategy = ER(capacity=8, batch=5)
    batch = after_the_first_task(strategy)
    joint = strategy.rehearse(batch, show)
    assert len(joint) == 11 and torch.equal(joint.key, batch.key) and joint.old is None
    assert torch.equal(joint.images[:6], batch.images) and torch.equal(joint.labels[:6], batch.labels) and torch.equal(joint.index[:6], batch.index)
    assert joint.labels[6:].min() >= 200 and joint.index[6:].max() < 0
    for view, shift in zip(joint.views, (0, 0.5)):
        assert torch.equal(view[:, 0, 0, 0], joint.labels + shift)


def test_lump_mixes_every_view_by_one_number():
    strategy = LUMP(capacity=8, alpha=0.4)
    batch = after_the_first_task(strategy)
    mixed = strategy.rehearse(batch, show)
    share = strategy.mixture(batch)
    old = strategy.recall(batch, show, 6)
    assert 0 < share < 1 and len(mixed) == 6 and torch.equal(mixed.labels, batch.labels)
    for view, new, past in zip(mixed.views, batch.views, old.views):
        torch.testing.assert_close(view, share * new + (1 - share) * past)


@pytest.mark.parametrize("alpha", [0.2, 0.4, 1.0, 3.0])
def test_lump_s_numbers_are_beta_distributed(alpha):
    strategy = LUMP(alpha=alpha)
    table = strategy.quantiles.double()
    for shares, tolerance in ((table, 2e-3), (torch.stack([strategy.mixture(numbered([0], seed)) for seed in range(2000)]).double(), 0.03)):
        moment = 1.0
        for k in range(4):  # E l^k of Beta(a, a): the product of (a + j) / (2 a + j)
            moment *= (alpha + k) / (2 * alpha + k)
            assert float((shares ** (k + 1)).mean()) == pytest.approx(moment, abs=tolerance)
    assert (table.diff() >= 0).all() and 0 <= table.min() and table.max() <= 1


RANKS = """
import sys
from datetime import timedelta
import torch
from torch import distributed
from cassle.distributed import rank, world
from cassle.methods.simclr import SimCLR
from cassle.networks.resnet import resnet10
from cassle.randomness import key
from cassle.strategies.ewc import EWC
from cassle.strategies.memory import Reservoir
from cassle.typing import Batch, Task

me, size, place = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
if size > 1:
    distributed.init_process_group("gloo", init_method=f"file://{place}/meeting", rank=me, world_size=size, timeout=timedelta(seconds=60))
assert (rank(), world()) == (me, size)
memory = Reservoir(8, (2, 2), dim=3)
for step in range(5):
    number = torch.arange(12 * step, 12 * step + 12)[me * 12 // size : (me + 1) * 12 // size]
    images = number.to(torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 2, 2)
    memory.add(Batch(images, number, number, torch.tensor(key(step)), z=number.float()[:, None].expand(-1, 3)))
drawn = memory.sample(torch.tensor(key("draw")), 6)

torch.manual_seed(0)
method = SimCLR(resnet10(width=4), projector=(8, 4)).train()
strategy = EWC()
strategy.begin_task(Task(0, torch.arange(8)), method)
views = torch.randn(2, 8, 3, 8, 8)[:, me * 8 // size : (me + 1) * 8 // size]
nothing = torch.zeros(views.shape[1], dtype=torch.long)
strategy.end_task(Task(0, torch.arange(8)), method, iter([Batch(torch.zeros(len(nothing), 3, 8, 8, dtype=torch.uint8), nothing, nothing, torch.tensor(0), tuple(views))]))
torch.save([memory.state_dict(), drawn.labels, drawn.index, strategy.fisher], f"{place}/{size}-{me}")
"""


def test_two_processes_hold_one_memory_and_share_one_draw(tmp_path):
    running = [subprocess.Popen([sys.executable, "-c", RANKS, str(me), str(size), str(tmp_path)]) for size in (1, 2) for me in range(size)]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    (alone, labels, index, _), *both = [torch.load(tmp_path / name, weights_only=True) for name in ("1-0", "2-0", "2-1")]
    for memory, *_ in both:
        assert memory.keys() == alone.keys() and all(torch.equal(memory[name], alone[name]) for name in alone)
    assert torch.equal(torch.cat([both[0][1], both[1][1]]), labels) and torch.equal(torch.cat([both[0][2], both[1][2]]), index)
    assert torch.equal(both[0][3], both[1][3]) and both[0][3].sum() > 0


def test_strategies_with_a_memory_say_that_it_holds_images_of_one_size():
    """What `run` refuses images of many sizes by, before anything is learned."""
    strict = {name for name in names("strategies") if load("strategies", name, "strategy").one_size}
    assert strict == {"er", "der", "lump", "ccssl"}
