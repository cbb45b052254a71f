"""What a strategy costs, over fine-tuning."""

from collections.abc import Sequence
from dataclasses import dataclass

from cassle.record import Record


@dataclass(frozen=True)
class Cost:
    """Of one run, over its tasks after the first; None where it is not known."""

    step: float | None
    """Seconds a step."""
    memory: int | None
    """Bytes at the peak."""
    stored: int | None
    """Bytes that the strategy keeps from task to task."""
    over: float | None = None
    """The step, relative to fine-tuning's with the same method."""
    memory_over: float | None = None


def costs(records: Sequence[Record]) -> list[Cost]:
    """Each run beside the fine-tuning run among them that differs from it in its strategy alone."""
    own = [_cost(record) for record in records]
    trees = [r.tree() if c.step else {} for r, c in zip(records, own)]
    found = []
    for tree, cost in zip(trees, own):
        partner = next((c for t, c in zip(trees, own) if t and t["strategy"]["name"] == "finetune" and _but(t) == _but(tree)), None)
        ratios = (_ratio(cost.step, partner.step), _ratio(cost.memory, partner.memory)) if partner and partner is not cost else (None, None)
        found.append(Cost(cost.step, cost.memory, cost.stored, *ratios))
    return found


def percent(ratio: float | None) -> str:
    """`+31 %`, of a ratio of 1.31."""
    return "" if ratio is None else f"{100 * (ratio - 1):+.0f} %"


def _cost(record: Record) -> Cost:
    tasks = record.cost()
    later = tasks[1:] or tasks
    seconds, steps = sum(t["seconds"] for t in later), sum(t["steps"] for t in later)
    return Cost(
        seconds / steps if steps else None,
        max((t["peak_bytes"] for t in later), default=None),
        max((t["stored_bytes"] for t in later), default=None),
    )


def _but(tree: dict) -> dict:
    return {key: value for key, value in tree.items() if key != "strategy"}


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a and b else None
