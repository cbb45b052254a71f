"""A table from nothing: what is planned, what is skipped, and that it is made."""

import pytest

from cassle.paper import cells, reproduce
from cassle.errors import UserError
from cassle.paper.cells import Head, Part, Table, tables
from cassle.paper.plan import planned
from cassle.paper.reproduce import make, numbers


def plan(word, out, budget=None, seeds=(), tuned=False):
    return planned(word, out, budget=budget, seeds=seeds, tuned=tuned)


def test_each_experiment_is_run_once_for_every_seed(tmp_path):
    assert len(plan("2", tmp_path).wanted) == 27 and len(plan("2", tmp_path, 50, [5, 6]).wanted) == 54
    assert len(plan("6", tmp_path).wanted) == 9 and len(plan("4", tmp_path).wanted) == 40 and len(plan("12", tmp_path).wanted) == 12
    assert {w.experiment.seed for w in plan("3", tmp_path, seeds=[1, 2]).wanted} == {1, 2}
    assert len({w.name for w in plan("10", tmp_path).wanted}) == len(plan("10", tmp_path).wanted) == 23


def test_a_run_answers_all_that_its_cells_ask(tmp_path):
    for w in plan("10", tmp_path).wanted + plan("12", tmp_path).wanted + plan("9", tmp_path).wanted:
        assert w.asked <= {probe.label for probe in w.experiment.probes} and len(w.asked) == 2
    few = plan("9", tmp_path).wanted[0]
    assert "sgd(lr=0.1)" not in {probe.label for probe in few.experiment.probes}  # costly, and not in this table


def test_tuning_tries_the_preset_s_values(tmp_path):
    weights = [w.experiment.strategy.settings["weight"] for w in plan("2", tmp_path, tuned=True).wanted if w.experiment.strategy.name == "pod"]
    assert len(weights) == 15 and len(set(weights)) == 5
    assert "--grid" in plan("2", tmp_path).said(1) and "--grid" not in plan("2", tmp_path, tuned=True).said(1)


def test_steps_are_those_that_a_run_would_take(tmp_path):
    by_name = {w.words: w.steps for w in plan("5", tmp_path).wanted if w.experiment.method.name == "byol"}
    per_epoch = 126_689 // 5 // 256
    assert sorted(by_name.values()) == sorted([400 * (126_689 // 256)] * 4 + [2000 * per_epoch] * 2)
    assert plan("2", tmp_path, 50).wanted[0].steps == 50 * 195


def test_finished_runs_are_skipped_and_measure_the_others(pretend, tmp_path):
    runs = tmp_path / "runs"
    fresh = plan("6", runs, 50)
    assert len(fresh.missing) == 9 and "said as soon as" in fresh.said(1)
    pretend("mine", {"strategy": "cassle", "budget": 50}, seconds=10.0)
    pretend("half", {"strategy": {"name": "cassle", "swap": True}, "budget": 50}, done=3)
    pretend("elsewhere", {"strategy": {"name": "cassle", "predictor": False}, "budget": 50, "data": {"root": "/elsewhere"}})
    pretend("unasked", {"method": "byol", "strategy": "cassle", "budget": 50}, probes=["knn"])
    pretend("long", {"method": "barlow_twins", "strategy": "cassle"})
    again = plan("6", runs, 50)
    assert len(again.missing) == 7 and "9 runs, 2 of them finished" in again.said(1)
    assert "hours of training, by the steps of" in again.said(1) or "days of training, by the steps of" in again.said(1)
    assert "2 runs at a time" in again.said(2)
    seconds = sum(w.steps for w in again.missing.values()) * 0.1
    assert again.pace.seconds >= seconds  # mine has a tenth of a second a step, the others more
    assert len(plan("6", runs).missing) == 8  # in full, only the long one is there


TINY = {"data": {"name": "sources", "sets": ["emoji", "glyphs"]}, "backbone": {"name": "resnet10", "width": 4}, "steps": 24, "batch_size": 16}
TINY |= {"stream": "domain_incremental", "views": {"size": 16}, "precision": "float32", "probes": ["knn"]}


@pytest.fixture
def toy(monkeypatch):
    """A table of two experiments, one of which is not learned to the end."""
    method = {"name": "simclr", "projector": [16, 8]}
    rows = [Head(("CaSSLe",), changes={"strategy": {"name": "cassle", "hidden": 16}}), Head(("First",), changes={"seed": 6}, measure="A first", until=1)]
    part = Part(rows, [Head(("A",), "demo", TINY | {"method": method}, measure="A")], "50\n40")
    small = Table(2, "Toy", ("Strategy",), [part])
    monkeypatch.setattr(cells, "tables", lambda: {2: small})
    return small


def test_what_is_missing_is_made_then_printed_and_not_made_again(toy, tmp_path, capsys):
    first = plan("2", tmp_path / "out")
    assert len(first.missing) == 2
    make(first, [], device="cpu", jobs=2, save_every=60.0)
    assert "by the steps of" in capsys.readouterr().out
    again = plan("2", tmp_path / "out")
    assert not again.missing and "2 of them finished" in again.said(1)
    assert sorted(run.done for run in again.there) == [1, 2]
    text = again.filled()
    assert "/ 50.0" in text and "/ 40.0" in text and "·" not in text.split("Ours")[0]


def test_one_that_fails_leaves_the_others_alone(toy, tmp_path):
    broken = plan("2", tmp_path / "out")
    victim = next(name for name, w in broken.missing.items() if w.until is None)
    (tmp_path / "out" / victim / "last").mkdir(parents=True)
    (tmp_path / "out" / victim / "experiment.toml").write_text(broken.missing[victim].experiment.toml())
    (tmp_path / "out" / victim / "metrics.jsonl").mkdir()  # which is to be a file
    with pytest.raises(UserError, match=f"1 of 2 runs failed: {victim}: "):
        make(broken, [], device="cpu", jobs=1, save_every=60.0)
    assert list(plan("2", tmp_path / "out").missing) == [victim]


def test_words_are_checked():
    assert numbers("0, 1,1", "--gpus") == [0, 1] and numbers("", "--gpus") == []
    for wrong in ("a", "0;1", "-1"):
        with pytest.raises(UserError, match="--seeds: want whole numbers"):
            numbers(wrong, "--seeds")
    with pytest.raises(UserError, match="budget: cifar100 has none of 7"):
        planned("2", None, budget=7, seeds=[], tuned=False)


def test_a_gpu_that_is_not_there_is_one_line(toy, tmp_path):
    with pytest.raises(UserError, match="--gpus: there is no GPU 99 here"):
        reproduce.check(plan("2", tmp_path / "out"), [99])
    assert not (tmp_path / "out").exists()


def test_runs_take_turns_on_several_devices():
    from cassle.sweep import _places

    assert _places(["cuda:0", "cuda:1"], None) == ["cuda:0", "cuda:1"] and _places(["cuda:0", "cuda:1"], 3) == ["cuda:0", "cuda:1", "cuda:0"]
    assert _places("cpu", 2) == ["cpu", "cpu"]


def test_every_table_can_be_planned(tmp_path):
    for number in tables():
        planned(str(number), tmp_path, budget=50, seeds=[], tuned=False).said(1)
