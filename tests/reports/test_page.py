"""The report page, from run directories that were never run."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from cassle.disk import write
from cassle.errors import UserError
from cassle.experiment import Experiment
from cassle.reports import pictures
from cassle.reports.page import rendered, write_page
from cassle.reports.story import gather

PROBES = ("linear", "knn")
SECTIONS = ("results", "accuracy", "matrices", "losses", "embeddings", "neighbours", "colophon")


@pytest.fixture(autouse=True, scope="module")
def few_images():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "SEEN", 120)
        yield


def pretend(place: Path, *, done: int, width: int, encoders: bool = True, seed: int = 0, **changes) -> Path:
    """A run directory with made-up numbers and an encoder that has learned nothing."""
    settings = {"data": "emoji", "method": {"name": "simclr", "projector": [8, 4]}, "stream": "domain_incremental", "steps": 20}
    experiment = Experiment(**settings | {"backbone": {"name": "resnet10", "width": 4}} | changes)
    random = torch.Generator().manual_seed(seed)
    number = lambda: round(90 * torch.rand((), generator=random).item(), 3)  # noqa: E731
    accuracy = {
        probe: {"A": [[number() for _ in range(width)] for _ in range(done)], "R": [number() for _ in range(width)]}
        | {"average": number(), "forgetting": number() if done > 1 else None, "forward_transfer": None}
        for probe in PROBES
    }
    keeps = experiment.strategy.name != "finetune"
    rows = [{"task": t, "step": s, "ssl": number(), "keep": number() * (keeps and t > 0)} for t in range(done) for s in (10, 20)]
    place.mkdir(parents=True)
    (place / "experiment.toml").write_text(experiment.toml(), "utf-8")
    (place / "accuracy.json").write_text(json.dumps(accuracy), "utf-8")
    classes = {"linear": {"<hard>": 12.5, "easy": 87.5 - seed}}
    (place / "classes.json").write_text(json.dumps(classes), "utf-8")
    (place / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (place / "environment.json").write_text(json.dumps({"torch": "9.9.9", "device": "an abacus", "threads": 7}), "utf-8")
    torch.manual_seed(seed)
    for task in range(done) if encoders else ():
        state = {f"backbone.{key}": value for key, value in experiment.backbone.build().state_dict().items()}
        save_file(state | {"projector.0.weight": torch.zeros(1)}, place / f"task{task}.safetensors")
    return place


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> list[Path]:
    """Fine-tuning, CaSSLe under a hostile name, and joint training, on four domains."""
    place = tmp_path_factory.mktemp("three")
    return [
        pretend(place / "fine", done=4, width=4, seed=1),
        pretend(place / "a<b>&'$x$\"1.23456", done=4, width=4, seed=2, strategy={"name": "cassle", "hidden": 8}),
        pretend(place / "joint", done=1, width=4, seed=3, stream="joint", groups="domain_incremental"),
    ]


@pytest.fixture(scope="module")
def html(three) -> str:
    out = write_page(three, three[0].parent / "deep" / "er" / "page.html")
    assert [path.name for path in out.parent.iterdir()] == ["page.html"]
    return out.read_text("utf-8")


def visible(html: str) -> str:
    """What a reader may come across: no styles, no markup."""
    return re.sub(r"<[^>]*>", " ", re.sub(r"<style.*?</style>", "", html, flags=re.S))


def test_everything_is_there(three, html):
    text = visible(html)
    for path in three:
        for judged in json.loads((path / "accuracy.json").read_text("utf-8")).values():
            for value in (*judged["R"], *(v for row in judged["A"] for v in row), judged["average"]):
                assert f"{value:.1f}" in text
    for section in SECTIONS:
        assert html.count(f'id="{section}"') == 1
    for domain in ("noto", "twemoji", "fluent", "emojione"):
        assert f"after {domain}" in text
    for word in ("strategy.hidden", "an abacus", "9.9.9", "not defined", "all at once", "at the end", "random weights"):
        assert word in text
    assert html.count("<svg") == 2 + 2 * 4 + 2 + 3  # means, columns, losses, clouds
    assert len(html) < 3e6


def test_names_are_not_markup(three, html):
    assert "a<b" not in html and "a&lt;b&gt;" in html
    assert all(unescape(visible(html)).count(path.name) > 5 for path in three)


def test_every_class_has_a_row_the_hardest_first(html):
    rows = re.findall(r'<tr><th scope="row">(&lt;hard&gt;|easy)</th>((?:<td class="n">[^<]*</td>)+)', html)
    assert [name for name, _ in rows[:2]] == ["&lt;hard&gt;", "easy"] and "12.5" in rows[0][1] and "86.5" in rows[1][1]


def test_the_page_needs_nothing_but_itself(html):
    links = re.findall(r"""\b(?:src|href)=["']?([^"' >]*)""", html) + re.findall(r"url\(([^)]*)\)", html)
    assert links and all(link.startswith("data:") for link in links)
    assert not re.search("https?:|<script|@import", html)
    assert sorted(re.findall(r'\bid="([^"]*)"', html)) == sorted(SECTIONS)
    assert not re.search(r"\b(nan|None|inf)\b", visible(html))


def test_the_same_runs_give_the_same_page(three, html):
    date = re.search("<time>(.*)</time>", html)[1]
    assert rendered(gather(three), date) == html


def test_a_folder_gives_its_runs_by_name_and_each_once(three):
    assert [story.record.path for story in gather([three[0].parent, three[0]])] == sorted(three)


def test_runs_of_one_name_are_told_apart(tmp_path):
    places = [pretend(tmp_path / part / "run", done=1, width=4, encoders=False) for part in ("here", "there")]
    assert [story.name for story in gather(places)] == ["here/run", "there/run"]


def test_an_unfinished_run_says_so(tmp_path):
    place = pretend(tmp_path / "run", done=2, width=3, stream={"name": "class_incremental", "tasks": 3})
    with open(place / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write('{"task": 2, "st')  # it is being written
    text = visible(rendered(gather([place]), ""))
    assert "unfinished: 2 of 3 tasks" in text and "after task 2" in text
    assert "–" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"done": 3, "width": 1, "stream": {"name": "data_incremental", "tasks": 3}},
        {"done": 1, "width": 1, "stream": "joint"},
        {"done": 1, "width": 12, "stream": "joint", "data": "quickdraw", "groups": {"name": "class_incremental", "tasks": 12}},
        {"done": 4, "width": 8, "groups": {"name": "class_incremental", "tasks": 8}},
    ],
)
def test_streams_of_other_shapes(tmp_path, changes):
    text = visible(rendered(gather([pretend(tmp_path / "run", **changes)]), ""))
    assert "unfinished" not in text and "Nearest neighbours" in text


