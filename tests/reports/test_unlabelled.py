"""A run on images that nobody has labelled: no probe can judge, and everything else is told."""

import re

import numpy as np
import pytest
import torch
from PIL import Image

from cassle.record import Record
from cassle.reports.page import write_page
from cassle.reports.table import rows
from cassle.run import run


@pytest.fixture(scope="module")
def unlabelled(tmp_path_factory, tiny):
    torch.set_num_threads(1)
    home = tmp_path_factory.mktemp("unlabelled")
    (home / "photos").mkdir()
    noise = np.random.default_rng(0)
    for number in range(100):
        Image.fromarray(noise.integers(0, 256, (24, 24, 3), np.uint8) // (1 + number % 4)).save(home / f"photos/{number}.png")
    (home / "photos/broken.png").write_bytes(b"not an image")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASSLE_DATA", str(home / "data"))
        run(tiny({"data": {"name": "folder", "root": str(home / "photos")}, "stream": {"name": "data_incremental", "tasks": 2}}), home / "run")
        write_page([home / "run"], home / "page.html")
        yield home


def test_no_probe_judges_and_health_is_told_after_each_task(unlabelled):
    record = Record(unlabelled / "run")
    assert record.accuracy() == {} and "nothing is labelled" in (record.path / "log.txt").read_text()
    health = record.health()
    assert all(len(values) == 3 for values in health.values()) and health["cka"][:2] == [None, None] and 0 < health["cka"][2] <= 1
    assert rows([record])[0] == ["", "rank", "likeness", "neighbours kept"] and len(rows([record])) == 3


def test_what_was_not_learned_from_is_listed_in_the_run(unlabelled):
    assert (unlabelled / "run/quarantine.txt").read_text().startswith("broken.png: ")


def test_the_page_says_so_and_shows_what_there_is(unlabelled):
    text = (unlabelled / "page.html").read_text()
    assert "Nothing is labelled" in text and 'id="health"' in text and 'id="accuracy"' not in text
    assert len(re.findall(r'<article class="card">', text)) == 4 and "<output>" not in text


def test_images_that_changed_are_not_gone_on_with(unlabelled, tiny):
    """I2: the same command on another folder's contents is refused, in one line."""
    from cassle.errors import UserError

    Image.fromarray(np.zeros((24, 24, 3), np.uint8)).save(unlabelled / "photos/0.png")
    with pytest.raises(UserError, match="the images are not those that .* began with"):
        run(Record(unlabelled / "run").experiment(), unlabelled / "run")
