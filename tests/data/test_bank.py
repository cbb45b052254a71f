"""Banks: shared until their sources change, with every unfit file named and every other one right."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from cassle.config import component
from cassle.data import bank as banks
from cassle.data import build, decoders
from cassle.data.folder import banked, files, folder
from cassle.errors import UserError
from tests.data.fake import FAKE
from tests.data.layouts import folder_flat, pixels, put
from tests.data.test_decode import RIGHT, WRONG
from tests.data.test_layouts import images


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Decoders that note what they are asked, and misbehave at some names."""
    (tmp_path / "fake.py").write_text(FAKE.format(log=str(tmp_path / "asked"), slow=0))
    monkeypatch.setattr(decoders.Decoder, "COMMAND", (sys.executable, "-P", str(tmp_path / "fake.py")))
    return lambda: [Path(line.decode()).name for line in (tmp_path / "asked").read_bytes().splitlines()]


def built(root, short=0, square=False, test=0.1):
    return banked(Path(root), short, square, test)


def test_every_file_is_right_or_named_with_the_reason(tmp_path, home):
    root = tmp_path / "set"
    root.mkdir()
    for case, (bytes_, _) in (RIGHT | WRONG).items():
        (root / f"{case}.jpg").write_bytes(bytes_)
    os.mkfifo(root / "pipe.jpg")
    (root / "loop.jpg").symlink_to("loop.jpg")
    (root / "gone.jpg").symlink_to("nowhere.jpg")
    (root / "around").symlink_to(root)
    (root / "folder.jpg").mkdir()
    put(root / "folder.jpg" / "inside.png", 7)
    (root / "again.jpg").symlink_to("bmp.jpg")
    os.link(root / "png.jpg", root / "twice.jpg")
    odd = os.fsencode(root) + b"/\xff\xfe odd\n.jpg"
    with open(odd, "wb") as file:
        file.write(RIGHT["tiff"][0])
    found = built(root, test=0.0)
    lines = dict(line.split(": ", 1) for line in found.aside)
    wrong = {f"{case}.jpg" for case in WRONG} | {"pipe.jpg", "loop.jpg", "gone.jpg"}
    assert set(lines) == wrong | {"bmp.jpg", "twice.jpg"}  # of two names the first is kept: again.jpg, png.jpg
    assert lines["bmp.jpg"] == "the same file as again.jpg" and lines["twice.jpg"] == "the same file as png.jpg"
    assert lines["empty.jpg"] == "empty" and lines["pipe.jpg"] == "not a file" and "too large" in lines["bomb.jpg"]
    assert (found.path / "quarantine.txt").read_text().splitlines() == list(found.aside)
    names = [line.split("\t")[3] for line in (found.path / "manifest.tsv").read_text().splitlines()]
    assert len(names) == len(found.table) == len(RIGHT) + 2 and "\\udcff\\udcfe odd\\n.jpg" in names
    dataset = folder(str(root), test=0.0)
    for name, image in zip(names, images(dataset.train)):
        case = {"again.jpg": "bmp", "\\udcff\\udcfe odd\\n.jpg": "tiff"}.get(name, Path(name).stem)
        want = pixels(7, 33, 38) if case == "inside" else RIGHT[case][1]
        assert image.shape == want.shape and np.abs(image - want.astype(float)).max() <= 1, name


def test_decoders_that_hang_crash_or_want_too_much_cost_one_file_each(tmp_path, asked):
    root = tmp_path / "set"
    for number, name in enumerate(("a", "crash", "greedy", "m", "sleep", "spin", "z")):
        put(root / f"{name}.png", number)
    began = time.monotonic()
    found = built(root, test=0.0)
    assert dict(line.split(": ", 1) for line in found.aside) == {
        "crash.png": "its decoder crashed (SIGSEGV)",
        "greedy.png": "too large",
        "sleep.png": "takes too long to decode",
        "spin.png": "takes too long to decode",
    }
    assert len(found.table) == 3 and time.monotonic() - began < 30


def test_a_decoder_that_cannot_even_start_is_nobody_s_file(tmp_path, monkeypatch):
    monkeypatch.setattr(decoders.Decoder, "COMMAND", (sys.executable, "-c", "import nothing_of_that_name"))
    put(tmp_path / "set" / "a.png", 1)
    with pytest.raises(RuntimeError, match="ended with 1"):
        built(tmp_path / "set")


def test_large_images_are_decoded_one_at_a_time_and_in_their_place(tmp_path):
    root = tmp_path / "set"
    root.mkdir()
    for number in range(6):
        Image.new("RGB", (4100, 4000) if number % 2 else (8, 8), (number, 0, 0)).save(root / f"{number}.png", compress_level=1)
    found = built(root, short=10, test=0.0)
    assert [int(image[0, 0, 0]) for image in images(folder(str(root), image_size=10, test=0.0).train)] == [*range(6)]
    assert found.table["height"].tolist() == [8, 10] * 3 and not found.aside


