"""Archives are read without executing anything that they ask for."""

import builtins
import os
import pickle
import struct

import numpy as np
import pytest

from cassle.data import archive
from cassle.data.archive import read
from cassle.errors import UserError
from tests.data import layouts


class Calls:
    """Archived, it is a call of anything."""

    def __init__(self, function, *given):
        self.call = (function, given)

    def __reduce__(self):
        return self.call


def written(path, content, protocol=4):
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol=protocol))
    return path


GOOD = {"data": layouts.rows(3), "fine_labels": [0, 1, 2], "name": "some", "count": 7, "raw": b"\x00\xff"}


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("array", [layouts.rows(3), np.asfortranarray(layouts.rows(3)), np.arange(6.0), np.arange(4), np.zeros((0, 3), np.uint8)])
def test_what_numpy_writes_today_is_read(tmp_path, protocol, array):
    found = read(written(tmp_path / "a", GOOD | {"data": array}, protocol))
    assert np.array_equal(found.pop("data"), array) and found == {k: v for k, v in GOOD.items() if k != "data"}


def test_what_python_2_wrote_is_read(tmp_path):
    found = read(written(tmp_path / "a", layouts.python2({"data": layouts.rows(2), "labels": [3, 1], "batch_label": "training batch 1 of 5"})))
    assert np.array_equal(found["data"], layouts.rows(2)) and found["labels"] == [3, 1] and found["batch_label"] == b"training batch 1 of 5"


def test_older_and_newer_numpy_are_read(tmp_path):
    now = pickle.dumps(GOOD, protocol=2)
    old = now.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert old != now and np.array_equal(read(written(tmp_path / "a", old))["data"], GOOD["data"])


def raises_once(path, words="archive|opened"):
    with pytest.raises(UserError, match=words) as error:
        read(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 400


NESTED = [[{"deep": [Calls(os.system, "touch {}")]}]]


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    "bad",
    [
        Calls(os.system, "touch {}"),
        Calls(builtins.eval, "open('{}', 'w')"),
        Calls(builtins.exec, "open('{}', 'w')"),
        Calls(builtins.open, "{}", "w"),
        Calls(os.mkdir, "{}"),
        Calls(getattr, "{}", "__class__"),
        Calls(np.fromfile, "{}"),
        Calls(np.dtype, "O"),
        Calls(np.memmap, "{}", "u1", "w+", 0, 9),
        NESTED,
    ],
    ids=lambda bad: "nested" if isinstance(bad, list) else bad.call[0].__name__,
)
def test_nothing_that_an_archive_asks_for_is_done(tmp_path, protocol, bad):
    target = str(tmp_path / "made")

    def aimed(value):
        if isinstance(value, Calls):
            return Calls(value.call[0], *(given.replace("{}", target) if isinstance(given, str) else given for given in value.call[1]))
        if isinstance(value, dict):
            return {key: aimed(part) for key, part in value.items()}
        return [aimed(part) for part in value] if isinstance(value, list) else value

    for content in (aimed(bad), GOOD | {"more": aimed(bad)}, GOOD | {"data": [aimed(bad)]}):
        raises_once(written(tmp_path / "a", content, protocol), "was not opened, for it|is not a whole archive")
        assert not os.path.exists(target)


@pytest.mark.parametrize("array", [np.array([{}, []], object), np.array([None]), np.array(["text"]), np.zeros(2, "u1,f4"), np.zeros(2, ">i4"), np.zeros(2, "M8[s]")])
def test_arrays_of_anything_but_numbers_are_refused(tmp_path, array):
    raises_once(written(tmp_path / "a", GOOD | {"data": array}), "array of")


@pytest.mark.parametrize("value", [None, 1.5, {1, 2}, (1, 2), {"a": 1}, [[1]], [None], True])
def test_only_arrays_lists_texts_and_numbers_come_out(tmp_path, value):
    raises_once(written(tmp_path / "a", GOOD | {"more": value}), "it has a")


@pytest.mark.parametrize("content", [[1], "text", np.zeros(2, np.uint8), None])
def test_it_must_be_a_dictionary(tmp_path, content):
    raises_once(written(tmp_path / "a", content), "it is not a dictionary")


PUT = b"\x80\x02}r" + struct.pack("<I", 2**31 - 1) + b"."
LONG = b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x."
HUGE = layouts.python2({"data": layouts.rows(1)}).replace(b"J" + struct.pack("<i", 3072), b"J" + struct.pack("<i", 2**31 - 1))
NEGATIVE = HUGE.replace(struct.pack("<i", 2**31 - 1), struct.pack("<i", -3072))
CODEC = b"\x80\x02}X\x01\x00\x00\x00ac_codecs\nencode\nX\x01\x00\x00\x00bX\x05\x00\x00\x00rot13\x86Rs."


@pytest.mark.parametrize("content", [b"", b"junk", PUT, LONG, HUGE, NEGATIVE, CODEC, b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".", b"\x80\x02\x82\x01.", b"Pid\n."])
def test_broken_and_boastful_ones_are_one_line(tmp_path, content):
    raises_once(written(tmp_path / "a", content))


def test_a_cut_archive_is_one_line_wherever_it_is_cut(tmp_path):
    whole = layouts.python2({"data": layouts.rows(1), "labels": [1]})
    for end in [*range(0, 300, 7), *range(len(whole) - 60, len(whole))]:
        raises_once(written(tmp_path / "a", whole[:end]))


def test_an_oversized_one_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "BYTES", 1000)
    raises_once(written(tmp_path / "a", GOOD), "larger than 1,000 bytes")


def test_one_archive_cannot_change_how_the_next_is_read(tmp_path):
    """It may name our stand-ins, and try to give them a state."""
    for name in (b"c_codecs\nencode\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"cnumpy\nndarray\n", b"cnumpy\ndtype\n"):
        for state in (b"}U\x01ai\x01s", b"(N}U\x0c__defaults__(K\x01K\x01tst", b"}U\x06__code__Ns"):
            written(tmp_path / "a", b"\x80\x02" + name + state + b"b.")
            raises_once(tmp_path / "a")
    assert np.array_equal(read(written(tmp_path / "b", layouts.python2({"data": layouts.rows(2)})))["data"], layouts.rows(2))
