"""The accuracy matrix A and what is read off it: A[t][i] is the accuracy on task i's test images after learning task t.

Indices count from 0 here.  What one task cannot show (forgetting, transfer) is None: not defined.
"""

from collections.abc import Sequence

Matrix = Sequence[Sequence[float]]


def average(A: Matrix) -> float:
    """A = 1/T sum_i A[T][i]: the accuracy at the end."""
    return sum(A[-1]) / len(A[-1])


def forgetting(A: Matrix) -> float | None:
    """F = 1/(T-1) sum_{i<T} max_t (A[t][i] - A[T][i]): how far each task fell from its best.

    t runs over all tasks up to T, as the paper writes it, so a task that ends at its best forgets 0, never less.
    """
    T = len(A)
    if T < 2 or len(A[-1]) != T:
        return None
    return sum(max(row[i] for row in A) - A[-1][i] for i in range(T - 1)) / (T - 1)


def forward_transfer(A: Matrix, R: Sequence[float]) -> float | None:
    """FT = 1/(T-1) sum_{i>1} A[i-1][i] - R[i]: what a task gains before it is learned, over random weights R."""
    T = len(A)
    if T < 2 or len(A[-1]) != T:
        return None
    return sum(A[i - 1][i] - R[i] for i in range(1, T)) / (T - 1)
