"""Tables of the paper from run directories that were never run: which runs a cell takes, and what is said of them."""

import csv
import io
import json

import pytest

from cassle.errors import UserError
from cassle.paper.cells import tables
from cassle.paper.comparison import compared, filled
from cassle.paper.differences import answering
from cassle.paper.formats import FORMATS
from cassle.paper.matching import Run, found, runs_under


def cell(number, row, column):
    return next(c for c in tables()[number].cells() if (c.row, c.column) == (row, column))


CASSLE = cell(2, ("CaSSLe",), ("SimCLR", "A"))


def test_a_run_of_the_published_experiment_bears_no_mark_and_seeds_are_averaged(pretend):
    runs = [pretend(f"s{seed}", {"strategy": "cassle", "seed": seed}, A) for seed, A in ((5, 58.0), (6, 60.0), (7, 59.0))]
    runs.append(pretend("again", {"strategy": "cassle", "seed": 7}, 99.0))  # a seed counts once
    there = found(CASSLE, runs)
    assert (there.value, there.spread, there.marks) == (59.0, 1.0, ()) and [run.tree["seed"] for run in there.runs] == [5, 6, 7]
    assert found(cell(2, ("CaSSLe",), ("SimCLR", "F")), runs).value == 1.5
    assert found(cell(6, ("SimCLR",), ("CaSSLe",)), runs).value == 59.0 == found(cell(3, ("CaSSLe", "SimCLR"), ("5 tasks",)), runs).value


@pytest.mark.parametrize("changes", [
    {"strategy": "finetune"},
    {"strategy": {"name": "cassle", "swap": True}},
    {"strategy": {"name": "cassle", "criterion": "cosine"}},
    {"strategy": "cassle", "method": "byol"},
    {"strategy": "cassle", "stream": {"tasks": 10}},
    {"strategy": "cassle", "stream": "data_incremental"},
    {"strategy": "cassle", "data": "cifar10"},
    {"strategy": "cassle", "backbone": "resnet50"},
    {"strategy": "cassle", "groups": "joint"},
])  # fmt: skip
def test_what_identifies_a_cell_may_not_differ(pretend, changes):
    run = pretend("other", changes)
    assert found(CASSLE, [run]) is None


@pytest.mark.parametrize(("changes", "mark"), [
    ({"budget": 50}, "50 epochs a task instead of 500"),
    ({"epochs": 30}, "epochs 30 instead of 500"),
    ({"precision": "float32"}, "precision float32 instead of bfloat16"),
    ({"batch_size": 128}, "batch_size 128 instead of 256"),
    ({"backbone": {"width": 16}}, "backbone.width 16 instead of 64"),
    ({"method": {"temperature": 0.5}}, "method.temperature 0.5 instead of 0.2"),
    ({"strategy": {"name": "cassle", "weight": 2.0}}, "strategy.weight 2.0 instead of 1.0"),
    ({"stream": {"seed": 6}}, "stream.seed 6 instead of 5"),
    ({"views": {"size": 24}}, "views.size 24 instead of 32"),
    ({"optimizer": {"name": "sgd"}}, "optimizer sgd instead of lars"),
    ({"steps": 40}, "40 steps a task instead of epochs"),
    ({"test_size": 28}, "test_size 28 instead of none"),
])  # fmt: skip
def test_every_other_difference_is_told(pretend, changes, mark):
    run = pretend("other", {"strategy": "cassle"} | changes)
    assert found(CASSLE, [run]).marks == (mark,)


def test_where_the_data_lie_and_who_else_was_asked_is_no_difference(pretend):
    run = pretend("other", {"strategy": "cassle", "data": {"root": "/elsewhere"}, "probes": [{"name": "online", "leak": True}]})
    assert found(CASSLE, [run]).marks == ()


def test_a_budget_is_one_difference_whatever_hangs_on_it(pretend):
    swav = cell(4, ("SwAV", "CaSSLe"), ("CIFAR-100", "A"))
    run = pretend("short", {"method": "swav", "strategy": "cassle", "budget": 100, "precision": "float32"})
    assert found(swav, [run]).marks == ("100 epochs a task instead of 500", "precision float32 instead of bfloat16")


