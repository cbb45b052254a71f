"""Presets: every method and strategy resolves in each, as the recipe has it."""

from itertools import product

import pytest

from cassle import registry
from cassle.errors import UserError
from cassle.experiment import Experiment, grid, presets

BENCHES = ("cifar100", "imagenet100", "domainnet")
BUDGETED = [(name, budget) for name in BENCHES for budget in (50, 100)]


@pytest.mark.parametrize("name", presets())
def test_every_method_resolves_with_every_strategy(name):
    for method, strategy in product(registry.names("methods"), registry.names("strategies")):
        experiment = Experiment.preset(name, {"method": method, "strategy": strategy})
        assert (experiment.method.name, experiment.strategy.name) == (method, strategy)


def test_the_benches_are_the_paper_s():
    experiments = {name: Experiment.preset(name) for name in BENCHES}
    assert [e.epochs for e in experiments.values()] == [500, 400, 200]
    assert {(e.batch_size, e.precision, e.seed, e.backbone.name) for e in experiments.values()} == {(256, "bfloat16", 5, "resnet18")}
    assert [e.stream.name for e in experiments.values()] == ["class_incremental", "class_incremental", "domain_incremental"]
    assert experiments["cifar100"].backbone.settings["padding"] == 2 and experiments["imagenet100"].backbone.settings["stem"] == "imagenet"
    assert experiments["cifar100"].stream.settings["seed"] == 5
    assert Experiment.preset("imagenet100", {"stream": "data_incremental"}).stream.settings == {"tasks": 5, "seed": 42}
    assert [e.test_size for e in experiments.values()] == [None, 224, 224]


@pytest.mark.parametrize(("method", "rates", "decays", "first", "second"), [
    ("simclr", (0.4, 0.4), (1e-5, 1e-4), {"brightness": 0.8, "solarize": 0.0}, {"hue": 0.2, "blur": (0.0, 0.5)}),
    ("barlow_twins", (0.3, 0.4), (1e-4, 1e-4), {"solarize": 0.0, "blur": (0.0, 1.0)}, {"solarize": 0.2, "blur": (0.0, 0.1), "saturation": 0.2}),
    ("byol", (1.0, 0.6), (1e-5, 1e-5), {"solarize": 0.0, "blur": (0.0, 1.0)}, {"solarize": 0.2, "blur": (0.0, 0.1)}),
    ("vicreg", (0.3, 0.4), (1e-4, 1e-4), {"scale": (0.2, 1.0), "solarize": 0.1}, {"scale": (0.2, 1.0), "solarize": 0.1, "blur": (0.0, 0.5)}),
    ("swav", (0.6, 0.8), (1e-6, 1e-6), {"brightness": 0.8}, {"blur": (0.0, 0.5), "scale": (0.08, 1.0)}),
    ("mocov2plus", (0.6, 0.4), (1e-4, 1e-4), {"brightness": 0.4, "saturation": (0.2, 0.4)}, {"solarize": (0.2, 0.0), "hue": 0.1}),
])  # fmt: skip
def test_each_method_is_taught_as_published(method, rates, decays, first, second):
    for number, name in enumerate(BENCHES):
        small = Experiment.preset(name, {"method": method})
        number = min(number, 1)
        assert small.optimizer.settings["lr"] == rates[number] and small.optimizer.settings["weight_decay"] == decays[number]
        for view, wanted in zip(small.views, (first, second)):
            for key, value in wanted.items():
                several = isinstance(value, tuple) and key != "scale"
                assert view.settings[key] == (value[number] if several else value), (name, key)