def test_a_bank_is_shared_until_its_sources_change(tmp_path, home, asked):
    folder_flat(tmp_path / "set", 6)
    first = built(tmp_path / "set")
    assert built(tmp_path / "set").path == first.path and len(asked()) == 6
    assert built(tmp_path / "set", short=20).path != first.path
    os.utime(tmp_path / "set/000.png", (1, 1))
    second = built(tmp_path / "set")
    assert second.path != first.path and second.fingerprint == first.fingerprint
    put(tmp_path / "set/000.png", 99)
    assert built(tmp_path / "set").fingerprint != first.fingerprint
    (tmp_path / "set/001.png").unlink()
    assert len(built(tmp_path / "set").table) == 5


def test_a_folder_that_changes_while_it_is_decoded_is_refused_and_then_read_anew(tmp_path, monkeypatch):
    folder_flat(tmp_path / "set", 6)
    true = build._commit
    monkeypatch.setattr(build, "_commit", lambda *given: (true(*given), put(tmp_path / "set/late.png", 9)))
    with pytest.raises(UserError, match="changed while its images were decoded"):
        built(tmp_path / "set")
    monkeypatch.setattr(build, "_commit", true)
    assert len(built(tmp_path / "set").table) == 7
    (tmp_path / "set/late.png").unlink()
    assert len(built(tmp_path / "set").table) == 6


@pytest.mark.parametrize("name", [*build.FILES, "groups.json"])
def test_a_damaged_bank_is_one_line(tmp_path, name):
    folder_flat(tmp_path / "set", 6)
    (tmp_path / "set/broken.png").write_bytes(b"junk")
    path = built(tmp_path / "set").path
    with open(path / name, "r+b") as file:
        file.truncate(10)
    with pytest.raises(UserError, match=f"{path}.* damaged; delete it"):
        built(tmp_path / "set")


def test_progress_goes_to_stderr(tmp_path, monkeypatch, capsys):
    folder_flat(tmp_path / "set", 6)
    clock = iter(range(0, 10_000, 11))
    monkeypatch.setattr(build.time, "monotonic", lambda: next(clock))
    built(tmp_path / "set")
    out, errors = capsys.readouterr()
    assert out == "" and "decoding set: 3 of 6 files\n" in errors


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    folder_flat(tmp_path / "set", 6)

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build, "_put", full)
    with pytest.raises(UserError, match=r"No space left on device; decoded images go there: give another \$CASSLE_DATA"):
        built(tmp_path / "set")


def test_a_listing_hangs_on_names_alone_and_never_enters_banks(tmp_path, monkeypatch):
    for name in ("b", "a/z", "a/b", "c/d/e", "Z"):
        put(tmp_path / "set" / f"{name}.png", 1)
    want = ["Z.png", "a/b.png", "a/z.png", "b.png", "c/d/e.png"]
    assert list(files(tmp_path / "set")) == want
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path / "set"))
    assert len(built(tmp_path / "set").table) == 5 and list(files(tmp_path / "set")) == want
    true = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: _Backwards(true(path)))
    assert list(files(tmp_path / "set")) == want


class _Backwards(list):
    """A folder whose file system lists it the other way round."""

    def __init__(self, found):
        super().__init__(reversed(list(found)))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def test_a_bank_larger_than_the_memory_is_mapped(tmp_path):
    from cassle.data.images import mapped

    with open(tmp_path / "pixels", "wb") as file:
        file.truncate(1 << 42)
    assert mapped(tmp_path / "pixels")[1 << 41 :][:3].tolist() == [0, 0, 0]


def test_an_empty_folder_is_one_line(tmp_path):
    (tmp_path / "set").mkdir()
    with pytest.raises(UserError, match="no images to learn from were found$"):
        folder(str(tmp_path / "set"))
    (tmp_path / "set/readme.txt").write_text("nothing here")
    with pytest.raises(UserError, match="set aside: 1 .readme.txt: not an image"):
        folder(str(tmp_path / "set"))
    with pytest.raises(UserError, match="data.root: there is no folder"):
        component("data", {"name": "folder", "root": str(tmp_path / "gone")}, "data").check()


def test_many_images_are_no_objects(tmp_path):
    """What is held of a million of them is three rows of numbers."""
    import gc

    from cassle.data.images import Ragged

    n = 1_000_000
    sizes = torch.stack((torch.arange(n) % 7 + 1, torch.arange(n) % 5 + 1), dim=1)
    starts = 3 * (sizes.prod(1).cumsum(0) - sizes.prod(1))
    before = len(gc.get_objects())
    ragged = Ragged(torch.zeros(int(starts[-1]) + 3 * int(sizes[-1].prod()), dtype=torch.uint8), starts, sizes)
    assert len(ragged) == n and len(ragged[torch.tensor([0, n - 1])]) == 2
    assert len(gc.get_objects()) - before < 100 and starts.nbytes + sizes.nbytes == 24 * n


def test_the_table_says_where_every_image_lies(tmp_path):
    folder_flat(tmp_path / "set", 10)
    found = built(tmp_path / "set")
    row = np.fromfile(found.path / "pixels", np.uint8)
    assert found.table["start"][-1] + 3 * found.table["height"][-1] * found.table["width"][-1] == len(row)
    dataset = folder(str(tmp_path / "set"))
    assert dataset.train.images.bytes + dataset.test.images.bytes == len(row)  # each half alone goes to a GPU
    assert banks._opened(found.path).table.tobytes() == found.table.tobytes()
