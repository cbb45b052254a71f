"""Configuration: what is accepted, what is refused, and in which words."""

import tomllib

import pytest

from cassle.config import merge, override, toml
from cassle.errors import UserError
from cassle.experiment import Experiment, presets


@pytest.mark.parametrize(("changes", "line"), [
    ({"epocs": 3}, "epocs: an experiment has no such setting; did you mean 'epochs'?"),
    ({"method": "simcrl"}, "method: no method is called 'simcrl'; did you mean 'simclr'?"),
    ({"method": {"temprature": 1}}, "method.temprature: simclr has no such setting; did you mean 'temperature'?"),
    ({"method": {"temperature": "hot"}}, "method.temperature: want a number above 0, got 'hot'"),
    ({"method": {"temperature": 0}}, "method.temperature: want a number above 0, got 0"),
    ({"method": {"temperature": float("nan")}}, "method.temperature: want a number above 0, got nan"),
    ({"method": {"projector": 3}}, "method.projector: want a list of one at least, got 3"),
    ({"method": {"projector": [3, "x"]}}, "method.projector.1: want a whole number from 1 to 100000000, got 'x'"),
    ({"epochs": 2.5}, "epochs: want a whole number from 1 to 100000000, got 2.5"),
    ({"epochs": True}, "epochs: want a whole number from 1 to 100000000, got True"),
    ({"batch_size": 0}, "batch_size: want a whole number from 1 to 100000000, got 0"),
    ({"precision": "float23"}, "precision: got 'float23'; did you mean 'float32'?"),
    ({"backbone": {"stem": "cifra"}}, "backbone.stem: got 'cifra'; did you mean 'cifar'?"),
    ({"views": {"flip": 1.5}}, "views.0.flip: want a number from 0 to 1, got 1.5"),
    ({"views": {"7": {"flip": 0.5}}}, "there is no number 7 in a list of 2"),
    ({"views": {"9" * 5000: {"flip": 0.5}}}, "there is no number 9999"),
    ({"views": [{}]}, "views: two are needed"),
    ({"strategy": {"name": "cassle", "criterion": "infonce"}}, "strategy.criterion: no criterion is called 'infonce'; did you mean 'info_nce'?"),
    ({"strategy": {"name": "cassle", "criterion": {"name": "info_nce", "temperature": -1}}}, "strategy.criterion.temperature: want a number above 0"),
    ({"strategy": {"name": 3}}, "strategy: want a name or a table with a name"),
    ({"strategy": "no_such_package:Thing"}, "strategy: there is no Python module 'no_such_package'"),
    ({"probes": ["knn", "knn"]}, "probes: each may be named once"),
    ({"data": {"name": "cifar10", "root": 3}}, "data.root: want a folder's path, got 3"),
    ({"optimizer": {"clip": 1}}, "optimizer.clip: want true or false, got 1"),
    ({"method": []}, "method: want a name or a table with a name, got []"),
    ({"method": {"name": [1]}}, "method: want a name or a table with a name, got {'name': [1]}"),
    ({"strategy": [1]}, "strategy: want a name or a table with a name, got [1]"),
    ({"strategy": {"name": {}}}, "strategy: want a name or a table with a name"),
    ({"views": {"²": {"flip": 0.5}}}, "views.0.²: view has no such setting"),
    ({"views": {"scale": [1, 0.1]}}, "views.0.scale: want the smaller number first and the larger one above 0, got [1, 0.1]"),
    ({"views": {"scale": [0, 0]}}, "views.0.scale: want the smaller number first and the larger one above 0, got [0, 0]"),
    ({"views": {"sigma": [1]}}, "views.0.sigma: want a list of 2, got [1]"),
    ({"views": {"sigma": [1, "x"]}}, "views.0.sigma.1: want a number above 0, got 'x'"),
    ({"method": {"projector": []}}, "method.projector: want a list of one at least, got []"),
    ({"data": {"sets": []}}, "data.sets: want a list of one at least, got []"),
    ({"method": {"name": "deepclusterv2", "prototypes": []}}, "method.prototypes: want a list of one at least"),
    ({"strategy": {"name": "cassle", "criterion": {"name": "prototypes", "dim": 64, "counts": []}}}, "strategy.criterion.counts: want a list of one"),
    ({"method": {"name": "swav", "queue": 0.5}}, "method.queue: want a whole number from 0 to 100000000, got 0.5"),
    ({"method": {"name": "nnclr", "queue": 10**12}}, "method.queue: want a whole number from 1 to 100000000, got 1000000000000"),
    ({"steps": 10**400}, "steps: want a whole number from 1 to 100000000, got 1000"),
    ({"method": {"temperature": 10**400}}, "method.temperature: want a number above 0, got 1000"),
    ({"stream": {"name": "class_incremental", "seed": 10**23}}, "stream.seed: want a whole number of 64 bits, got 1000"),
    ({"batch_size": 1}, "batch_size: an image alone has nothing to be compared with; 2 at least"),
])  # fmt: skip
def test_what_is_wrong_is_one_line_that_names_it(changes, line, monkeypatch, tmp_path):
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path))
    with pytest.raises(UserError) as error:
        Experiment.preset("demo", changes)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_lists_that_may_be_empty():
    changes = {"data": {"name": "folder", "root": "x", "domains": []}, "stream": {"name": "class_incremental", "classes_each": []}, "probes": []}
    experiment = Experiment.preset("demo", changes)
    assert experiment.probes == experiment.data.settings["domains"] == experiment.stream.settings["classes_each"] == ()


