"""Builds of banks: killed at any write or by a signal, several at once, and before training begins."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from cassle.data import build, decode, decoders
from cassle.data.folder import banked
from tests.data.fake import FAKE
from tests.data.layouts import folder_flat


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def built(root):
    return banked(Path(root), 0, False, 0.1)


def content(found):
    return {name: (found.path / name).read_bytes() for name in (*build.FILES, "groups.json")}


class Killed(BaseException):
    """The process is gone."""


class Here(decoders.Decoder):
    """Decodes in this process: quicker to start."""

    def _ask(self, path, alone):
        try:
            found, digest = decode.decode(path)
            return *found.shape[:2], digest, found.tobytes()
        except decode.Unfit as reason:
            return str(reason)


def test_a_build_killed_at_any_write_ends_with_the_same_bytes(tmp_path, home, monkeypatch):
    monkeypatch.setattr(decoders, "Decoder", Here)
    folder_flat(tmp_path / "set", 6)
    (tmp_path / "set/005.png").write_bytes(b"junk")
    (tmp_path / "set/again.png").symlink_to("003.png")
    want = content(built(tmp_path / "set"))
    monkeypatch.setattr(build, "SAVE", 0.0)
    true_put, true_write, true_fsync = build._put, build.write, os.fsync
    for kill in range(0, 1000, 3):
        shutil.rmtree(home)
        left = [kill]

        def mortal(function, left=left):
            def call(*given):
                if left[0] == 0:
                    raise Killed
                left[0] -= 1
                return function(*given)

            return call

        monkeypatch.setattr(build, "_put", mortal(true_put))
        monkeypatch.setattr(build, "write", mortal(true_write))
        monkeypatch.setattr(os, "fsync", mortal(true_fsync))
        try:
            built(tmp_path / "set")
        except Killed:
            pass
        else:
            break
        monkeypatch.setattr(build, "_put", true_put)
        monkeypatch.setattr(build, "write", true_write)
        monkeypatch.setattr(os, "fsync", true_fsync)
        assert content(built(tmp_path / "set")) == want
    assert kill > 50


SCRIPT = """
import sys
from pathlib import Path
from cassle.data import build, decoders
from cassle.data.folder import banked
build.SAVE = 0.05
decoders.Decoder.COMMAND = (sys.executable, "-P", sys.argv[2])
print(len(banked(Path(sys.argv[1]), 0, False, 0.1).table))
"""


@pytest.fixture
def started(tmp_path, home):
    """Starts a process of its own that builds the bank of a folder, slowly."""
    (tmp_path / "slow.py").write_text(FAKE.format(log=str(tmp_path / "asked"), slow=0.02))
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, tmp_path / "script.py", tmp_path / "set", tmp_path / "slow.py"]
    return lambda: subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_process_killed_in_the_middle_is_taken_up(tmp_path, home, started):
    folder_flat(tmp_path / "set", 150)
    victim = started()
    deadline = time.monotonic() + 60
    while not (states := list(home.glob("banks/*/state.json"))) or '"files": 0' in states[0].read_text():
        assert time.monotonic() < deadline and victim.poll() is None
        time.sleep(0.02)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    before = len((tmp_path / "asked").read_bytes().splitlines())
    done = eval(states[0].read_text())["files"]
    assert 0 < done < 150 and not list(home.glob("banks/*/groups.json"))
    time.sleep(0.2)
    before = len((tmp_path / "asked").read_bytes().splitlines())
    survivor = started()
    out, errors = survivor.communicate(timeout=60)
    assert out.strip() == "150", errors
    assert len((tmp_path / "asked").read_bytes().splitlines()) - before == 150 - done
    resumed = content(built(tmp_path / "set"))
    shutil.rmtree(home)
    assert content(built(tmp_path / "set")) == resumed


def test_several_processes_build_it_once(tmp_path, home, started):
    folder_flat(tmp_path / "set", 40)
    several = [started() for _ in range(3)]
    assert [process.communicate(timeout=90)[0].strip() for process in several] == ["40"] * 3
    assert len((tmp_path / "asked").read_bytes().splitlines()) == 40


def test_training_decodes_before_it_begins_and_once_for_all_runs(tmp_path, home, tiny):
    folder_flat(tmp_path / "set", 40)
    (tmp_path / "set/broken.png").write_bytes(b"junk")
    data = {"name": "folder", "root": str(tmp_path / "set"), "image_size": 16, "square": True, "test": 0.25}
    changes = {"data": data, "stream": {"name": "data_incremental", "tasks": 1}, "steps": 2, "probes": []}
    (tmp_path / "tiny.toml").write_text(tiny(changes).toml())
    command = [sys.executable, "-m", "cassle", "train", tmp_path / "tiny.toml", "strategy=finetune,er", "--out", tmp_path / "runs"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, "--device", "cpu"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("quarantine.txt") == 1 and len(list(home.glob("banks/*"))) == 1
