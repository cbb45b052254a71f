"""Embedded sets are what their descriptions say; batches visit every image once."""

import json
from hashlib import sha256

import numpy as np
import pytest
import torch
from PIL import Image

from cassle import registry
from cassle.clock import Clock
from cassle.data.batches import Batches
from cassle.data.sheets import SHEETS
from cassle.errors import UserError
from cassle.typing import Task

EMBEDDED = sorted(path.stem for path in SHEETS.glob("*.json"))


@pytest.mark.parametrize("name", EMBEDDED)
def test_an_embedded_set_is_as_described(name):
    about = json.loads((SHEETS / f"{name}.json").read_text())
    assert sha256((SHEETS / about["sheet"]).read_bytes()).hexdigest() == about["sha256"]
    dataset = registry.load("data", name, "")()
    for split, half in ((dataset.train, "train"), (dataset.test, "test")):
        counts = torch.tensor([about["counts"][half][domain] for domain in about["domains"]])
        for d in range(len(about["domains"])):
            assert torch.equal(split.labels[split.domains == d].bincount(minlength=len(dataset.classes)), counts[d])
        assert split.images.pixels.shape[1:] == (32, 32, 3) and len(split.images) == len(split.labels)
    assert len(dataset.train) + len(dataset.test) == about["count"]
    assert not set(map(bytes, dataset.train.images.pixels.numpy())) & set(map(bytes, dataset.test.images.pixels.numpy()))


def test_a_tile_is_where_the_sheet_has_it():
    """The 103rd tile of a 100-column sheet is the third of the second row."""
    about = json.loads((SHEETS / "quickdraw.json").read_text())
    sheet = np.array(Image.open(SHEETS / about["sheet"]).convert("RGB"))
    image = registry.load("data", "quickdraw", "")().train.images[torch.tensor([102])][0].permute(1, 2, 0)
    assert np.array_equal(image[2:-2, 2:-2].numpy(), sheet[28:56, 56:84])


def test_embedded_images_are_small_enough_and_licensed():
    assert sum(path.stat().st_size for path in SHEETS.rglob("*") if path.is_file()) < 10e6
    for name in EMBEDDED:
        assert list((SHEETS / "LICENSES").glob(f"{name}*")), f"{name} has no licence beside it"


def test_sources_keep_classes_apart_and_can_be_judged_on_training_images():
    sources, parts = registry.load("data", "sources", ""), [registry.load("data", n, "")() for n in ("scenes", "glyphs")]
    whole = sources(tuple(parts))
    assert len(whole.classes) == sum(len(p.classes) for p in parts) and whole.domains == ("scenes", "glyphs")
    assert torch.equal(whole.test.labels[whole.test.domains == 1], parts[1].test.labels + len(parts[0].classes))
    chosen = sources(tuple(parts), validate=True)
    assert len(chosen.train) + len(chosen.test) == len(whole.train)
    train = set(map(bytes, whole.train.images.pixels.numpy()))
    assert set(map(bytes, chosen.test.images.pixels.numpy())) <= train


def test_an_epoch_visits_each_image_once_in_an_order_of_its_own():
    split = registry.load("data", "scenes", "")().train
    task = Task(1, torch.arange(100, 164))
    batches, clock, epochs = Batches(split, task, 16), Clock(5, 1, 4, 12), []
    for _ in range(12):
        epochs.append(batches(clock).index)
        clock.tick()
    for start in (0, 4, 8):
        assert torch.cat(epochs[start : start + 4]).sort().values.tolist() == task.index.tolist()
    assert not torch.equal(epochs[0], epochs[4])


def test_any_step_can_be_had_without_those_before_it():
    split, task = registry.load("data", "scenes", "")().train, Task(1, torch.arange(100, 170))
    walked, clock = Batches(split, task, 16), Clock(5, 1, 4, 12)
    for _ in range(7):
        batch = walked(clock)
        clock.tick()
    jumped = Batches(split, task, 16)(Clock(5, 1, 4, 12, step=6))
    assert torch.equal(batch.index, jumped.index) and torch.equal(batch.key, jumped.key)
    assert torch.equal(batch.images, jumped.images)


def test_cifar10_is_read_from_its_sheets(tmp_path):
    from cassle.data.cifar10 import cifar10

    pixels = np.random.default_rng(0).integers(0, 256, (2, 1024, 3), dtype=np.uint8)
    for name in [*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png"]:
        Image.fromarray(pixels).save(tmp_path / name)
    (tmp_path / "train_lables.json").write_text(json.dumps([3] * 10))
    (tmp_path / "test_lables.json").write_text(json.dumps([1, 2]))
    dataset = cifar10(str(tmp_path))
    assert len(dataset.train) == 10 and dataset.test.labels.tolist() == [1, 2]
    assert torch.equal(dataset.test.images[torch.tensor([1])][0], torch.tensor(pixels[1]).reshape(32, 32, 3).permute(2, 0, 1))
    (tmp_path / "test_batch.png").write_bytes(b"not a picture")
    with pytest.raises(UserError, match="test_batch.png: cannot be read"):
        cifar10(str(tmp_path))