@pytest.mark.parametrize("text", ["a = " + 5000 * "1", "a = " + 5000 * "[", "\xff", "a"])
def test_a_file_that_is_not_toml_is_told_of_in_one_line(text, tmp_path):
    (tmp_path / "mine.toml").write_text(text, "latin-1")
    with pytest.raises(UserError, match=r"mine.toml: is not TOML \("):
        Experiment.preset(str(tmp_path / "mine.toml"))


def test_a_folder_need_not_be_there_until_a_run_begins(monkeypatch, tmp_path):
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path))
    experiment = Experiment.preset("demo", {"data": "cifar10"})
    for asked in (experiment.check, experiment.data.build):
        with pytest.raises(UserError, match="data.root: there is no folder .*cassle data"):
            asked()


@pytest.mark.parametrize("name", presets())
def test_every_preset_resolves_survives_toml_and_is_what_it_was(name):
    experiment = Experiment.preset(name)
    again = Experiment.from_tree(tomllib.loads(experiment.toml()))
    assert again == experiment and again.fingerprint == experiment.fingerprint
    assert again.toml() == experiment.toml()


def test_every_setting_counts_in_the_fingerprint():
    base = Experiment.preset("demo")
    changes = [{"seed": 6}, {"method": {"temperature": 0.3}}, {"views": {"1": {"blur": 0.5}}}, {"probes": ["knn"]}]
    assert len({Experiment.preset("demo", change).fingerprint for change in changes} | {base.fingerprint}) == 5


def test_another_component_drops_the_old_one_s_settings_and_a_preset_s_table_brings_its_own():
    byol = Experiment.preset("demo", {"method": "byol"})
    assert byol.method.settings["predictor"] == 256 and "temperature" not in byol.method.settings
    assert Experiment.preset("demo", {"method": {"temperature": 0.5}}).method.settings["projector"] == (256, 64)


def test_a_list_takes_a_change_everywhere_or_in_one_place():
    everywhere = Experiment.preset("demo", override("views.blur=0.5"))
    second = Experiment.preset("demo", override("views.1.blur=0.5"))
    assert [view.settings["blur"] for view in everywhere.views] == [0.5, 0.5]
    assert [view.settings["blur"] for view in second.views] == [0.0, 0.5]


def test_an_experiment_can_be_written_in_python():
    written = Experiment(data="quickdraw", method={"name": "byol", "predictor": 64}, stream={"name": "class_incremental", "tasks": 2})
    assert written.method.settings["predictor"] == 64 and written.strategy.name == "finetune" and written.epochs == 500
    assert written == Experiment.from_tree({"data": "quickdraw", "method": {"name": "byol", "predictor": 64}, "stream": {"tasks": 2}})


def test_words_become_trees():
    assert override("a.b=3") == {"a": {"b": 3}}
    assert override("a=cassle") == {"a": "cassle"} == override('a="cassle"')
    assert override("a=[1, 2]") == {"a": [1, 2]} and override("a=true") == {"a": True}
    assert override("a=" + 5000 * "1") == {"a": 5000 * "1"} and override("a=" + 5000 * "[") == {"a": 5000 * "["}
    for wrong in ("a", "=3", "a..b=3"):
        with pytest.raises(UserError, match="want key=value"):
            override(wrong)


def test_merging_and_writing():
    assert merge({"a": {"name": "x", "k": 1}}, {"a": {"k": 2}}) == {"a": {"name": "x", "k": 2}}
    assert merge({"a": {"name": "x", "k": 1}}, {"a": "y"}) == {"a": {"name": "y"}}
    tree = {"s": 'quote " and ü', "f": 0.1, "l": [1, 2], "t": {"name": "n", "deep": {"x": True}}, "many": [{"a": 1}, {"a": 2}]}
    assert tomllib.loads(toml(tree)) == tree


def test_a_class_of_your_own(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from cassle.strategies import Strategy\n\nclass Gentle(Strategy):\n    def __init__(self, *, weight: float = 0.5):\n"
        "        super().__init__()\n        self.weight = weight\n\nclass Stranger:\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    experiment = Experiment.preset("demo", {"strategy": {"name": "mine:Gentle", "weight": 2}})
    assert experiment.strategy.build().weight == 2.0
    with pytest.raises(UserError, match="mine:Stranger is not a Strategy"):
        Experiment.preset("demo", {"strategy": "mine:Stranger"}).strategy.build()
    with pytest.raises(UserError, match="mine has no class 'Gentel'; did you mean 'Gentle'"):
        Experiment.preset("demo", {"strategy": "mine:Gentel"})
