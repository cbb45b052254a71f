"""What a run looks like while it runs."""


from rich.console import Console
from rich.progress import BarColumn, Progress as Bars, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cassle.training.log import Progress


class Live:
    """One line a run: task, epoch, loss, images a second, time left.  Where there is no terminal, a line a stage."""

    def __init__(self, names: list[str], console: Console | None = None):
        self.console = console or Console()
        self.bars = Bars(
            TextColumn("[bold]{task.description}"),
            TextColumn("{task.fields[where]}"),
            BarColumn(),
            TextColumn("{task.fields[pace]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.lines = {name: self.bars.add_task(name, total=1.0, where="waiting", pace="", start=False) for name in names}
        self.stages: dict[str, tuple] = {}

    def __enter__(self) -> "Live":
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def tell(self, name: str, progress: Progress) -> None:
        """Show where one run is."""
        p = progress
        where = f"task {p.task + 1}/{p.tasks} "
        where += f"epoch {min(p.epoch + 1, p.epochs)}/{p.epochs}" if p.steps else p.doing
        pace = f"loss {p.loss:.3f}  {p.images_per_second:,.0f} images/s" if p.loss is not None else ""
        done = (p.task + (p.step / p.steps if p.steps else p.doing == "evaluating")) / p.tasks
        line = self.lines[name]
        if not self.bars.tasks[line].started:
            self.bars.start_task(line)
        self.bars.update(line, completed=done, where=where, pace=pace or self.bars.tasks[line].fields["pace"])
        if not self.console.is_terminal and self.stages.get(name) != (p.doing, p.task):
            self.console.print(f"{name}: task {p.task + 1}/{p.tasks}, {p.doing}  {pace}", highlight=False)
        self.stages[name] = (p.doing, p.task)
