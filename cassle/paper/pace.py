"""How long runs will take, by steps that others have measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from cassle.config import Tree
from cassle.paper.matching import Run


@dataclass(frozen=True)
class Pace:
    """What a step takes, and where that was measured."""

    seconds: float
    of: str


def pace(tree: Tree, runs: Sequence[Run]) -> Pace | None:
    """By a run of the same shape: the same network on as many images of one size, by the same method and strategy if there is one."""
    alike = [run for run in runs if _shape(run.tree) == _shape(tree) and sum(cost["steps"] for cost in run.costs)]
    nearest = max(alike, key=lambda run: [run.tree[key]["name"] == tree[key]["name"] for key in ("method", "strategy")], default=None)
    if nearest is None:
        return None
    seconds, steps = (sum(cost[key] for cost in nearest.costs) for key in ("seconds", "steps"))
    return Pace(seconds / steps, f"{nearest.place.name} on {nearest.device}")


def time_left(seconds: float, at_a_time: int, of: str) -> str:
    """In words, of training that can be dealt out."""
    hours = seconds / 3600 / at_a_time
    text = f"{60 * hours:.0f} minutes" if hours < 1 else f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.1f} days"
    many = f", {at_a_time} runs at a time" if at_a_time > 1 else ""
    return f"About {text} of training{many}, by the steps of {of}; being judged comes on top"


def _shape(tree: Tree) -> list:
    return [tree["backbone"], tree["batch_size"], tree["precision"], [view["size"] for view in tree["views"]]]
