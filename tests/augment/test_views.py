"""The recipe: what is drawn, from what, and how often."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cassle.augment import Augment, View, views
from cassle.augment.blur import gaussian_blur
from cassle.augment.colour import grayscale, solarize
from cassle.augment.resize import resized_crop
from cassle.augment.views import crop_boxes
from cassle.config import component
from cassle.randomness import uniform
from cassle.typing import Batch

MOMENTS = json.loads((Path(__file__).parents[1] / "golden" / "random_resized_crop.json").read_text())
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)
STILL = View(scale=(1.0, 1.0), ratio=(1.0, 1.0), jitter=0.0, gray=0.0, flip=0.0)
"""A recipe that changes nothing in a square image of its size."""


def batch(n, side=32, key=7):
    images = torch.randint(0, 256, (n, 3, side, side), dtype=torch.uint8, generator=torch.Generator().manual_seed(n))
    return Batch(images, torch.arange(n) + 100, torch.zeros(n, dtype=torch.long), torch.tensor(key))


def augment(*recipes):
    return Augment(recipes, MEAN, STD)


def view(recipe, of):
    """One view of a batch, back in grey levels."""
    module = augment(recipe)
    return ((module(of).views[0] - module.shift) / module.scale).round()


def draws(n, count=40, key=1):
    return uniform(key, torch.arange(n), count)


@pytest.mark.parametrize("case", MOMENTS)
def test_crop_boxes_have_the_moments_of_the_usual_sampling(case):
    want, n = MOMENTS[case], 60_000
    (height, width), least = (int(x) for x in case.split("_")[0].split("x")), float(case.split("min")[1])
    top, left, h, w = crop_boxes(draws(n), height, width, scale=(least, 1.0)).double().unbind(1)
    area, log_ratio = h * w / (height * width), (w / h).log()
    for name, x in {"h": h, "w": w, "area": area, "i": top, "j": left}.items():
        assert x.mean().item() == pytest.approx(want[f"{name}_mean"], abs=5 * x.std().item() * math.sqrt(2 / n)), name
    for name, x in {"h": h, "w": w, "area": area, "log_ratio": log_ratio}.items():
        assert x.std().item() == pytest.approx(want[f"{name}_std"], rel=0.015), name
    full = ((h == height) & (w == width)).double().mean().item()
    assert full == pytest.approx(want["full_share"], abs=5 * math.sqrt(2 * (want["full_share"] + 1 / n) / n))


def test_the_ratio_is_width_over_height():
    _, _, h, w = crop_boxes(draws(500), 60, 60, scale=(0.1, 0.2), ratio=(2.0, 3.0)).unbind(1)
    assert 1.8 < (w / h).min() and (w / h).max() < 3.3


@pytest.mark.parametrize("height, width", [(32, 32), (1, 1), (5, 200), (200, 5), (224, 225)])
def test_crop_boxes_lie_within_the_image(height, width):
    u = draws(2_000)
    u[0], u[1] = 0.0, 1 - 2.0**-24
    top, left, h, w = crop_boxes(u, height, width).unbind(1)
    assert ((h > 0) & (w > 0) & (top >= 0) & (left >= 0) & (top + h <= height) & (left + w <= width)).all()


def test_the_first_attempt_that_fits_is_taken_or_else_the_centre():
    u = torch.zeros(3, 10, 4)
    u[:, :, 0], u[:, :, 1] = 1 - 2.0**-24, 0.5  # the whole area, a ratio of 1: too high for the image below
    u[1, 2], u[1, 5] = torch.tensor([0.0, 0.5, 0.999, 0.0]), torch.tensor([0.0, 0.5, 0.0, 0.999])
    u[2, 0] = torch.tensor([0.0, 0.5, 0.0, 0.999])
    side = round(math.sqrt(0.08 * 1000))
    want = [[0, 43, 10, 13], [10 - side, 0, side, side], [0, 100 - side, side, side]]
    assert crop_boxes(u.view(3, 40), 10, 100).tolist() == want
    assert crop_boxes(u.view(3, 40)[:1], 100, 10).tolist() == [[43, 0, 13, 10]]
    assert crop_boxes(u.view(3, 40)[:1], 10, 10, scale=(2.0, 2.0)).tolist() == [[0, 0, 10, 10]]


RICH = View(size=20, blur=0.5, solarize=0.3)


def test_a_view_depends_on_key_index_and_number_only(monkeypatch):
    whole, module = batch(40, side=24), augment(RICH, RICH)
    first, second = module(whole).views
    assert not torch.equal(first, second)
    some = torch.tensor([31, 3, 3, 17, 0])
    part = replace(whole, images=whole.images[some], index=whole.index[some])
    assert all(torch.equal(a[some], b) for a, b in zip((first, second), module(part).views))
    assert torch.equal(augment(RICH)(whole).views[0], first)
    assert torch.equal(augment(STILL, RICH)(whole).views[1], second)
    monkeypatch.setattr(views, "CACHE", 7 * 20**2)
    assert torch.equal(module(whole).views[0], first)
    for other in (replace(whole, key=whole.key + 1), replace(whole, index=whole.index + 40)):
        changed = (module(other).views[0] != first).flatten(1).any(1)
        assert changed.all()


def test_what_comes_out_and_what_stays():
    given = batch(6)
    made = augment(View(size=24), View(size=16))(given)
    assert [x.shape for x in made.views] == [(6, 3, 24, 24), (6, 3, 16, 16)]
    assert all(x.dtype == torch.float32 and x.is_contiguous(memory_format=torch.channels_last) for x in made.views)
    assert made.images is given.images and made.index is given.index and given.views == ()


def test_normalise_prepares_test_images():
    images, module = batch(4).images, augment(STILL)
    mean, std = (torch.tensor(x).view(3, 1, 1) for x in (MEAN, STD))
    got = module.normalise(images)
    torch.testing.assert_close(got, (images.float() / 255 - mean) / std, atol=1e-6, rtol=1e-6)
    assert got.is_contiguous(memory_format=torch.channels_last) and not module.state_dict()
    assert torch.equal(module(batch(4)).views[0], got)


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"flip": 1.0}, lambda x: x.flip(-1)),
        ({"gray": 1.0}, grayscale),
        ({"solarize": 1.0}, solarize),
        ({"blur": 1.0, "sigma": (1.5, 1.5)}, lambda x: gaussian_blur(x, torch.full((len(x),), 1.5))),
        ({"jitter": 1.0, "brightness": 0.0, "contrast": 0.0, "saturation": 0.0, "hue": 0.0}, lambda x: x),
        ({"gray": 1.0, "solarize": 1.0, "flip": 1.0}, lambda x: solarize(grayscale(x)).flip(-1)),
    ],
)
def test_a_chance_of_one_is_certain(change, expected):
    given = batch(50)
    assert torch.equal(view(replace(STILL, **change), given), expected(given.images.float()))


def test_a_chance_of_zero_costs_nothing(monkeypatch):
    for name in ("jitter", "grayscale", "gaussian_blur", "solarize", "hflip"):
        monkeypatch.setattr(views, name, None)  # calling it would fail
    given = batch(50)
    assert torch.equal(view(STILL, given), given.images.float())


@pytest.mark.parametrize("name, chance", [("flip", 0.5), ("gray", 0.2), ("solarize", 0.1), ("blur", 0.3), ("jitter", 0.8)])
def test_chances(name, chance):
    given, n = batch(4_000, side=6), 4_000
    changed = (view(replace(STILL, size=6, **{name: chance}), given) != given.images).flatten(1).any(1)
    assert changed.double().mean().item() == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / n))


def test_chances_are_independent():
    given, n = batch(4_000, side=6), 4_000
    recipes = [replace(STILL, size=6, **{name: 0.5}) for name in ("flip", "gray", "solarize", "blur")]
    happened = torch.stack([(view(recipe, given) != given.images).flatten(1).any(1) for recipe in recipes]).double()
    assert (torch.corrcoef(happened) - torch.eye(4)).abs().max() < 5 / math.sqrt(n)


def test_what_the_jitter_draws(monkeypatch):
    seen = []
    monkeypatch.setattr(views, "jitter", lambda images, factors, order: seen.append((factors, order)) or images)
    n = 20_000
    images = torch.zeros(n, 3, 2, 2, dtype=torch.uint8)
    given = Batch(images, torch.arange(n), torch.zeros(n, dtype=torch.long), torch.tensor(3))
    augment(View(size=2, brightness=0.4, contrast=1.5, saturation=0.2, hue=0.1))(given)
    factors, order = (torch.cat(x) for x in zip(*seen))
    still = (factors == torch.tensor([1.0, 1.0, 1.0, 0.0])).all(1)
    assert still.double().mean().item() == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / n))
    for column, (low, high) in zip(factors[~still].double().unbind(1), [(0.6, 1.4), (0, 2.5), (0.8, 1.2), (-0.1, 0.1)]):
        share = ((column - low) / (high - low)).sort().values
        assert (share - torch.linspace(0, 1, len(share))).abs().max() < 2 / math.sqrt(len(share))  # Kolmogorov-Smirnov
    _, counts = order.unique(dim=0, return_counts=True)
    assert torch.equal(order.sort(1).values, torch.arange(4).expand(n, -1))
    assert len(counts) == 24 and ((counts - n / 24) ** 2 / (n / 24)).sum() < 52  # chi-square, 23 degrees: p = 0.0005
    assert torch.corrcoef(torch.cat((factors[~still], order[~still, :3].float()), 1).T)[:4, :4].fill_diagonal_(0).abs().max() < 0.04


def test_sigmas_fill_their_range(monkeypatch):
    seen = []
    monkeypatch.setattr(views, "gaussian_blur", lambda images, sigma, largest: seen.append((sigma, largest)) or images)
    augment(replace(STILL, size=4, blur=0.4, sigma=(0.5, 1.0)))(batch(6_000, side=4))
    sigma = torch.cat([s for s, _ in seen])
    assert (sigma == 0).double().mean().item() == pytest.approx(0.6, abs=0.03)
    sigma = sigma[sigma > 0]
    assert {largest for _, largest in seen} == {1.0}
    assert 0.5 <= sigma.min() < 0.51 and 0.99 < sigma.max() <= 1 and sigma.mean().item() == pytest.approx(0.75, abs=0.01)


def test_the_crop_is_the_box_that_was_drawn():
    given = batch(30, side=40)
    u = uniform(int(views.fold(given.key, torch.tensor(0))), given.index, sum(views.DRAWS.values()))
    recipe = View(size=24, scale=(0.2, 0.6), jitter=0.0, gray=0.0, flip=0.0)
    boxes = crop_boxes(u[:, :40], 40, 40, scale=(0.2, 0.6))
    assert torch.equal(view(recipe, given), resized_crop(given.images, boxes, 24))


def test_a_recipe_can_be_read_from_a_configuration():
    assert component("augment/views", {}, "views.0").build() == View()
    assert component("augment/views", {"solarize": 0.2, "scale": [0.2, 1]}, "views.0").build() == View(solarize=0.2, scale=(0.2, 1.0))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_and_a_replayed_graph_make_the_same_pixels(monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    given = batch(64, side=48)
    on_gpu = Batch(given.images.cuda(), given.index.cuda(), given.labels.cuda(), given.key.cuda())
    want, module = augment(RICH)(given).views[0], augment(RICH).cuda()
    torch.testing.assert_close(module(on_gpu).views[0].cpu(), want, atol=1e-5, rtol=0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = module(on_gpu).views[0]
    graph.replay()
    torch.testing.assert_close(out.cpu(), want, atol=1e-5, rtol=0)
