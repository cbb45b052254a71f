"""The paper's figures, from run directories that were never run."""

import re

import pytest
from PIL import Image

from cassle.errors import UserError
from cassle.paper.figures import evolution, figure, teaser


@pytest.fixture
def several(pretend, tmp_path):
    """Two methods on CIFAR-100, with and without CaSSLe, one also with EWC; supervised learning; one run on ImageNet-100."""
    for method, A in (("byol", 52.0), ("simclr", 49.0)):
        pretend(f"{method}-finetune", {"method": method, "budget": 50}, A)
        pretend(f"{method}-cassle", {"method": method, "strategy": "cassle", "budget": 50}, A + 6)
    pretend("byol-ewc", {"method": "byol", "strategy": "ewc", "budget": 50}, 55.0)
    pretend("supervised", {"method": "supervised"}, 54.0)
    pretend("large", {"method": "byol"}, 66.0, preset="imagenet100")
    return tmp_path / "runs"


@pytest.mark.parametrize("name", ["teaser", "evolution"])
def test_both_files_are_written_and_the_same_runs_give_the_same(several, tmp_path, name):
    paths = figure(name, [several], tmp_path / "one")
    assert [path.name for path in paths] == ["one.png", "one.svg"]
    with Image.open(paths[0]) as picture:
        assert picture.width > 1000 and len(picture.convert("RGB").getcolors(1 << 24)) > 20
    assert figure(name, [several], tmp_path / "two.svg") == [tmp_path / "two.svg"] and not (tmp_path / "two.png").exists()
    assert paths[1].read_bytes() == (tmp_path / "two.svg").read_bytes()
    words = re.findall(r">([^<>]+)</text>", paths[1].read_text())
    assert "BYOL" in words and any("50 epochs a task instead of 500" in word for word in words)


def test_the_teaser_stacks_the_gain_and_shows_the_paper_s(pretend):
    runs = [pretend("plain", {"method": "byol"}, 52.0), pretend("cassle", {"method": "byol", "strategy": "cassle"}, 60.0)]
    drawn = teaser(runs)
    assert [axes.get_title() for axes in drawn.axes] == ["CIFAR-100"]  # what nobody ran is not drawn
    bars = [(bar.get_y(), bar.get_height()) for bar in drawn.axes[0].patches]
    assert bars == [(0, 52.0), (52.0, 8.0)]
    levels = {line.get_ydata()[0] for line in drawn.axes[0].lines}
    assert {52.7, 62.2, 54.1} <= levels  # BYOL's, and supervised fine-tuning, since no run of ours is there
    below = teaser([runs[1]])
    assert [bar.get_height() for bar in below.axes[0].patches] == [60.0]  # nothing to gain upon


def test_evolution_is_the_mean_over_all_classes_after_each_task(pretend):
    drawn = evolution([pretend("plain", {"method": "byol"}, 52.0), pretend("ewc", {"method": "byol", "strategy": "ewc"}, 54.0)])
    curves = {line.get_label(): list(line.get_ydata()) for line in drawn.axes[0].lines}
    assert curves == {"Fine-tuning": [48.0, 49.0, 50.0, 51.0, 52.0], "EWC": [50.0, 51.0, 52.0, 53.0, 54.0]}


@pytest.mark.parametrize("name", ["teaser", "evolution"])
def test_what_cannot_be_drawn_is_one_line(name, pretend, tmp_path):
    pretend("other", {"stream": {"tasks": 10}})
    with pytest.raises(UserError, match="no run belongs to this figure"):
        figure(name, [tmp_path / "runs"], tmp_path / "x")
    for out, says in ((tmp_path / "x.pdf", "written as .png or .svg"), (tmp_path / "runs/other/experiment.toml/x.png", "cannot be written")):
        pretend(f"byol{out.suffix}", {"method": "byol"})
        with pytest.raises(UserError, match=says):
            figure(name, [tmp_path / "runs"], out)
