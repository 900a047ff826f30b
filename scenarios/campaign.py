"""What the matrix and the ablation tables have in common on the terminal and on their pages."""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from scenarios.run_files.directory import environment
from scenarios.terminal.run_table import console

LINES = 10
"""So many lines of progress where there is no terminal."""


class RunBar:
    """How far a number of runs has come, on stderr: a bar on a terminal, else a line now and then.

    ``done`` runs of ``total`` were there before. ``note``: a count beside them, as it is at the beginning; without one,
    a terminal shows the time that has passed.
    """

    def __init__(self, title: str, *, total: int | None = None, done: int = 0, note: str = "") -> None:
        terminal = Console(stderr=True)
        self._title = title
        self._lines = not terminal.is_terminal
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}") if note else TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=terminal, disable=self._lines)
        self._task = self._progress.add_task(title, total=total, completed=done, note=note)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def told(self, done: int, total: int, *, note: str = "") -> None:
        self._progress.update(self._task, completed=done, total=total, note=note)
        if self._lines and done % max(1, total // LINES) == 0:
            line = ", ".join(filter(None, (f"{self._title}: {done:,} of {total:,} runs", note)))
            print(line, file=sys.stderr, flush=True)  # noqa: T201 (its purpose)


def provenance(command: str, *, runs: int, took_s: float, known: int = 0) -> str:
    """Which program made a page, when, how, and how fast; ``known`` of the runs were read from a state."""
    told = environment()
    commit = str(told["git_commit"])[:12] if told["git_commit"] else f"version {told['zonelab_version']}"
    page = f"`{command}` made this page at commit {commit} on {datetime.now(UTC):%Y-%m-%d}"
    return f"{page}: {effort(runs=runs, took_s=took_s, known=known)}."


def effort(*, runs: int, took_s: float, known: int = 0) -> str:
    """How many runs there are, and how fast those of them were that were made now."""
    new = runs - known
    rate = f"in {took_s:,.0f} s, {new / max(took_s, 1e-9):.1f} a second"
    if not known:
        return f"{runs:,} runs {rate}"
    now = f", {new:,} now {rate}" if new else ""
    return f"{runs:,} runs, {known:,} of them made before and read from the state{now}"


def print_rows(headings: Sequence[str], rows: Iterable[Sequence[str]], sentences: Iterable[str]) -> None:
    """A table on the terminal, and what is to be said of it."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    out = console()
    out.print(table, "")
    for sentence in sentences:
        out.print(sentence, highlight=False, soft_wrap=True)


def markdown_rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same table for a page."""
    lines = [f"| {' | '.join(row)} |" for row in (headings, *rows)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])


def share(hits: int, runs: int) -> str:
    return f"{hits / runs:.1%}"
