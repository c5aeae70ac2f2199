"""The display of a run: a bar with the time left, and a table of the results so far.

On a terminal both are drawn live; elsewhere (a log file) a line is printed per final result.
"""

from collections import defaultdict
from collections.abc import Iterable
from types import TracebackType
from typing import Self

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from experiments.engine import plan
from experiments.engine.measures import MEASURES
from experiments.engine.records import Record, RecordStore
from experiments.engine.task import Task

type Kind = tuple[str, str]


class TimeLeft:
    """Estimates wall seconds from finished tasks.

    The estimate of a task is the median of its method on its data set. Without such tasks it is the
    mean over the data set, or else over all tasks.

    Parameters
    ----------
    tasks : iterable of Task
        The tasks to do.
    n_processes : int
        The number of tasks at a time.
    """

    def __init__(self, tasks: Iterable[Task], n_processes: int) -> None:
        self._left: dict[Kind, int] = defaultdict(int)
        for task in tasks:
            self._left[task.dataset, task.method] += 1
        self._seconds: dict[Kind, list[float]] = defaultdict(list)
        self._n_processes = n_processes

    def done(self, task: Task, seconds: float) -> None:
        """Add the seconds that a task took."""
        kind = task.dataset, task.method
        self._seconds[kind].append(seconds)
        self._left[kind] = max(self._left[kind] - 1, 0)

    def seconds(self) -> float | None:
        """Return the wall seconds that are left; None before the first task is done."""
        if not self._seconds:
            return None
        medians = {kind: float(np.median(values)) for kind, values in self._seconds.items()}
        of_dataset: dict[str, list[float]] = defaultdict(list)
        for (dataset, _), median in medians.items():
            of_dataset[dataset].append(median)
        everything = list(medians.values())
        total = 0.0
        for kind, number in self._left.items():
            known = of_dataset.get(kind[0], everything)
            total += number * medians.get(kind, float(np.mean(known)))
        return total / self._n_processes


class Display:
    """Displays a run; a context manager.

    Parameters
    ----------
    title : str
    groups : list of Group
        The groups of the configuration: the cells of the table.
    missing : list of Task
        The tasks to do.
    store : RecordStore
    measure : str
        The metric of the table.
    n_processes : int
    console : Console
    """

    def __init__(
        self,
        title: str,
        groups: list[plan.Group],
        missing: list[Task],
        store: RecordStore,
        measure: str,
        n_processes: int,
        console: Console,
    ) -> None:
        self._title = title
        self._store = store
        self._measure = measure
        self._console = console
        self._groups: dict[str, list[plan.Group]] = defaultdict(list)
        for group in groups:
            for task in group.finals:
                self._groups[task.name].append(group)
        self._lines = list(dict.fromkeys(group.line for group in groups))
        self._scores: dict[Kind, list[float]] = defaultdict(list)
        self._datasets: list[str] = []
        self._time_left = TimeLeft(missing, n_processes)
        self._running: list[str] = []
        self._failed = 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._bar = self._progress.add_task(title, total=len(missing), left="")
        self._live = Live(
            console=console, get_renderable=self._render, transient=True, refresh_per_second=2
        )

    def __enter__(self) -> Self:
        """Start to draw, if on a terminal."""
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the table on the terminal."""
        self._live.stop()
        if self._console.is_terminal:
            self._console.print(self._render())

    def start(self, task: Task) -> None:
        """Add a running task."""
        self._running.append(str(task))

    def end(self, task: Task, record: Record) -> None:
        """Show the result of a task."""
        self._running.remove(str(task))
        self._time_left.done(task, record["run"].get("wall_time", 0.0))
        left = self._time_left.seconds()
        text = "" if left is None else f"{_duration(left)} left"
        self._progress.update(self._bar, advance=1, left=text)
        if record["error"] is not None:
            self._failed += 1
            self._console.print(f"failed: {task}: {record['error']['message']}", highlight=False)
        elif task.inner is None:
            self._add_scores(task, record, text)

    def _add_scores(self, task: Task, record: Record, left: str) -> None:
        if task.dataset not in self._datasets:
            self._datasets.append(task.dataset)
        for group in self._groups[task.name]:
            for choice in group.choices(self._store) or ():
                if choice.task.name != task.name:
                    continue
                value = plan.measured(record, choice.rule, self._measure)
                self._scores[task.dataset, group.line].append(value)
                if not self._console.is_terminal:
                    self._console.print(
                        f"{task.dataset}, {group.line}, fold {task.fold}: {self._measure} "
                        f"{value:.3f} ({left})",
                        highlight=False,
                    )

    def _render(self) -> RenderableType:
        title = f"{MEASURES[self._measure].title} so far"
        table = Table(title=title, title_justify="left")
        table.add_column("data")
        for line in self._lines:
            table.add_column(line, justify="right")
        for dataset in self._datasets:
            cells = [self._scores.get((dataset, line)) for line in self._lines]
            table.add_row(dataset, *(f"{np.mean(c):.3f}" if c else "" for c in cells))
        running = [f"[dim]{text}[/dim]" for text in self._running]
        failed = [f"[red]{self._failed} failed[/red]"] if self._failed else []
        return Group(table, *running, *failed, self._progress)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