def test_runs_of_other_streams_side_by_side(tmp_path):
    pretend(tmp_path / "all" / "one", done=4, width=4)
    pretend(tmp_path / "all" / "two", done=5, width=5, data="quickdraw", stream={"name": "class_incremental", "tasks": 5})
    html = rendered(gather([tmp_path]), "")
    assert html.count("<svg") == 2 * 2 + 2 * (4 + 5) + 1 + 2


def test_what_is_missing_is_said(tmp_path):
    gone = pretend(tmp_path / "gone", done=2, width=4, encoders=False)
    lost = pretend(tmp_path / "lost", done=2, width=2, stream={"name": "class_incremental", "tasks": 2})
    toml = lost / "experiment.toml"
    toml.write_text(toml.read_text("utf-8").replace('"emoji"', '"a set that was renamed"'), "utf-8")
    (lost / "metrics.jsonl").unlink()
    (lost / "environment.json").unlink()
    torn = pretend(tmp_path / "torn", done=1, width=4)
    (torn / "task0.safetensors").write_bytes(b"torn")
    text = visible(rendered(gather([gone, lost, torn]), ""))
    assert "gone has kept no task1.safetensors" in text and "an encoder of torn cannot be opened" in text
    assert "the images of a set that was renamed cannot be opened here" in text


def test_numbers_that_are_none(tmp_path):
    place = pretend(tmp_path / "run", done=4, width=4)
    accuracy = json.loads((place / "accuracy.json").read_text("utf-8"))
    accuracy["linear"]["A"][2][1] = accuracy["linear"]["R"][3] = accuracy["linear"]["average"] = float("nan")
    accuracy["knn"]["A"] = [[float("nan")] * 4] * 4
    write(place / "accuracy.json", lambda path: path.write_text(json.dumps(accuracy), "utf-8"))
    assert not re.search(r"\b(nan|None)\b", visible(rendered(gather([place]), "")), re.I)


def test_what_a_user_can_put_right(tmp_path):
    run = pretend(tmp_path / "run", done=1, width=4, encoders=False)
    (tmp_path / "empty").mkdir()
    for runs, out, words in (
        ([tmp_path / "empty"], "page.html", f"{tmp_path / 'empty'} holds no run"),
        ([run, tmp_path / "nowhere"], "page.html", f"{tmp_path / 'nowhere'} is not a folder"),
        ([], "page.html", "name run directories"),
        ([run], "empty", "it is a folder"),
        ([run], "run/experiment.toml/page.html", "cannot be written"),
    ):
        with pytest.raises(UserError, match=re.escape(words)):
            write_page(runs, tmp_path / out)
    (run / "accuracy.json").write_text("{", "utf-8")
    with pytest.raises(UserError, match="run/accuracy.json is damaged"):
        write_page([run], tmp_path / "page.html")
