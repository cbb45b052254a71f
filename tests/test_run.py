"""Runs: what they leave behind, and that no kill, stop or restart changes a bit of it."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors import SafetensorError
from safetensors.torch import load_file

from cassle.errors import UserError
from cassle.evaluation.matrix import average, forgetting, forward_transfer
from cassle.record import Record
from cassle.run import Stopped, run
from cassle.sweep import Job, _ended, sweep
from cassle.training import checkpoint

RESULTS = ("task0.safetensors", "task1.safetensors", "task2.safetensors", "metrics.jsonl", "accuracy.json", "classes.json", "health.json", "experiment.toml")


def digest(out):
    """Everything that an experiment decides, and the state it ended in."""
    last = checkpoint.newest(out / "last").path
    return {name: sha256((out / name).read_bytes()).hexdigest() for name in RESULTS} | {"last": sha256(last.read_bytes()).hexdigest()}


BYOL = {"method": {"name": "byol", "projector": [16, 8], "predictor": 16}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, tiny):
    """Uninterrupted runs, to compare with."""
    torch.set_num_threads(1)
    done = {}
    for name, changes in {"cassle": {}, "finetune": {"strategy": "finetune"}, "byol": BYOL}.items():
        done[name] = tmp_path_factory.mktemp(name) / "run"
        run(tiny(changes), done[name])
    return done


def test_a_run_leaves_what_it_promises(whole, tiny):
    record = Record(whole["cassle"])
    names = {path.name for path in record.path.iterdir()} - {".lock"}
    assert names == {*RESULTS, "cost.json", "environment.json", "last", "log.txt"}
    assert record.experiment() == tiny() and record.environment()["torch"] == torch.__version__
    assert [row["step"] for row in record.metrics() if row["task"] == 1] == [10, 12]
    assert all(row["keep"] == 0 for row in record.metrics() if row["task"] == 0)
    assert all(row["keep"] > 0 for row in record.metrics() if row["task"] > 0)
    for measured in record.accuracy().values():
        assert [len(row) for row in measured["A"]] == [3, 3, 3] and len(measured["R"]) == 3
        assert measured["average"] == average(measured["A"]) and measured["forgetting"] == forgetting(measured["A"])
        assert measured["forward_transfer"] == forward_transfer(measured["A"], measured["R"])
    encoder = load_file(record.encoder(2))
    assert {"backbone.conv1.weight", "projector.0.weight"} <= encoder.keys()


def test_the_first_task_is_fine_tuning_bit_for_bit(whole):
    tasks = [[load_file(Record(whole[name]).encoder(t)) for name in ("finetune", "cassle")] for t in (0, 1)]
    assert all(torch.equal(tasks[0][0][name], tasks[0][1][name]) for name in tasks[0][0])
    assert not all(torch.equal(tasks[1][0][name], tasks[1][1][name]) for name in tasks[1][0])


def test_weight_zero_is_fine_tuning_bit_for_bit(whole, tmp_path, tiny):
    run(tiny({"strategy": {"weight": 0.0}}), tmp_path / "run")
    ours, theirs = (load_file(Record(out).encoder(2)) for out in (tmp_path / "run", whole["finetune"]))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_running_again_changes_nothing(whole, tiny):
    before = digest(whole["cassle"])
    accuracy = run(tiny(), whole["cassle"])
    assert digest(whole["cassle"]) == before and accuracy == Record(whole["cassle"]).accuracy()


def command(experiment, out, tmp_path):
    preset = tmp_path / "tiny.toml"
    preset.write_text(experiment.toml())
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "cassle", "train", str(preset), "--out", str(out), "--save-every", "0", "--device", "cpu"]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(process, out, task, step):
    """Until the newest checkpoint is in that task, at that step or later."""
    for _ in range(30000):  # it ends as soon as it is there, or dead
        found = checkpoint.newest(out / "last") if out.exists() else None
        if found and (found.facts["task"], found.facts.get("step", 0)) >= (task, step):
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    pytest.fail("the run did not get there")


@pytest.mark.parametrize("changes", [{}, BYOL], ids=["simclr", "byol"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_in_the_middle_of_a_task_is_uninterrupted(how, changes, tmp_path, tiny):
    experiment = tiny({"steps": 60} | changes)
    torch.set_num_threads(1)
    run(experiment, tmp_path / "whole")
    process = command(experiment, tmp_path / "killed", tmp_path)
    wait_for(process, tmp_path / "killed", task=1, step=20)
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    if how == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130 and "the same command continues" in errors and errors.count("\n") == 1
    assert checkpoint.newest(tmp_path / "killed/last").facts["task"] == 1
    process = command(experiment, tmp_path / "killed", tmp_path)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["er", "ewc"])
def test_a_memory_or_what_mattered_survives_a_kill(strategy, tmp_path, tiny):
    test_killed_in_the_middle_of_a_task_is_uninterrupted(signal.SIGKILL, {"strategy": strategy}, tmp_path, tiny)


def test_stopped_after_every_task_is_uninterrupted(whole, tmp_path, tiny):
    for until in (1, 2, 3):
        run(tiny(), tmp_path / "run", until=until)
    assert digest(tmp_path / "run") == digest(whole["cassle"])


def test_a_fresh_process_takes_the_very_same_step(tmp_path, tiny):
    """State completeness: everything that influences the next step is in the checkpoint, at any step."""
    experiment = tiny({"steps": 30} | BYOL)

    def interrupted(progress):
        if progress.task == 1 and progress.step == 10:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Stopped):
        run(experiment, tmp_path / "a", watch=interrupted)
    run(experiment, tmp_path / "a")
    run(experiment, tmp_path / "b")
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


@pytest.mark.parametrize("task", [0, 1])
def test_a_request_to_stop_is_heeded_while_the_encoder_is_judged(task, whole, tmp_path, tiny):
    """Nothing of the task is learned again."""
    heard = []

    def interrupted(progress):
        heard.append(progress)
        if (progress.doing, progress.task) == ("evaluating", task):
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Stopped, match="judging"):
        run(tiny(), tmp_path / "run", watch=interrupted)
    assert not (tmp_path / f"run/task{task}.safetensors").exists()
    run(tiny(), tmp_path / "run", watch=heard.append)
    again = [p for p in heard if (p.doing, p.task) == ("training", task)]
    assert len(again) == 2 and digest(tmp_path / "run") == digest(whole["cassle"])


def test_a_torn_checkpoint_falls_back_to_the_one_before(whole, tmp_path, tiny):
    out = tmp_path / "run"
    run(tiny(), out, until=2)
    newest = checkpoint.newest(out / "last").path
    newest.write_bytes(newest.read_bytes()[:-8] + b"\0" * 8)
    assert checkpoint.newest(out / "last").path < newest
    run(tiny(), out)
    assert digest(out) == digest(whole["cassle"])


def test_checkpoints_of_which_none_is_whole_are_not_begun_over(whole, tmp_path, tiny):
    out = tmp_path / "run"
    shutil.copytree(whole["cassle"], out)
    for number, text in enumerate(("[]", "{", '{"sha256": 3}', "7")):
        sorted((out / "last").glob("*.json"))[number % 2].write_text(text)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for again in (lambda: run(tiny(), out), lambda: sweep({"run": tiny(), "finetune": tiny({"strategy": "finetune"})}, tmp_path, jobs=1, device="cpu")):
        with pytest.raises(UserError, match="last: no checkpoint in it is whole; put it back from a copy, or delete the folder"):
            again()
    assert all(path.read_bytes() == text for path, text in before.items() if path.name not in ("environment.json", "log.txt"))


def test_what_was_left_before_the_first_checkpoint_is_begun_over(whole, tmp_path, tiny):
    """Killed while the very first files were written."""
    out = tmp_path / "run"
    out.mkdir()
    (out / ".experiment.toml.writing").write_text("half")
    run(tiny(), out, until=1)
    last = checkpoint.newest(out / "last").path
    for manifest in (out / "last").glob("*.json"):
        manifest.unlink()
    assert last.exists() and checkpoint.newest(out / "last") is None
    run(tiny(), out)
    assert digest(out) == digest(whole["cassle"])


def test_a_damaged_encoder_is_named(whole, tmp_path, tiny):
    shutil.copytree(whole["cassle"], tmp_path / "run")
    for name in ("task0.safetensors", "nowhere.safetensors"):
        (tmp_path / "run/task0.safetensors").write_bytes(b"\0" * 9)
        with pytest.raises(UserError, match=f"{name} cannot be read .*put it back from a copy"):
            checkpoint.read_tensors(tmp_path / "run" / name)


@pytest.mark.slow
def test_a_disk_that_is_full_at_any_write_is_one_line_and_the_same_command_continues(tmp_path, tiny, monkeypatch):
    """SQLite's way: the n-th write fails, for every n; then there is room again."""
    experiment = tiny({"data": "emoji", "stream": "joint", "steps": 2, "probes": []})
    left = 10**6

    def scarce(write, error):
        def written(*words):
            nonlocal left
            left = left - 1
            if not left:
                raise error
            return write(*words)

        return written

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "fsync", scarce(os.fsync, full))
    monkeypatch.setattr(Path, "write_text", scarce(Path.write_text, full))
    message = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
    monkeypatch.setattr(checkpoint, "save_file", scarce(checkpoint.save_file, message))
    run(experiment, tmp_path / "whole")
    writes, results = 10**6 - left, ("task0.safetensors", "metrics.jsonl", "accuracy.json", "health.json", "experiment.toml")
    for number in range(1, writes + 1):
        out, left = tmp_path / str(number), number
        with pytest.raises(UserError, match="No space left on device.*; what was saved before is whole"):
            run(experiment, out)
        assert not [path for path in out.rglob("*") if path.name.endswith(".writing")]
        left = 10**6
        run(experiment, out)
        assert all((out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes() for name in results), number
    assert writes > 20


def test_side_by_side_the_first_task_is_learned_once(whole, tmp_path, tiny):
    told = []
    experiments = {"finetune": tiny({"strategy": "finetune"}), "cassle": tiny()}
    torch.set_num_threads(2)
    sweep(experiments, tmp_path, jobs=2, device="cpu", watch=lambda name, p: told.append((name, p.task, p.doing)))
    assert ("finetune", 0, "training") in told and ("cassle", 0, "training") not in told
    ours, theirs = (load_file(Record(tmp_path / name).encoder(0)) for name in experiments)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    for name in experiments:
        assert len(Record(tmp_path / name).accuracy()["knn"]["A"]) == 3
        assert [row["step"] for row in Record(tmp_path / name).metrics()] == [10, 12] * 3


def test_a_killed_sweep_leaves_nobody_behind_and_goes_on(tmp_path, tiny):
    (tmp_path / "tiny.toml").write_text(tiny({"steps": 200}).toml())
    words = [sys.executable, "-m", "cassle", "train", str(tmp_path / "tiny.toml"), "strategy=finetune,cassle", "--out", str(tmp_path / "runs")]
    words += ["--save-every", "0", "--device", "cpu", "--jobs", "2"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(process, tmp_path / "runs/cassle", task=1, step=20)
    process.kill()
    process.wait()
    done = subprocess.run(words, capture_output=True, text=True)  # at once: nobody may hold the runs any more
    assert done.returncode == 0, done.stderr
    for name in ("finetune", "cassle"):
        assert [row["step"] for row in Record(tmp_path / "runs" / name).metrics()] == [*range(10, 201, 10)] * 3


def test_an_error_in_one_of_several_is_the_error_of_all(tmp_path, tiny):
    with pytest.raises(UserError, match="batch_size is 100000"):
        sweep({"good": tiny(), "bad": tiny({"batch_size": 100000})}, tmp_path, jobs=1, device="cpu")


def test_a_loss_that_is_not_a_number_stops_the_run_and_keeps_the_last_good_state(tmp_path, tiny):
    with pytest.raises(UserError, match="the loss is (nan|inf) at task 0, step .*lower optimizer.lr"):
        run(tiny({"optimizer": {"lr": 1e30, "clip": False}, "schedule": {"start": 1e30}, "steps": 30}), tmp_path / "run")
    assert checkpoint.newest(tmp_path / "run/last") is None


@pytest.mark.parametrize(("changes", "line"), [
    ({"batch_size": 4000}, "batch_size is 4000, but task 0 has only 1380 images"),
    ({"stream": {"name": "class_incremental", "tasks": 500}}, "stream.tasks is 500, but there are 57 classes"),
    ({"strategy": {"criterion": {"name": "prototypes", "dim": 9}}}, "strategy.criterion.dim is 9, but the method embeds in 8 dimensions"),
    ({"backbone": {"width": 10**6}}, "not enough memory .*; take a smaller backbone"),
])  # fmt: skip
def test_what_cannot_be_learned_is_refused_before_anything_is_written(changes, line, tmp_path, tiny):
    with pytest.raises(UserError, match=line):
        run(tiny(changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("device", "line"), [
    ("gpu", "--device: want auto, cpu, cuda or cuda:1, say, got 'gpu'"),
    ("", "--device: want auto"),
    ("cuda:-1", "--device: want auto"),
    ("cuda:999", "--device: there is no cuda:999 here"),
])  # fmt: skip
def test_a_device_that_is_not_there_is_refused(device, line, tmp_path, tiny):
    with pytest.raises(UserError, match=line):
        run(tiny(), tmp_path / "run", device=device)
    assert not (tmp_path / "run").exists()


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Images of several sizes, a part of them with a class."""
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path / "data"))
    noise = np.random.default_rng(0)
    for number in range(80):
        path = tmp_path / "photos" / ("", "cat", "dog")[number % 3] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise.integers(0, 256, (24, 20 + number % 5, 3), np.uint8)).save(path)
    return {"name": "folder", "root": str(tmp_path / "photos")}


@pytest.mark.parametrize(("changes", "line"), [
    ({"method": {"name": "supcon", "projector": [16, 8]}}, "method: supcon learns from labels, and not all images of photos have one"),
    ({"method": {"name": "supervised", "classes": 2}}, "method: supervised learns from labels"),
    ({"strategy": "er"}, "strategy: a memory holds images of one size: set data.image_size=256, say, and data.square=true"),
])  # fmt: skip
def test_what_the_images_do_not_allow_is_refused_before_anything_is_written(changes, line, photos, tmp_path, tiny):
    with pytest.raises(UserError, match=line):
        run(tiny({"data": photos, "stream": {"name": "data_incremental", "tasks": 2}} | changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_labels_suffice_where_the_stream_takes_no_image_without_one(photos, tmp_path, tiny):
    changes = {"data": photos, "stream": {"name": "class_incremental", "tasks": 2}, "steps": 1, "views": {"size": 8}}
    run(tiny(changes | {"method": {"name": "supervised", "classes": 2}}), tmp_path / "run", until=1)
    assert "nothing is labelled" not in (tmp_path / "run/log.txt").read_text()


def test_no_probe_asked_is_not_nothing_labelled(tmp_path, tiny):
    assert run(tiny({"data": "emoji", "stream": "joint", "steps": 1, "probes": []}), tmp_path / "run") == {}
    assert "nothing is labelled" not in (tmp_path / "run/log.txt").read_text()


def test_a_process_that_was_killed_or_fell_is_one_line(tmp_path, tiny):
    job = Job("cassle", tiny(), tmp_path)
    assert str(_ended(job, -9)).startswith("cassle: killed, for want of memory maybe") and "ended with 1;" in str(_ended(job, 1))


def test_another_experiment_or_another_process_in_the_same_place_is_refused(whole, tmp_path, tiny):
    with pytest.raises(UserError, match=r"holds another experiment: method.temperature is 0.2 there and 0.3 here"):
        run(tiny({"method": {"temperature": 0.3}}), whole["cassle"])
    record = Record(tmp_path / "run")
    with record.claim(tiny()), pytest.raises(UserError, match="in use by another process"):
        run(tiny(), tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").touch()
    with pytest.raises(UserError, match="is not empty and holds no run"):
        run(tiny(), tmp_path / "mine")


def test_joint_training_has_one_row_and_the_stream_s_columns(tmp_path, tiny):
    accuracy = run(tiny({"stream": "joint", "groups": "domain_incremental"}), tmp_path / "run")
    assert [len(row) for row in accuracy["knn"]["A"]] == [3] and accuracy["knn"]["forgetting"] is None
    assert json.loads((tmp_path / "run/accuracy.json").read_text()) == accuracy


def test_the_future_is_not_peeked_at(tmp_path, whole, tiny):
    """I5: other images in the last source change nothing in the encoder before it."""
    run(tiny({"data": {"sets": ["scenes", "emoji", "quickdraw"]}}), tmp_path / "run", until=2)
    for t in (0, 1):
        ours, theirs = (load_file(Record(out).encoder(t)) for out in (tmp_path / "run", whole["cassle"]))
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_checkpoint_of_another_shape_is_refused(whole, tmp_path, tiny):
    found = checkpoint.newest(whole["cassle"] / "last")
    with pytest.raises(RuntimeError, match="does not fit"):
        found.restore(torch.nn.Linear(2, 2), None)
