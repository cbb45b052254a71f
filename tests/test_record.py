"""Run directories that were damaged: one line that names the file, whoever reads it."""

import json

import pytest

from cassle.errors import UserError
from cassle.paper.comparison import compared
from cassle.record import Record, runs_in
from cassle.reports.page import write_page
from cassle.reports.table import rows

GARBAGE = ("", "{", "[]", "7", "null", '{"knn": 3}', '{"knn": {"A": [["x"]]}}', '{"tasks": [{"seconds": "x"}]}', '"text"', 2000 * "[", "\xff\x00")
READ = {"accuracy": Record.accuracy, "classes": Record.classes, "health": Record.health, "cost": Record.cost, "environment": Record.environment}


@pytest.fixture
def place(pretend):
    """A run of which every file is whole."""
    place = pretend("run", {"strategy": "finetune"}, done=2, width=2).place
    judged = {"A": [[50.0, 20.0], [40.0, 60.0]], "R": [10.0, 10.0], "average": 50.0, "forgetting": 10, "forward_transfer": float("nan")}
    (place / "accuracy.json").write_text(json.dumps({"knn": judged}))
    (place / "classes.json").write_text(json.dumps({"knn": {"cat": 50.0}}))
    (place / "health.json").write_text(json.dumps({"rankme": [1.0, 2.0, 3.0], "cka": [None, None, 0.5], "overlap": [None, None, 0.5]}))
    (place / "metrics.jsonl").write_text('{"task": 0, "step": 10, "loss": 1.0, "ssl": 1.0, "keep": 0.0, "spread": 0.5}\n{"task": 0, "st')
    return place


def test_what_is_whole_is_read(place):
    record = Record(place)
    assert record.accuracy()["knn"]["A"][1] == [40.0, 60.0] and record.health()["cka"] == [None, None, 0.5]
    assert [row["step"] for row in record.metrics()] == [10]  # half a line is not one yet
    assert record.tree() == record.experiment().tree() and rows([record]) and runs_in([place.parent]) == [place]


@pytest.mark.parametrize("text", GARBAGE)
@pytest.mark.parametrize("name", ["accuracy.json", "classes.json", "health.json", "cost.json", "environment.json", "metrics.jsonl", "experiment.toml"])
def test_a_damaged_file_is_one_line_that_names_it(name, text, place, tmp_path):
    (place / name).write_text(text + "\n" * (name == "metrics.jsonl"), "latin-1")
    read = {"metrics": Record.metrics, "experiment": Record.tree, **READ}[name.partition(".")[0]]
    try:
        read(Record(place))
        return  # it might be what it says
    except UserError as error:
        assert name in str(error) and "put it back from a copy" in str(error) and len(str(error)) < 500
    with pytest.raises(UserError, match=f"{name} is damaged"):
        write_page([place], tmp_path / "page.html")
    if name in ("experiment.toml", "accuracy.json", "cost.json", "environment.json"):
        with pytest.raises(UserError, match=f"{name} is damaged"):
            compared("2", [place])


@pytest.mark.parametrize("text", ["seed = ", "\xff\xfe\x00", "", "data = 3"])
def test_nothing_is_learned_into_a_place_whose_experiment_is_garbage(text, place, tiny):
    (place / "experiment.toml").write_text(text, "latin-1")
    with pytest.raises(UserError, match="experiment.toml is damaged"):
        Record(place).check(tiny())


@pytest.mark.parametrize("values", [{"rankme": []}, {"rankme": [1.0]}, {"spread": [1.0, 2.0]}, {"rankme": [1.0, 2.0], "cka": [None]}])
def test_signs_of_health_that_are_not_of_one_length_are_damaged(values, place):
    (place / "health.json").write_text(json.dumps(values))
    with pytest.raises(UserError, match="health.json is damaged .its lists"):
        Record(place).health()


def test_matrices_that_are_not_of_one_width_are_damaged(place):
    judged = json.loads((place / "accuracy.json").read_text())["knn"]
    for changes in ({"A": []}, {"R": [], "A": [[]]}, {"A": [[1.0, 2.0], [3.0]]}, {"R": [1.0]}):
        (place / "accuracy.json").write_text(json.dumps({"knn": judged | changes}))
        with pytest.raises(UserError, match="accuracy.json is damaged .knn.A and knn.R"):
            Record(place).accuracy()
