"""The measures of the accuracy matrix, by hand and by law."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassle.evaluation.matrix import average, forgetting, forward_transfer

A, R = [[80, 30, 20], [75, 70, 25], [60, 72, 65]], [10, 12, 11]


def test_by_hand():
    assert average(A) == pytest.approx(197 / 3)
    assert forgetting(A) == pytest.approx(10)  # the best of the second task is at the very end: it forgot nothing
    assert forward_transfer(A, R) == pytest.approx(16)


@pytest.mark.parametrize("alone", [[[50.0]], [[50.0, 40.0]], [[50.0], [60.0]]])
def test_one_task_or_one_column_has_no_forgetting_and_no_transfer(alone):
    assert forgetting(alone) is None and forward_transfer(alone, [1.0] * len(alone[0])) is None
    assert average(alone) == sum(alone[-1]) / len(alone[-1])


percent = st.floats(0, 100)
squares = st.integers(2, 5).flatmap(lambda n: st.tuples(st.lists(st.lists(percent, min_size=n, max_size=n), min_size=n, max_size=n),
                                                        st.lists(percent, min_size=n, max_size=n)))  # fmt: skip


@given(squares)
def test_forgetting_is_never_negative_and_a_shift_changes_neither_measure(both):
    A, R = both
    assert forgetting(A) >= 0
    up = [[a + 7 for a in row] for row in A]
    assert forgetting(up) == pytest.approx(forgetting(A), abs=1e-9)
    assert forward_transfer(up, [r + 7 for r in R]) == pytest.approx(forward_transfer(A, R), abs=1e-9)


def test_constant_columns_forget_nothing():
    assert forgetting([[3, 5, 7]] * 3) == 0
