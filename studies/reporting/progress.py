"""Progress of runs on stderr: bars on a terminal, lines in a log or a pipe."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from zonelab.scenarios.clients.recorder import Outcome
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.reporting.console import error_console
from zonelab.studies.reporting.forecast import LONG_S, forecast

LINES = 10
"""Lines of a ``RunBar`` where there is no terminal."""

MEASURED_S = 1.0
"""It measures for so long after the first run, which has the start of the workers in it."""

_OF_QUEUES = {"push": "pushes ok", "pop": "delivered", "ack": "acks ok"}

Counts = Mapping[tuple[str, Outcome], int]


class _Bars:
    """Bars of ``columns``, which nobody sees without a terminal: then there are the lines that ``_line`` writes."""

    def __init__(self, *columns: ProgressColumn) -> None:
        terminal = error_console()
        self._bars = Progress(*columns, console=terminal, disable=not terminal.is_terminal)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def announce(self, verb: str, scenarios: Sequence[Scenario], *, each: int = 1) -> None:
        """Announce what will be run, ``each`` times each, if it takes long."""
        if words := forecast(scenarios, each=each):
            self.tell(f"{verb}: {words}")

    def tell(self, words: str) -> None:
        """A line above the bars, on a terminal and without one."""
        self._bars.console.print(words, highlight=False, soft_wrap=True)

    def _line(self, *parts: str, separator: str) -> None:
        if self._bars.disable:
            print(separator.join(filter(None, parts)), file=sys.stderr, flush=True)  # noqa: T201 (its purpose)


class Display(_Bars):
    """Watches one run after another: its phase, how far that is, and what was counted so far.

    ``begin`` names the next run and comes before its phases; the rest is as in
    ``zonelab.scenarios.run_phases.Watcher``.
    """

    def __init__(self) -> None:
        super().__init__(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[phase]:<9}", markup=False),
            TextColumn("{task.fields[counts]}", markup=False),
        )
        self._title = ""
        self._counts: Counts = {}
        self._run = TaskID(0)

    def begin(self, title: str) -> None:
        self._title, self._counts = title, {}
        self._run = self._bars.add_task(title, total=None, phase="", counts="")

    def phase(self, name: str, bound_s: float | None) -> None:
        self._bars.update(self._run, phase=name, total=bound_s, completed=0)
        self._say(f"{name} (at most {bound_s:g} s)" if bound_s is not None else name)

    def progress(self, elapsed_s: float, counts: Counts) -> None:
        self._counts = counts
        self._bars.update(self._run, completed=elapsed_s, counts=_counted(counts))

    def done(self, outcome: str) -> None:
        self._bars.update(self._run, phase=outcome, total=1, completed=1)
        self._bars.stop_task(self._run)
        self._say(outcome)

    def _say(self, text: str) -> None:
        self._line(f"{self._title}: {text}", _counted(self._counts) if self._counts else "", separator="; ")


def _counted(counts: Counts) -> str:
    words = {f: f for f, _ in counts} if any(f not in _OF_QUEUES for f, _ in counts) else _OF_QUEUES
    text = "  ".join(f"{word} {counts.get((f, 'ok'), 0):,}" for f, word in words.items())
    trouble = sum(count for (_, outcome), count in counts.items() if outcome != "ok")
    return text + (f"  not ok {trouble:,}" if trouble else "")


class RunBar(_Bars):
    """Bar of the runs that are done.

    ``done`` runs of ``total`` were there before. ``note``: a count beside them, as it is at the beginning; without one,
    a terminal shows the time that has passed. ``unit``: what is counted.
    """

    def __init__(
        self,
        title: str,
        *,
        total: int | None = None,
        done: int = 0,
        note: str = "",
        unit: str = "runs",
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}", markup=False) if note else TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._title, self._unit = title, unit
        self._now_s = now_s
        self._before = done
        self._begun: tuple[int, float] | None = None
        self._said = False
        self._runs = self._bars.add_task(title, total=total, completed=done, note=note)

    def show(self, done: int, total: int, *, note: str = "") -> None:
        """Tell that ``done`` of ``total`` runs have ended and, once it is known, how long the rest will take."""
        self._bars.update(self._runs, completed=done, total=total, note=note)
        if self._begun is not None and self._now_s() - self._begun[1] >= MEASURED_S and not self._said:
            self._say_how_long(done, total, *self._begun)
            self._said = True
        if self._begun is None and done > self._before:
            self._begun = done, self._now_s()
        if done % max(1, total // LINES) == 0:
            counted = f"{self._title}: {done:,} of {total:,} {self._unit}"
            self._line(counted, note, self._left(done, total), separator=", ")

    def _left(self, done: int, total: int) -> str:
        """For a log: a terminal shows it beside its bar."""
        if self._begun is None or self._now_s() - self._begun[1] < MEASURED_S or done <= self._begun[0]:
            return ""
        left_s = (total - done) * (self._now_s() - self._begun[1]) / (done - self._begun[0])
        return f"about {left_s:,.0f} s left" if left_s >= LONG_S else ""

    def _say_how_long(self, done: int, total: int, before: int, begin_s: float) -> None:
        """Print the remaining runs and the time that they take, estimated from the first ones, on a terminal, too."""
        left, each_s = total - done, (self._now_s() - begin_s) / (done - before)
        if left * each_s >= LONG_S:
            self.tell(f"{self._title}: {left:,} more {self._unit} x {each_s:.2g} s, about {left * each_s:,.0f} s")