def test_runs_that_differ_are_not_mixed_and_the_nearest_is_taken(pretend):
    short = [pretend(f"short{seed}", {"strategy": "cassle", "budget": 50, "seed": seed}, 40.0) for seed in (5, 6)]
    longer = pretend("longer", {"strategy": "cassle", "budget": 100}, 45.0)
    assert found(CASSLE, short).spread == 0.0
    assert found(CASSLE, [*short, longer]).runs == (longer,)  # of equals the longest
    far = pretend("far", {"strategy": "cassle", "epochs": 499, "batch_size": 255}, 46.0)
    assert found(CASSLE, [*short, longer, far]).runs == (longer,)
    whole = pretend("whole", {"strategy": "cassle"}, 50.0)
    assert found(CASSLE, [*short, longer, far, whole]).runs == (whole,)


def test_an_unfinished_run_is_no_cell(pretend):
    assert found(CASSLE, [pretend("half", {"strategy": "cassle"}, done=4)]) is None


def test_another_probe_answers_with_a_mark(pretend):
    other = pretend("other", {"strategy": "cassle"}, probes=["knn", "linear", "online"])
    assert found(CASSLE, [other]).marks == ("judged by online instead of online(leak=true)",)
    assert found(CASSLE, [pretend("neighbours", {"strategy": "cassle"}, probes=["knn"])]) is None


@pytest.mark.parametrize(("wanted", "there", "answer"), [
    ("sgd(lr=3.0)", ["knn", "linear", "sgd"], "sgd"),
    ("sgd(lr=3.0)", ["linear", "linear(share=0.1)"], "linear"),
    ("sgd(lr=3.0,share=0.1)", ["linear", "linear(share=0.1)"], "linear(share=0.1)"),
    ("sgd(lr=3.0,aware=true)", ["sgd(lr=3.0)", "linear"], None),
    ("knn(features=projector)", ["knn", "linear"], None),
    ("knn", ["knn(k=50)"], "knn(k=50)"),
    ("sgd", ["transfer(data={\"name\": \"x\"})"], None),
    ('transfer(data={"name": "x", "root": "here", "n": 1},domain=real)', ['transfer(data={"name": "x", "root": "there", "n": 1},domain=real)'], 0),
    ('transfer(data={"name": "x", "root": "here"})', ['transfer(data={"name": "y", "root": "here"})'], None),
])  # fmt: skip
def test_only_who_was_asked_the_same_may_answer(wanted, there, answer):
    assert answering(wanted, dict.fromkeys(there)) == (there[0] if answer == 0 else answer)


def test_of_what_the_paper_tuned_the_best_is_taken_and_that_is_said(pretend):
    pod = cell(2, ("POD",), ("SimCLR", "A"))
    plain = pretend("plain", {"strategy": "pod"}, 50.0)
    assert found(pod, [plain]).marks == ("pod at weight 1, not tuned as the paper's was",)
    better = pretend("better", {"strategy": {"name": "pod", "weight": 3.0}}, 52.0)
    assert found(pod, [plain, better]).value == 52.0
    assert found(pod, [plain, better]).marks == ("pod at weight 3, the best of 2; the paper's is not known",)
    assert found(cell(2, ("POD",), ("SimCLR", "F")), [plain, better]).runs == (better,)  # F is that of the best A


def test_five_times_as_long_is_exactly_that(pretend):
    fifth = cell(5, ("Class-inc.", "SimCLR"), ("Offline 1/5",))
    plain = cell(5, ("Class-inc.", "SimCLR"), ("Fine-tuning",))
    usual = pretend("usual", {"budget": 50}, preset="imagenet100")
    assert found(fifth, [usual]) is None and found(plain, [usual]).value == 50.0
    long = pretend("long", {"budget": 50, "epochs": 250}, 61.0, preset="imagenet100", done=1)
    assert found(fifth, [usual, long]).value == 61.0 and found(plain, [usual, long]).runs == (usual,)
    assert found(fifth, [long]).marks == ("250 epochs a task instead of 2000",)