def test_what_the_recipe_has_besides():
    swav, moco = (Experiment.preset("cifar100", {"method": method}) for method in ("swav", "mocov2plus"))
    large_moco = Experiment.preset("imagenet100", {"method": "mocov2plus"})
    assert not swav.optimizer.settings["exclude_1d"] and not moco.optimizer.settings["exclude_1d"]
    assert swav.schedule.settings["minimum"] == 0.0006 and large_moco.optimizer.name == "sgd" and large_moco.schedule.settings["warmup"] == 0
    assert Experiment.preset("imagenet100", {"method": "byol"}).method.settings["predictor"] == 8192
    assert Experiment.preset("domainnet", {"method": "supervised"}).method.settings["classes"] == 345
    assert [p.label for p in Experiment.preset("cifar100", {"method": "vicreg"}).probes] == ["online(leak=true,lr=0.3)", "online(lr=0.3)", "linear", "knn"]
    assert [p.label for p in Experiment.preset("domainnet", {"method": "byol"}).probes] == ["sgd(lr=3.0,aware=true)", "sgd(lr=3.0)"]


def test_supcon_is_distilled_at_another_temperature_than_it_learns_by():
    supcon = Experiment.preset("cifar100", {"method": "supcon", "strategy": "cassle"})
    assert supcon.method.settings["temperature"] == 0.1 and supcon.strategy.settings["criterion"].settings["temperature"] == 0.2
    own = Experiment.preset("cifar100", {"method": "supcon", "strategy": {"name": "cassle", "criterion": "cosine"}})
    assert own.strategy.settings["criterion"].name == "cosine"
    assert Experiment.preset("cifar100", {"strategy": "cassle"}).strategy.settings["criterion"] is None


@pytest.mark.parametrize(("name", "budget"), BUDGETED)
def test_a_budget_brings_down_all_that_is_counted_in_epochs(name, budget):
    for method in ("simclr", "swav", "dino", "mocov2plus"):
        long, short = Experiment.preset(name, {"method": method}), Experiment.preset(name, {"method": method, "budget": budget})
        assert short.epochs == budget < long.epochs and short.fingerprint == Experiment.preset(name, {"method": method, "budget": budget}).fingerprint
        assert short.schedule.settings["warmup"] <= max(2, long.schedule.settings["warmup"] / 2)
        for key in ("queue_from", "freeze", "warmup"):
            if key in short.method.settings and (method, key) != ("dino", "freeze"):
                assert 0 < short.method.settings[key] <= long.method.settings[key] / 2 + 1, (method, key)
    assert Experiment.preset("imagenet100", {"method": "mocov2plus", "budget": 50}).schedule.settings["warmup"] == 0
    assert Experiment.preset(name, {"budget": budget, "epochs": 7}).epochs == 7


@pytest.mark.parametrize(("name", "budget", "line"), [
    ("cifar100", 60, "budget: cifar100 has none of 60 (there is: 50, 100; any other length is epochs=)"),
    ("cifar100", "50", "budget: cifar100 has none of '50'"),
    ("cifar100", True, "budget: cifar100 has none of True"),
    ("demo", 50, "budget: demo has none of 50 (say epochs= or steps=)"),
])  # fmt: skip
def test_a_budget_that_is_not_there_is_one_line(name, budget, line):
    with pytest.raises(UserError) as error:
        Experiment.preset(name, {"budget": budget})
    assert str(error.value).startswith(line)


def test_as_many_values_are_tried_as_the_paper_tried():
    for name in BENCHES:
        tried = {s: len(grid(name, s, f"strategy.{key}")) for s, key in [("pod", "weight"), ("less_forget", "weight"), ("ewc", "weight")]}
        assert tried == {"pod": 5, "less_forget": 5, "ewc": 3}
        assert {len(grid(name, strategy, "strategy.batch")) for strategy in ("er", "der", "ccssl")} == {3}
        for strategy in ("pod", "less_forget", "ewc", "er", "der", "ccssl"):
            setting = "batch" if strategy in ("er", "der", "ccssl") else "weight"
            default = Experiment.preset(name, {"strategy": strategy}).strategy.settings[setting]
            assert default in grid(name, strategy, f"strategy.{setting}")

