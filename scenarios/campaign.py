"""What the matrix and the ablation table have in common on the terminal and on their pages."""

import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from scenarios.files import environment

LINES = 10
"""So many lines of progress where there is no terminal."""


class RunBar:
    """How far a number of runs has come, on stderr: a bar on a terminal, else a line now and then."""

    def __init__(self, title: str) -> None:
        console = Console(stderr=True)
        self._title = title
        self._lines = not console.is_terminal
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=console, disable=self._lines)
        self._task = self._progress.add_task(title, total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def told(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)
        if self._lines and done % max(1, total // LINES) == 0:
            print(f"{self._title}: {done:,} of {total:,} runs", file=sys.stderr, flush=True)  # noqa: T201 (its purpose)


def provenance(command: str, *, runs: int, took_s: float) -> str:
    """Which program made a page, when, how, and how fast."""
    told = environment()
    commit = str(told["git_commit"])[:12] if told["git_commit"] else f"version {told['zonelab_version']}"
    rate = f"{runs:,} runs in {took_s:,.0f} s, {runs / max(took_s, 1e-9):.1f} a second"
    return f"`{command}` made this page at commit {commit} on {datetime.now(UTC):%Y-%m-%d}: {rate}."


def share(hits: int, runs: int) -> str:
    return f"{hits / runs:.1%}"
