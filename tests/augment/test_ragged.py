"""Images of different sizes are augmented as each would be by itself, to the pixel."""

import numpy as np
import pytest
import torch
from PIL import Image

from cassle.augment import Augment, View, views
from cassle.augment.resize import resized_crop
from cassle.randomness import uniform
from cassle.typing import Batch, Patches

RICH = View(size=24, blur=0.5, solarize=0.3)
SIZES = [(24, 24), (60, 90), (90, 60), (7, 9), (1, 1), (24, 200), (200, 24), (3, 150), (190, 170), (24, 25), (12, 70)]
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)


def picture(number, height, width):
    return torch.randint(0, 256, (3, height, width), dtype=torch.uint8, generator=torch.Generator().manual_seed(number))


PICTURES = [picture(number, *size) for number, size in enumerate(SIZES)]


def batch(images, first=100):
    return Batch(images, torch.arange(len(images)) + first, torch.zeros(len(images), dtype=torch.long), torch.tensor(7))


@pytest.fixture
def augment():
    return Augment((RICH, View(size=40, scale=(0.3, 1.0))), MEAN, STD)


def test_a_ragged_batch_is_its_images_one_by_one(augment):
    together = augment(batch(Patches(tuple(PICTURES)))).views
    for number, image in enumerate(PICTURES):
        alone = augment(batch(image[None], 100 + number)).views
        assert all(torch.equal(a[number], b[0]) for a, b in zip(together, alone))


def test_it_is_what_the_way_of_equal_sizes_makes(augment, monkeypatch):
    """Beside an image of the same size, in a tensor: the path that data sets of one size take."""
    monkeypatch.setattr(views, "CACHE", 1 << 40)
    together = augment(batch(Patches(tuple(PICTURES)))).views
    for number, image in enumerate(PICTURES):
        pair = augment(batch(torch.stack((image, 255 - image, image.flip(2))), 100 + number)).views
        assert all(torch.equal(a[number], b[0]) for a, b in zip(together, pair))


@pytest.mark.parametrize("length", [2, 3, 11])
def test_padded_to_one_tensor_the_pixels_are_the_same(length):
    """As a GPU has them; whichever images are padded together."""
    u = uniform(3, torch.arange(len(PICTURES)), sum(views.DRAWS.values()))
    alone = torch.cat([views.augmented(Patches((image,)), RICH, u[i : i + 1]) for i, image in enumerate(PICTURES)])
    parts = [views.augmented(part, RICH, own) for part, own in zip(Patches(tuple(PICTURES)).split(length), u.split(length))]
    assert torch.equal(torch.cat(parts), alone)


def test_batch_mates_and_order_do_not_matter(augment):
    whole = augment(batch(Patches(tuple(PICTURES)))).views
    some = torch.tensor([9, 1, 1, 4])
    part = augment(Batch(Patches(tuple(PICTURES[i] for i in some)), some + 100, torch.zeros(4, dtype=torch.long), torch.tensor(7))).views
    assert all(torch.equal(a[some], b) for a, b in zip(whole, part))


@pytest.mark.parametrize("filter", ["bicubic", "bilinear"])
@pytest.mark.parametrize("box", [(0, 0, 40, 60), (3, 5, 30, 40), (0, 0, 190, 20), (10, 2, 20, 160), (7, 7, 1, 1), (0, 0, 180, 5)])
def test_one_image_alone_is_resized_as_pillow_does_it(box, filter):
    image = picture(5, 192, 170)
    top, left, height, width = box
    array = Image.fromarray(image[:, top : top + height, left : left + width].permute(1, 2, 0).numpy())
    turned = height > 24 and height - 24 > 2 * (width - 24)
    kind = Image.Resampling[filter.upper()]
    want = array.transpose(Image.Transpose.TRANSPOSE).resize((24, 24), kind).transpose(Image.Transpose.TRANSPOSE) if turned else array.resize((24, 24), kind)
    got = resized_crop(image[None], torch.tensor([box]), 24, filter)[0].permute(1, 2, 0)
    assert np.array_equal(got.numpy(), np.asarray(want).astype(np.float32))


def test_a_large_thin_image_costs_no_square(monkeypatch):
    image = picture(1, 4, 20_000)  # a square of it would take 5 GB
    u = uniform(3, torch.arange(1), sum(views.DRAWS.values()))
    assert views.augmented(Patches((image,)), View(size=8, scale=(0.9, 1.0), ratio=(0.75, 6000.0)), u).shape == (1, 3, 8, 8)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_makes_the_same_pixels_of_any_sizes(augment, monkeypatch):
    want = augment(batch(Patches(tuple(PICTURES)))).views
    given = batch(Patches(tuple(image.cuda() for image in PICTURES)))
    given = Batch(given.images, given.index.cuda(), given.labels.cuda(), given.key.cuda())
    for room in (views.ROOM, 200**2 * 3, 1):
        monkeypatch.setattr(views, "ROOM", room)
        for a, b in zip(augment.cuda()(given).views, want):
            torch.testing.assert_close(a.cpu(), b, atol=1e-5, rtol=0)