def test_offline_and_domains(pretend):
    offline = {"method": "byol", "stream": "joint", "groups": {"name": "class_incremental", "tasks": 5}}
    run = pretend("offline", offline, 70.0, done=1)
    assert found(cell(2, ("Offline",), ("BYOL", "A")), [run]).value == 70.0
    assert found(cell(2, ("Offline",), ("BYOL", "F")), [run]).value is None
    domains = pretend("domains", {"method": "byol"}, preset="domainnet", done=6, width=6)
    path = domains.place / "accuracy.json"
    accuracy = json.loads(path.read_text())
    for judged in accuracy.values():
        judged["A"][-1] = [60.0, 50.0, 40.0, 30.0, 20.0, 10.0]
    path.write_text(json.dumps(accuracy))
    domains = Run(domains.place)
    assert found(cell(10, ("BYOL", "Fine-tuning"), ("Sketch", "Ag.")), [domains]).value == 30.0
    average = (60 * 52041 + 50 * 51750 + 40 * 21850 + 30 * 20916 + 20 * 15582 + 10 * 14604) / (52041 + 51750 + 21850 + 20916 + 15582 + 14604)
    assert found(cell(7, ("BYOL", "Fine-tuning"), ("DomainNet",)), [domains]).value == pytest.approx(average)


@pytest.fixture
def some(pretend, tmp_path):
    """Two seeds of CaSSLe on a budget, and fine-tuning in full."""
    for seed, A in ((5, 50.0), (6, 51.0)):
        pretend(f"cassle{seed}", {"strategy": "cassle", "budget": 50, "seed": seed}, A)
    pretend("finetune", {"strategy": "finetune"}, 48.0)
    return tmp_path / "runs"


def test_a_table_as_text_and_markdown(some):
    text = FORMATS["text"](compared("6", [some]))
    row = next(line for line in text.splitlines() if line.startswith("SimCLR"))
    assert row.split("  ")[-1].strip() == "50.5 ± 0.7 a / 58.3" and "· / 49.3" in row
    assert "a: 50 epochs a task instead of 500" in text and "an abacus" in text and "bfloat16" in text and "online classifier" in text
    runs = next(line for line in text.splitlines() if "cassle5" in line)
    assert runs.split("  ")[-1].strip() == "5" and "cassle6" in runs and "5, 6" in runs  # hours
    page = FORMATS["markdown"](compared("table6", [some]))
    assert "| SimCLR | · / 49.3 | · / 52.6 | 50.5 ± 0.7<sup>a</sup> / 58.3 |" in page and "- <sup>a</sup> 50 epochs" in page


def test_a_table_for_a_paper_and_for_a_spreadsheet(some):
    tex = FORMATS["latex"](compared("2", [some]))
    assert r"50.5 $\pm$ 0.7$^{a}$ / 58.3" in tex and r"\par\footnotesize $^{a}$ 50 epochs a task instead of 500" in tex
    assert tex.count(r"\begin") == tex.count(r"\end") == 2 and "–" not in tex and "·" not in tex and "±" not in tex
    assert not [line for line in tex.splitlines() if line.endswith(r"\\") and line.count(" & ") != 9]
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](compared("2", [some])))))
    assert len(rows) == 81
    one = next(row for row in rows if row["Strategy"] == "CaSSLe" and row["column"] == "SimCLR A")
    assert (one["published"], one["ours"], one["spread"], one["n"], one["epochs"]) == ("58.3", "50.5", "0.71", "2", "50")
    assert one["hardware"] == "an abacus" and one["training hours each"] == "5" and "50 epochs" in one["differences"]
    assert next(row for row in rows if row["Strategy"] == "EWC")["ours"] == ""


@pytest.mark.parametrize("number", range(2, 16))
@pytest.mark.parametrize("format", FORMATS)
def test_every_table_can_be_printed_without_a_run(number, format):
    text = FORMATS[format](filled(tables()[number], []))
    assert len(text.splitlines()) > 4 and ("No run" in text or format in ("csv", "latex"))


def test_what_cannot_be_read_is_one_line(tmp_path, pretend):
    with pytest.raises(UserError, match="is not a folder"):
        runs_under([tmp_path / "nowhere"])
    broken = pretend("broken", {}).place
    (broken / "accuracy.json").write_text("{")
    with pytest.raises(UserError, match="broken/accuracy.json is damaged") as error:
        runs_under([tmp_path])
    assert "\n" not in str(error.value)
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger/experiment.toml").write_text("a = 1\n")
    with pytest.raises(UserError, match="stranger/experiment.toml is damaged"):
        runs_under([tmp_path / "stranger"])
    (tmp_path / "stranger/experiment.toml").unlink()
    (broken / "accuracy.json").unlink()
    assert [run.done for run in runs_under([tmp_path])] == [0]  # under way
