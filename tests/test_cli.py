"""The command line as a person meets it."""

import os
import subprocess
import sys

import pytest

from cassle.experiment import Experiment
from cassle.record import Record


def cassle(*words, **environment):
    variables = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"} | environment
    return subprocess.run([sys.executable, "-m", "cassle", *map(str, words)], capture_output=True, text=True, env=variables)


@pytest.mark.parametrize(("words", "says"), [
    (["train", "dmeo"], "no preset is called 'dmeo'; did you mean 'demo'?"),
    (["train", "demo", "method=simcrl"], "did you mean 'simclr'?"),
    (["train", "demo", "method.temperature=warm"], "method.temperature: want a number above 0"),
    (["train", "demo", "epochs"], "want key=value"),
    (["train", "nowhere.toml"], "nowhere.toml: cannot be read"),
    (["train", "demo", "data=cifar10"], "data.root: there is no folder"),
    (["show", "demo", "stream=calss_incremental"], "did you mean 'class_incremental'?"),
    (["train", "demo", "--out", "/dev/null/run"], "/dev/null/run cannot be written: /dev/null is not a folder"),
    (["train", "demo", "strategy=finetune,cassel", "--out", "runs/x"], "did you mean 'cassle'?"),
    (["train", "demo", "strategy=cassle", "strategy.weight=grid"], "strategy.weight=grid: demo has no such grid for cassle"),
    (["list", "colours"], "colours"),
    (["tarin"], "tarin"),
    (["train"], "preset"),
    (["train", "demo", "--otu", "x"], "--otu"),
    (["data", "cifra10"], "did you mean 'cifar10'?"),
    (["report", "nowhere"], "nowhere"),
    (["report", ".", "--out", "/dev/null/page.html"], "holds no run that has finished a task"),
    (["train", "demo", "batch_size=1"], "batch_size: an image alone has nothing to be compared with; 2 at least"),
    (["train", "demo", "--device", "gpu"], "--device: want auto, cpu, cuda or cuda:1, say, got 'gpu'"),
    (["train", "demo", "--device", ""], "--device: want auto"),
    (["train", "demo", "--device", "cuda:999"], "--device: there is no cuda:999 here"),
    (["demo", "--device", "tpu"], "--device: want auto"),
    (["reproduce", "table2", "--device", "cuda:x"], "--device: want auto"),
    (["train", "demo", "--save-every", "nan"], "--save-every: want a number of seconds from 0, got nan"),
    (["train", "demo", "--save-every", "-1"], "--save-every: want a number of seconds from 0, got -1.0"),
    (["train", "demo", "method=[]"], "method: want a name or a table with a name, got []"),
    (["train", "demo", "views.².flip=0.5"], "views.0.²: view has no such setting"),
    (["train", "demo", "--out", "x" * 300], "File name too long"),
    (["report", "x" * 300], "File name too long"),
    (["train", "demo", "strategy=finetune", "strategy.weight=grid"], "strategy.weight=grid: demo has no such grid for finetune"),
    (["train", "demo", "budget=50"], "budget: demo has none of 50"),
    (["table", "1"], "the paper has no table '1'"),
    (["table", "2", "nowhere"], "nowhere is not a folder"),
    (["table", "2", "--format", "word"], "word"),
    (["table", "2", "--out", "/dev/null/table"], "/dev/null/table cannot be written"),
    (["figure", "teaser"], "no run belongs to this figure"),
    (["figure", "taeser"], "taeser"),
    (["reproduce", "table22"], "the paper has no table 'table22'"),
    (["reproduce", "table2", "--budget", "60"], "budget: cifar100 has none of 60"),
    (["reproduce", "table2", "--gpus", "one"], "--gpus: want whole numbers"),
    (["reproduce", "table2"], "data.root: there is no folder"),
])  # fmt: skip
def test_what_is_wrong_is_one_line_and_nothing_is_written(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = os.environ.get("PYTHONPATH", "")
    root = os.path.dirname(os.path.dirname(os.path.abspath(sys.modules["cassle"].__file__)))
    done = cassle(*words, PYTHONPATH=f"{root}{os.pathsep}{here}", CASSLE_DATA=str(tmp_path / "none"))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("cassle: ") and done.stderr.count("\n") == 1 and says in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_half_of_what_torchrun_says_is_one_line(tmp_path, tiny):
    (tmp_path / "tiny.toml").write_text(tiny().toml())
    done = cassle("train", tmp_path / "tiny.toml", "--out", tmp_path / "run", "--device", "cpu", WORLD_SIZE="2", RANK="0")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "start several processes with torchrun" in done.stderr
    assert not (tmp_path / "run").exists()


def test_lists_name_every_component():
    for what, some in {"methods": "simclr", "strategies": "cassle", "datasets": "quickdraw", "probes": "knn", "presets": "demo"}.items():
        done = cassle("list", what)
        assert done.returncode == 0 and any(line.split()[0] == some for line in done.stdout.splitlines())


def test_show_is_a_preset_that_can_be_run_from(tmp_path):
    done = cassle("show", "demo", "method=byol", "steps=7")
    (tmp_path / "mine.toml").write_text(done.stdout)
    assert Experiment.preset(str(tmp_path / "mine.toml")) == Experiment.preset("demo", {"method": "byol", "steps": 7})


def test_show_says_what_the_paper_has_for_an_experiment():
    lines = cassle("show", "cifar100", "method=byol", "strategy=cassle").stdout.splitlines()
    assert lines[0] == "# the paper's Table 2: A by online(leak=true) 62.2, F by online(leak=true) 0, FT by online(leak=true) 43.6"
    assert not cassle("show", "demo").stdout.startswith("#")


def test_several_values_make_several_experiments():
    from cassle.cli import _experiments

    assert list(_experiments("demo", ["method=simclr,byol", "seed=1,2"])) == ["simclr-1", "simclr-2", "byol-1", "byol-2"]
    assert list(_experiments("demo", ["stream={name=\"class_incremental\", tasks=2}", "seed=3"])) == ["run"]
    two = _experiments("demo", ['strategy={name="cassle",weight=2},finetune', "data.sets=[\"scenes\",\"glyphs\"]"])
    assert list(two) == ["name_cassle_weight_2", "finetune"] and two["name_cassle_weight_2"].strategy.settings["weight"] == 2
    for chosen in ("strategy=ewc", "strategy.name=ewc", 'strategy={name="ewc"}'):
        assert list(_experiments("demo", [chosen, "strategy.weight=grid"])) == ["0.0003", "0.001", "0.003"]
        assert list(_experiments("demo", ["strategy.weight=grid", chosen])) == ["0.0003", "0.001", "0.003"]
    both = _experiments("demo", ["strategy=ewc,pod", "strategy.weight=grid"])
    assert list(both) == [f"ewc-{w}" for w in (0.0003, 0.001, 0.003)] + [f"pod-{w}" for w in (0.1, 0.3, 1.0, 3.0, 10.0)]
    assert both["pod-0.3"].strategy.settings["weight"] == 0.3


def test_a_table_needs_no_run_and_a_plan_no_data(tmp_path):
    done = cassle("table", "B", "--out", tmp_path / "table.txt")
    assert done.returncode == 0 and done.stdout == "" and "· / 69.6" in (tmp_path / "table.txt").read_text()
    done = cassle("reproduce", "table13", "--budget", "50", "--plan", "--out", tmp_path / "runs")
    assert done.returncode == 0 and "4 runs, 0 of them finished" in done.stdout and not (tmp_path / "runs").exists()


def test_help_is_there_for_every_command():
    for command in ("train", "demo", "report", "table", "figure", "reproduce", "list", "show", "data"):
        done = cassle(command, "--help")
        assert done.returncode == 0 and "Usage" in done.stdout
    assert cassle().returncode == 0 and "train" in cassle().stdout


def test_train_compares_strategies_and_report_draws_them(tmp_path, tiny):
    (tmp_path / "tiny.toml").write_text(tiny().toml())
    done = cassle("train", tmp_path / "tiny.toml", "strategy=finetune,cassle", "--out", tmp_path / "runs", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in ("finetune", "cassle", "random weights", "knn A"))
    average = Record(tmp_path / "runs/cassle").accuracy()["knn"]["average"]
    assert f"{average:.1f}" in done.stdout  # the table prints what was measured
    done = cassle("report", tmp_path / "runs", "--out", tmp_path / "page.html")
    assert done.returncode == 0 and "page.html" in done.stdout and (tmp_path / "page.html").stat().st_size > 10_000
