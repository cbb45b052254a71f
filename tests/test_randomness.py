"""Chance hangs on the place alone."""

import torch

from cassle.clock import Clock
from cassle.randomness import fold, key, permutation, seeded, uniform


def test_numbers_hang_on_key_and_lane_alone():
    lanes = torch.tensor([7, 3, 12345])
    together = uniform(key(5, "a"), lanes, 9)
    for row, lane in zip(together, lanes):
        assert torch.equal(uniform(key(5, "a"), lane[None], 9)[0], row)
    assert torch.equal(uniform(key(5, "a"), lanes, 4), together[:, :4])
    assert not torch.equal(uniform(key(5, "b"), lanes, 9), together)


def test_numbers_are_the_same_for_ever():
    """A run of last year must resume today; the values are SplitMix64's, worked out with Python's own integers."""
    mask = (1 << 64) - 1

    def step(state, number):
        x = (state + (number + 1) * 0x9E3779B97F4A7C15) & mask
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & mask
        return x ^ x >> 31

    k = key(5, "step", 0)
    assert k == 0x7FFFFFFFFFFFFFFF & k and key(5, "step", 0) == k
    wanted = [[(step(step(k, lane), draw) >> 40) * 2.0**-24 for draw in range(5)] for lane in (0, 1, 999)]
    assert uniform(k, torch.tensor([0, 1, 999]), 5).tolist() == wanted


def test_numbers_are_uniform_and_independent():
    u = uniform(key(1), torch.arange(20000), 6).double()
    assert (u.mean(0) - 0.5).abs().max() < 0.01 and (u.var(0) - 1 / 12).abs().max() < 0.002
    both = torch.corrcoef(torch.cat([u[:-1], u[1:]], dim=1).T) - torch.eye(12)  # neighbours in both directions
    assert both.abs().max() < 0.03 and u.min() >= 0 and u.max() < 1


def test_permutations_are_permutations():
    orders = [permutation(key(5, "order", epoch), 100) for epoch in range(3)]
    assert all(order.sort().values.tolist() == list(range(100)) for order in orders)
    assert not torch.equal(orders[0], orders[1])


def test_seeding_leaves_the_global_generator_as_it_was():
    before = torch.get_rng_state()
    with seeded(3):
        first = torch.randn(2)
    with seeded(3):
        assert torch.equal(torch.randn(2), first)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_clock_s_device_count_follows_the_host_s():
    clock = Clock(seed=5, task=1, epoch_steps=4, steps=10)
    keys = []
    while not clock.done:
        assert int(clock.now) == clock.step and clock.epoch == clock.step // 4
        assert float(clock.progress) == clock.step / 10
        keys.append(int(clock.key))
        clock.tick()
    assert len(set(keys)) == 10
    assert int(Clock(5, 1, 4, 10, step=7).key) == keys[7] and int(fold(key(5, "step", 1), torch.tensor(7))) == keys[7]
    assert int(Clock(5, 2, 4, 10, step=7).key) not in keys
