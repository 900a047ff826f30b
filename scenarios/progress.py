"""How a run comes along, on stderr: bars on a terminal, otherwise one line per phase."""

import sys
from collections.abc import Mapping
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from scenarios.clients.recorder import Outcome

_OF_QUEUES = ("push", "pop", "ack")

Counts = Mapping[tuple[str, Outcome], int]


class Display(Protocol):
    """A ``Watcher`` for one run after another; ``begin`` names the next one."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def begin(self, title: str) -> None: ...
    def done(self, outcome: str) -> None: ...
    def phase(self, name: str, bound_s: float | None) -> None: ...
    def progress(self, elapsed_s: float, counts: Counts) -> None: ...


def display() -> Display:
    console = Console(stderr=True)
    return Bars(console) if console.is_terminal else Lines()


def _told(counts: Counts) -> str:
    def number(f: str) -> int:
        return counts.get((f, "ok"), 0)

    trouble = sum(count for (_, outcome), count in counts.items() if outcome != "ok")
    if any(f not in _OF_QUEUES for f, _ in counts):
        text = "  ".join(f"{f} {number(f):,}" for f in dict.fromkeys(f for f, _ in counts))
    else:
        text = f"pushed {number('push'):,}  delivered {number('pop'):,}  acked {number('ack'):,}"
    return text + (f"  not ok {trouble:,}" if trouble else "")


class Bars:
    """One line per run: title, bar of the phase, what was counted so far."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[phase]:<9}"),
            TextColumn("{task.fields[counts]}"),
            console=console,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def begin(self, title: str) -> None:
        self._task = self._progress.add_task(title, total=None, phase="", counts="")

    def phase(self, name: str, bound_s: float | None) -> None:
        if self._task is not None:
            self._progress.update(self._task, phase=name, total=bound_s, completed=0)

    def progress(self, elapsed_s: float, counts: Counts) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=elapsed_s, counts=_told(counts))

    def done(self, outcome: str) -> None:
        if self._task is not None:
            self._progress.update(self._task, phase=outcome, total=1, completed=1)
            self._progress.stop_task(self._task)


class Lines:
    """For logs and pipes."""

    def __init__(self) -> None:
        self._title = ""
        self._counts: Counts = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def begin(self, title: str) -> None:
        self._title, self._counts = title, {}

    def phase(self, name: str, bound_s: float | None) -> None:
        bound = f" (at most {bound_s:g} s)" if bound_s is not None else ""
        self._say(f"{name}{bound}", self._counts)

    def progress(self, elapsed_s: float, counts: Counts) -> None:
        self._counts = counts

    def done(self, outcome: str) -> None:
        self._say(outcome, self._counts)

    def _say(self, text: str, counts: Counts) -> None:
        told = f"; {_told(counts)}" if counts else ""
        print(f"{self._title}: {text}{told}", file=sys.stderr, flush=True)  # noqa: T201 (this is its purpose)
