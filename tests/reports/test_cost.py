"""What a strategy costs, as a run records it and a report compares it."""

import json

import pytest

from cassle.record import Record
from cassle.reports.cost import costs, percent
from cassle.reports.table import rows
from cassle.run import run


@pytest.fixture
def made(tmp_path, tiny):
    """Three records that say what their steps took."""
    strategies = {"finetune": "finetune", "cassle": {"name": "cassle"}, "longer": {"name": "cassle"}}
    for (name, strategy), step in zip(strategies.items(), (0.1, 0.13, 0.5)):
        (tmp_path / name).mkdir()
        experiment = tiny({"strategy": strategy, "steps": 99 if name == "longer" else 12})
        (tmp_path / name / "experiment.toml").write_text(experiment.toml())
        tasks = [{"seconds": 1e3, "steps": 1, "peak_bytes": 9_000, "stored_bytes": 0}]
        tasks += [{"seconds": 10 * step, "steps": 10, "peak_bytes": int(1e4 * step), "stored_bytes": 7}] * 2
        (tmp_path / name / "cost.json").write_text(json.dumps({"tasks": tasks}))
        accuracy = {"A": [[50.0]], "R": [10.0], "average": 50.0, "forgetting": None, "forward_transfer": None}
        (tmp_path / name / "accuracy.json").write_text(json.dumps({"knn": accuracy}))
    return [Record(tmp_path / name) for name in strategies]


def test_cost_is_that_of_later_tasks_over_the_run_that_differs_in_its_strategy_alone(made):
    plain, cassle, longer = costs(made)
    assert plain.step == pytest.approx(0.1) and plain.over is None and plain.stored == 7
    assert cassle.over == pytest.approx(1.3) and cassle.memory_over == pytest.approx(1.3)
    assert longer.over is None  # it has more steps: nothing here to compare it with
    assert percent(cassle.over) == "+30 %" and percent(None) == ""
    table = rows(made, cost=True)
    assert table[0][-1] == "time over finetune" and [row[-1] for row in table[1:4]] == ["", "+30 %", ""]
    assert rows(made)[0][-1] != "time over finetune"


def test_runs_that_were_not_judged_alike_stand_in_one_table(made):
    other = json.loads((made[1].path / "accuracy.json").read_text())
    (made[1].path / "accuracy.json").write_text(json.dumps({"linear": other["knn"]}))
    assert [row[:3] for row in rows(made)[:3]] == [["", "knn A", "knn F"], ["finetune", "50.0", "–"], ["cassle", "", ""]]


def test_a_run_counts_its_steps_and_what_its_strategy_stores(tiny, tmp_path):
    run(tiny({"steps": 12}), tmp_path / "run")
    tasks = Record(tmp_path / "run").cost()
    assert [task["steps"] for task in tasks] == [12, 12, 12] and all(task["seconds"] > 0 for task in tasks)
    assert tasks[0]["stored_bytes"] == 0 < tasks[1]["stored_bytes"]
    assert all(task["peak_bytes"] > 1e6 for task in tasks)
