"""Every publisher's layout is read as it is: the right images with the right labels, domains and halves."""

import numpy as np
import pytest
import torch
from PIL import Image

from cassle import registry
from cassle.config import component
from cassle.errors import UserError
from tests.data import layouts
from tests.data.layouts import LAYOUTS, pixels


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def built(tree):
    return component("data", tree, "data").build()


def images(split):
    """All of them, height x width x 3."""
    batch = split.images[torch.arange(len(split))]
    return [image.permute(1, 2, 0).numpy() for image in (batch if isinstance(batch, torch.Tensor) else batch.pixels)]


def stored(path):
    """A file's pixels, as Pillow alone has them."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


@pytest.mark.parametrize("written", [layouts.today, layouts.python2])
@pytest.mark.parametrize("inner", ["", "cifar-100-python"])
def test_cifar100(tmp_path, written, inner):
    LAYOUTS["cifar100"](tmp_path / "set", written=written)
    dataset = built({"name": "cifar100", "root": str(tmp_path / "set" / inner)})
    assert dataset.classes[:2] == ("class0", "class1") and len(dataset.classes) == 100
    assert len(dataset.train) == 200 and len(dataset.test) == 100 and dataset.train.labels[101] == 1
    assert all(np.array_equal(image, pixels(i)) for i, image in enumerate(images(dataset.train)))
    assert dataset.train.images.pixels.is_contiguous() and dataset.train.images.size == (32, 32)


@pytest.mark.parametrize("layout", ["cifar10", "cifar10_sheets"])
def test_cifar10(tmp_path, layout):
    dataset = built(LAYOUTS[layout](tmp_path / "set"))
    assert len(dataset.classes) == 10 and len(dataset.train) == 100 and dataset.train.labels.tolist() == [*range(10)] * 10
    assert all(np.array_equal(image, pixels(i % 20)) for i, image in enumerate(images(dataset.train)))


def test_a_cifar_that_is_not_whole_is_one_line(tmp_path):
    LAYOUTS["cifar10"](tmp_path)
    batch = tmp_path / "cifar-10-batches-py" / "data_batch_3"
    for content, words in (
        ({"data": layouts.rows(2), "labels": [1]}, "want 1 rows of 3072 bytes"),
        ({"data": layouts.rows(2), "labels": [1, 10]}, "none of the 10 classes"),
        ({"labels": [1]}, "has no data"),
    ):
        batch.write_bytes(layouts.today(content))
        with pytest.raises(UserError, match=words):
            built({"name": "cifar10", "root": str(tmp_path)})
    batch.unlink()
    with pytest.raises(UserError, match="data_batch_3: cannot be read"):
        built({"name": "cifar10", "root": str(tmp_path)})


@pytest.mark.parametrize("unlabelled", [True, False])
def test_stl10(tmp_path, monkeypatch, unlabelled):
    monkeypatch.setattr("cassle.data.images.SMALL", 0)  # so that nothing is copied together
    dataset = built(LAYOUTS["stl10"](tmp_path) | {"unlabelled": unlabelled})
    assert dataset.train.labels.tolist() == [*range(10)] * 2 + [-1] * 40 * unlabelled
    assert len(dataset.train) == len(dataset.train.images) and dataset.train.images.size == (96, 96)
    for i, image in enumerate(images(dataset.train)):
        assert np.array_equal(image, pixels(i if i < 20 else i - 20, 96, 96))
    order = torch.tensor([59, 3, 21, 3, 0] if unlabelled else [19, 3, 11, 3, 0])
    for place, image in zip(order.tolist(), dataset.train.images[order]):
        assert np.array_equal(image.permute(1, 2, 0), pixels(place if place < 20 else place - 20, 96, 96))


@pytest.mark.parametrize("file, size", [("train_X.bin", 96 * 96 * 3 * 2 - 1), ("test_y.bin", 9), ("train_y.bin", 0)])
def test_an_stl10_that_is_not_whole_is_one_line(tmp_path, file, size):
    tree = LAYOUTS["stl10"](tmp_path)
    with open(tmp_path / "stl10_binary" / file, "r+b") as found:
        found.truncate(size)
    with pytest.raises(UserError, match=f"{file}.*cassle data stl10"):
        built(tree)


def test_imagenet100_picks_its_classes_in_their_order(tmp_path):
    dataset = built(LAYOUTS["imagenet100"](tmp_path, each=1))
    assert dataset.classes == tuple(sorted(dataset.classes)) and len(dataset.classes) == 100
    assert len(dataset.train) == len(dataset.test) == 100 and dataset.train.labels.tolist() == [*range(100)]
    wnid = dataset.classes[7]
    assert np.array_equal(images(dataset.train)[7], stored(tmp_path / "train" / wnid / f"{wnid}_0.JPEG"))
    assert dataset.train.images.size is None and dataset.std[0] == 0.228
    (tmp_path / "val" / wnid).rename(tmp_path / "val" / "gone")
    with pytest.raises(UserError, match=f"1 of the 100 classes are not there, {wnid}"):
        built({"name": "imagenet100", "root": str(tmp_path)})


def test_domainnet_has_its_domains_in_the_given_order_and_decodes_each_once(tmp_path, home):
    tree = LAYOUTS["domainnet"](tmp_path / "set")
    (tmp_path / "set/clipart/zebra/not_listed.jpg").write_bytes(b"junk")
    dataset = built(tree)
    assert dataset.domains == layouts.DOMAINS and dataset.classes == ("aircraft_carrier", "zebra") and not dataset.aside
    assert dataset.train.domains.tolist() == sum(([d] * 8 for d in range(6)), []) and dataset.train.labels[:8].tolist() == [0] * 4 + [1] * 4
    assert np.array_equal(images(dataset.train)[8], stored(tmp_path / "set/quickdraw/aircraft_carrier/quickdraw_train_000000.jpg"))
    banks = set((home / "banks").iterdir())
    fewer = built(tree | {"domains": ["sketch", "real"]})
    assert fewer.domains == ("sketch", "real") and len(fewer.train) == 16 and set((home / "banks").iterdir()) == banks
    assert np.array_equal(images(fewer.train)[8], images(dataset.train)[0])
    (tmp_path / "set/real_test.txt").write_text("sketch/zebra/sketch_test_000000.jpg 1\n")
    with pytest.raises(UserError, match="real_test.txt, line 1: want real/CLASS/FILE NUMBER"):
        built(tree)


def test_tiny_imagenet(tmp_path):
    dataset = built(LAYOUTS["tiny_imagenet"](tmp_path))
    assert len(dataset.train) == 12 and dataset.test.labels.tolist() == [0, 1, 2, 3] and dataset.train.images.size == (64, 64)
    assert np.array_equal(images(dataset.test)[2], stored(tmp_path / "tiny-imagenet-200/val/images/val_2.JPEG"))
    (tmp_path / "tiny-imagenet-200/val/val_annotations.txt").write_text("val_0.JPEG\n")
    with pytest.raises(UserError, match="line 1: want FILE WNID"):
        built({"name": "tiny_imagenet", "root": str(tmp_path)})


SHAPES = {
    "folder_of_halves": ((8, 2), ("cat", "dog"), ("",)),
    "folder_of_domains": ((26, 6), ("cat", "dog"), ("art", "photo", "sketch")),
    "folder_of_classes": ((None, None), ("cat", "dog"), ("",)),
    "folder_flat": ((None, None), (), ("",)),
}


@pytest.mark.parametrize("layout", SHAPES)
def test_a_folder_in_each_shape(tmp_path, layout):
    (train, test), classes, domains = SHAPES[layout]
    tree = LAYOUTS[layout](tmp_path / "set")
    dataset = built(tree)
    assert dataset.classes == classes and dataset.domains == domains and not dataset.aside
    assert len(dataset.train) + len(dataset.test) == sum(1 for path in (tmp_path / "set").rglob("*.png"))
    assert (len(dataset.train), len(dataset.test)) == (train, test) or train is None and len(dataset.test) > 0
    known = {bytes(stored(path)): path for path in (tmp_path / "set").rglob("*.png")}
    for split in (dataset.train, dataset.test):
        for image, label, domain in zip(images(split), split.labels.tolist(), split.domains.tolist()):
            path = known[bytes(image)]
            assert path.parent.name == (classes[label] if label >= 0 else "set")
            assert domains[domain] in (*path.parts, "")
    assert (dataset.train.labels >= 0).all() == bool(classes)


def test_domains_of_a_folder_by_name_by_size_or_as_given(tmp_path):
    tree = LAYOUTS["folder_of_domains"](tmp_path)
    assert built(tree | {"order": "size"}).domains == ("photo", "art", "sketch")
    given = built(tree | {"domains": ["sketch", "photo"]})
    assert given.domains == ("sketch", "photo") and given.train.domains.bincount().tolist() == [8, 10]
    with pytest.raises(UserError, match="no domain 'sketsh'; did you mean 'sketch'"):
        built(tree | {"domains": ["sketsh"]})


def test_what_is_held_out_hangs_on_the_path_alone(tmp_path):
    tree = LAYOUTS["folder_flat"](tmp_path / "set")
    before = {bytes(image) for image in images(built(tree).test)}
    layouts.put(tmp_path / "set" / "zzz.png", 99)
    assert before <= {bytes(image) for image in images(built(tree).test)}
    assert len(built(tree | {"test": 0.0}).test) == 0


def test_what_lies_beside_the_halves_is_listed_not_learned(tmp_path):
    tree = LAYOUTS["folder_of_domains"](tmp_path)
    layouts.put(tmp_path / "poster.png", 98)
    layouts.put(tmp_path / "art" / "extra" / "x.png", 99)
    dataset = built(tree)
    assert len(dataset.train) == 26 and len(dataset.aside) == 2 and all("lies beside the folders train and test" in line for line in dataset.aside)


def test_folders_are_domains_in_their_order_and_one_more_decodes_only_itself(tmp_path, home):
    tree = LAYOUTS["folders"](tmp_path)
    dataset = built(tree)
    assert dataset.domains == ("2024", "2025") and dataset.classes == ("cat", "dog")
    assert len(dataset.train) + len(dataset.test) == 48 and dataset.train.images.size is None
    first = dataset.train.domains == 0
    assert (dataset.train.labels[first] == -1).all() and (dataset.train.labels[~first] >= 0).all()
    times = {path: path.stat().st_mtime_ns for path in (home / "banks").rglob("*")}
    LAYOUTS["folder_of_domains"](tmp_path / "2026")
    more = built(tree | {"roots": [str(tmp_path / "2026"), *tree["roots"]]})
    assert more.domains == ("2026", "2024", "2025") and (more.train.domains == 0).sum() == 26
    assert all(path.stat().st_mtime_ns == when for path, when in times.items() if path.is_file())
    assert more.fingerprint != dataset.fingerprint == built(tree).fingerprint
    last = images(more.train)[26:]
    assert all(np.array_equal(a, b) for a, b in zip(last, images(dataset.train), strict=True))
    with pytest.raises(UserError, match="each folder may be named once"):
        built(tree | {"roots": [tree["roots"][0]] * 2})


def test_squares_are_of_one_size_and_short_sides_only_come_down(tmp_path):
    tree = LAYOUTS["folder_of_classes"](tmp_path)
    squares = built(tree | {"image_size": 35, "square": True})
    assert squares.train.images.size == (35, 35)
    originals, shorts = images(built(tree).train), images(built(tree | {"image_size": 35}).train)
    assert len(originals) == len(shorts) == len(squares.train)
    for before, after in zip(originals, shorts):
        assert min(after.shape[:2]) == min(35, *before.shape[:2]) and (min(before.shape[:2]) > 35 or np.array_equal(before, after))
    with pytest.raises(UserError, match="data.square: say which size"):
        built(tree | {"square": True})


@pytest.mark.parametrize("name", ["imagenet100", "domainnet", "folder", "folders"])
def test_what_cannot_be_fetched_says_what_to_put_where(name):
    with pytest.raises(UserError, match=r"data|FOLDER|--root"):
        registry.companion(registry.find("data", name, ""), "fetch")(None)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name.startswith(("folder", "domainnet", "imagenet"))])
def test_what_is_there_is_looked_through(tmp_path, layout):
    tree = LAYOUTS[layout](tmp_path)
    line = registry.companion(registry.find("data", tree["name"], ""), "fetch")(tmp_path)
    assert "images to learn from" in line and "\n" not in line and "set aside" not in line and f"data={tree['name']}" in line.replace('{name="', "")


def test_sources_may_be_folders_too(tmp_path):
    parts = [LAYOUTS["folder_of_classes"](tmp_path / "a"), LAYOUTS["folder_flat"](tmp_path / "b")]
    (tmp_path / "b/broken.png").write_bytes(b"junk")
    dataset = built({"name": "sources", "sets": [*parts, "scenes"]})
    alone = [built(part) for part in parts]
    n = len(alone[0].train)
    assert dataset.classes[:2] == ("a: cat", "a: dog") and dataset.train.images.size is None and len(dataset.aside) == 1
    assert (dataset.train.labels[dataset.train.domains == 1] == -1).all() and dataset.fingerprint != alone[0].fingerprint != ""
    assert np.array_equal(images(dataset.train)[n], images(alone[1].train)[0])
    judged = built({"name": "sources", "sets": parts, "validate": True})
    assert len(judged.train) + len(judged.test) == sum(len(part.train) for part in alone)
    assert np.array_equal(images(judged.test)[0], images(dataset.train)[4])
