"""What the paper has for an experiment."""

from cassle.experiment import Experiment
from cassle.paper.cells import tables
from cassle.paper.differences import identity


def expected(experiment: Experiment) -> list[str]:
    """A line for every table that has it, with its numbers; none if no table does."""
    own, lines = identity(experiment.tree()), []
    for table in tables().values():
        found = {}
        for cell in table.cells():
            if cell.published is not None and cell.head.times == 1 and identity(cell.experiment().tree()) == own:
                found[f"{cell.head.measure or 'A'} by {cell.probe}"] = cell.published
        if found:
            lines.append(f"the paper's {table.name}: " + ", ".join(f"{measure} {value:g}" for measure, value in found.items()))
    return lines
