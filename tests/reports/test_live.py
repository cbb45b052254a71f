"""The display and the table: what a person reads while a run runs, and after."""

import io
import json

from rich.console import Console

from cassle.record import Record
from cassle.reports.live import Live
from cassle.reports.table import markdown, printed, rows
from cassle.training.log import Progress

TRAINING = Progress("training", 1, 4, epoch=2, epochs=8, step=30, steps=120, loss=4.56789, images_per_second=1234.4)


def test_a_terminal_shows_task_epoch_loss_rate_and_time_left():
    out = io.StringIO()
    with Live(["cassle", "finetune"], Console(file=out, force_terminal=True, width=160)) as live:
        live.tell("cassle", TRAINING)
        live.bars.refresh()
        line = live.bars.tasks[0]
        assert line.completed == (1 + 30 / 120) / 4
    text = out.getvalue()
    assert all(word in text for word in ("task 2/4", "epoch 3/8", "loss 4.568", "1,234 images/s", "left", "waiting"))


def test_without_a_terminal_there_is_a_line_a_stage():
    out = io.StringIO()
    with Live(["cassle"], Console(file=out, width=160)) as live:
        for _ in range(5):
            live.tell("cassle", TRAINING)
        live.tell("cassle", Progress("evaluating", 1, 4))
    assert out.getvalue().count("\n") == 2 and "task 2/4, evaluating" in out.getvalue()


def test_the_table_holds_what_was_stored(tmp_path):
    for name, last in (("a", 60.04), ("b", 72.06)):
        measured = {"A": [[50.0, 1.0], [40.0, last]], "R": [10.0, 20.0], "average": (40 + last) / 2, "forgetting": 10.0, "forward_transfer": None}
        (tmp_path / name).mkdir()
        (tmp_path / name / "accuracy.json").write_text(json.dumps({"linear": measured, "knn": measured}))
    table = rows([Record(tmp_path / name) for name in "ab"])
    assert table[0] == ["", "linear A", "linear F", "linear FT", "knn A", "knn F"]
    assert table[1:] == [
        ["a", "50.0", "10.0", "–", "50.0", "10.0"],
        ["b", "56.0", "10.0", "–", "56.0", "10.0"],
        ["random weights", "15.0", "", "", "15.0", ""],
    ]
    out = io.StringIO()
    printed([Record(tmp_path / name) for name in "ab"], Console(file=out, width=120))
    assert "56.0" in out.getvalue() and markdown(table).splitlines()[3] == "| b | 56.0 | 10.0 | – | 56.0 | 10.0 |"
