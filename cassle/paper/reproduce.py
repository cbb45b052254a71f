"""A table of the paper, from nothing: running what is missing of it."""

from collections.abc import Sequence

from cassle.errors import UserError
from cassle.record import Record
from cassle.paper.pace import time_left
from cassle.paper.plan import Plan


def make(plan: Plan, gpus: Sequence[int], *, device: str, jobs: int | None, save_every: float) -> None:
    """Run what is missing, with a display; stopped at any time, it goes on when called again."""
    from cassle.distributed import place
    from cassle.reports.live import Live
    from cassle.sweep import decode, sweep
    from cassle.training.log import Progress

    experiments = {name: w.experiment for name, w in plan.missing.items()}
    until = {name: w.until for name, w in plan.missing.items() if w.until}
    places = [f"cuda:{number}" for number in gpus] or device
    told = plan.pace is not None
    place(device)
    decode(experiments.values())
    with Live(list(experiments)) as live:

        def watch(name: str, progress: Progress) -> None:
            nonlocal told
            live.tell(name, progress)
            if not told and progress.images_per_second and progress.step > 20:
                told, step = True, plan.missing[name].experiment.batch_size / progress.images_per_second
                live.console.print(time_left(plan.steps * step, jobs or len(gpus) or 1, name), highlight=False)

        sweep(experiments, plan.out, jobs=jobs, device=places, save_every=save_every, watch=watch, until=until, patient=True)


def check(plan: Plan, gpus: Sequence[int]) -> None:
    """That the data, the place and the GPUs are there."""
    for name, w in plan.missing.items():
        w.experiment.check()
        Record(plan.out / name).check(w.experiment)
    if gpus:
        import torch

        if max(gpus) >= (there := torch.cuda.device_count()):
            raise UserError(f"--gpus: there is no GPU {max(gpus)} here ({there} in all)")


def numbers(text: str, what: str) -> list[int]:
    """`0,1` as numbers."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise UserError(f"{what}: want whole numbers with commas between them, got {text!r}")
    return [int(part) for part in dict.fromkeys(parts)]
