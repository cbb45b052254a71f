"""Sets of images behind one index, however they lie."""

import pytest
import torch

from cassle.data import images as module
from cassle.data.images import Images, Ragged, Row, joined
from cassle.typing import Patches


def block(n, height=3, width=4, first=0):
    return torch.arange(first, first + n * height * width * 3).remainder(251).to(torch.uint8).view(n, height, width, 3)


def ragged(*blocks):
    """Images of several sizes, in one row of bytes."""
    every = [image for images in blocks for image in images]
    sizes = torch.tensor([image.shape[:2] for image in every])
    starts = 3 * (sizes.prod(1).cumsum(0) - sizes.prod(1))
    return Ragged(torch.cat([image.flatten() for image in every]), starts, sizes), every


def same(batch, want):
    found = list(batch) if isinstance(batch, torch.Tensor) else batch.pixels
    return len(found) == len(want) and all(torch.equal(a, b.permute(2, 0, 1)) for a, b in zip(found, want))


INDEX = torch.tensor([4, 0, 4, 2, 3, 1])


def test_ragged_images_are_where_they_lie():
    images, every = ragged(block(2), block(2, 1, 5, 70), block(1, 6, 2, 99))
    assert len(images) == 5 and images.size is None
    assert isinstance(images[INDEX], Patches) and same(images[INDEX], [every[i] for i in INDEX])
    assert all(patch.untyped_storage().data_ptr() == images.pixels.untyped_storage().data_ptr() for patch in images[INDEX].pixels)  # no copies
    part = images.part(torch.tensor([3, 1]))
    assert same(part[torch.tensor([0, 1])], [every[3], every[1]])
    assert same(images.to("cpu")[INDEX], [every[i] for i in INDEX])


def test_of_one_size_they_are_a_tensor_though_they_lie_apart():
    images, every = ragged(block(5))
    some = images.part(torch.tensor([0, 2, 4]))
    assert images.size == some.size == (3, 4) and isinstance(some[torch.tensor([2, 0])], torch.Tensor)
    assert same(some[torch.tensor([2, 0])], [every[4], every[0]])


@pytest.mark.parametrize("alike", [True, False])
def test_several_sets_are_one(alike, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)
    first, (second, more) = Images(block(2)), ragged(block(2, first=40), *([] if alike else [block(1, 7, 2)]))
    parts = [first, second] + ([Images(block(1, first=99))] if alike else [])
    every = [*block(2), *more, *(block(1, first=99) if alike else [])]
    row = joined(parts)
    assert isinstance(row, Row) and len(row) == len(every) == 5 and row.size == ((3, 4) if alike else None)
    assert isinstance(row[INDEX], torch.Tensor if alike else Patches) and same(row[INDEX], [every[i] for i in INDEX])
    assert same(row[torch.tensor([1, 0])], [every[1], every[0]])  # of one part alone
    assert same(row.part(torch.tensor([1, 2, 4]))[torch.tensor([2, 0, 1])], [every[4], every[1], every[2]])
    assert same(row.to("cpu")[INDEX], [every[i] for i in INDEX])


def test_small_ones_are_copied_together_and_one_stays_itself():
    parts = [Images(block(2)), Images(block(3, first=5))]
    whole = joined(parts)
    assert type(whole) is Images and torch.equal(whole.pixels, torch.cat([block(2), block(3, first=5)]))
    assert joined(parts[:1]) is parts[0] and joined([Images(block(0)), parts[1]]) is parts[1] and len(joined([Images(block(0))])) == 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("share", [module.SHARE, 0.0])
def test_on_a_gpu_they_are_the_same(share, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr(module, "SHARE", share)
    lying, every = ragged(block(2), block(3, 5, 6))
    for images, want in ((lying, every), (Row([lying, Images(block(2))]), [*every, *block(2)]), (Row([Images(block(2)), Images(block(3))]), [*block(2), *block(3)])):
        batch = images.to("cuda")[INDEX.cuda()]
        assert batch.device.type == "cuda" and same(batch.cpu() if isinstance(batch, torch.Tensor) else Patches(tuple(p.cpu() for p in batch.pixels)), [want[i] for i in INDEX])
