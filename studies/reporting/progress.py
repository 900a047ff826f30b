"""Progress of runs on stderr: bars on a terminal, lines in a log or a pipe."""

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Self

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

from zonelab.studies.reporting.console import error_console
from zonelab.studies.reporting.forecast import LONG_S, forecast

if TYPE_CHECKING:
    from zonelab.scenarios.clients.recorder import Outcome
    from zonelab.scenarios.spec.scenario import Scenario

LINES = 10
"""Lines of a ``RunBar`` where there is no terminal."""

MEASURED_S = 1.0
"""It measures for so long after the first run, which has the start of the workers in it."""

SILENT_S = 10.0
"""Time without a line after which one says how far the work is, where there is no terminal."""

_OF_QUEUES = {"push": "pushes ok", "pop": "delivered", "ack": "acks ok"}

Counts = Mapping[tuple[str, "Outcome"], int]


class _Bars:
    """Bars of ``columns``, which nobody sees without a terminal: then there are the lines that ``_line`` writes, and
    after ``SILENT_S`` without one what ``_so_far`` says.
    """

    def __init__(self, *columns: ProgressColumn, transient: bool = False) -> None:
        terminal = error_console()
        self._bars = Progress(*columns, console=terminal, transient=transient, disable=not terminal.is_terminal)
        self._ended = threading.Event()
        self._said_s = time.monotonic()

    def __enter__(self) -> Self:
        self._bars.start()
        self._said_s = time.monotonic()
        if self._bars.disable:
            threading.Thread(target=self._break_silence, name="progress", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._bars.stop()

    def _break_silence(self) -> None:
        while not self._ended.wait(max(0.01, self._said_s + SILENT_S - time.monotonic())):
            if time.monotonic() - self._said_s >= SILENT_S:
                self._said_s = time.monotonic()
                self._line(self._so_far(), separator="")

    def _so_far(self) -> str:
        """Return how far the work is, as a line."""
        raise NotImplementedError

    def announce(self, verb: str, scenarios: Sequence["Scenario"], *, each: int = 1) -> None:
        """Announce what will be run, ``each`` times each, if it takes long."""
        if words := forecast(scenarios, each=each):
            self.tell(f"{verb}: {words}")

    def tell(self, words: str) -> None:
        """A line above the bars, on a terminal and without one."""
        self._bars.console.print(words, highlight=False, soft_wrap=True)

    def _line(self, *parts: str, separator: str) -> None:
        if self._bars.disable:
            self._said_s = time.monotonic()
            print(separator.join(filter(None, parts)), file=sys.stderr, flush=True)  # noqa: T201 (its purpose)


@dataclass(slots=True)
class PhaseProgress:
    """Progress of a phase of a run. ``bound_s``, if it has one, and ``elapsed_s`` are run time."""

    name: str
    bound_s: float | None = None
    elapsed_s: float = 0.0
    begun_s: float = field(default_factory=time.monotonic)

    @property
    def share(self) -> str:
        """The share of the phase that is done; nothing if it has no bound."""
        return f"{min(1.0, self.elapsed_s / self.bound_s):.0%}" if self.bound_s else ""

    @property
    def words(self) -> str:
        """The phase, its share that is done and the time left of it, or how long it has taken."""
        took_s = time.monotonic() - self.begun_s
        if self.bound_s and self.elapsed_s:
            share = min(1.0, self.elapsed_s / self.bound_s)
            return f"{self.name} {self.share}, about {took_s * (1 - share) / share:,.0f} s left"
        return f"{self.name or 'begins'}, for {took_s:,.0f} s so far"


class _Phases(_Bars):
    """Bars of work in phases, one after another, whose task at hand is ``_task``."""

    _title: str
    _task: TaskID
    _at: PhaseProgress

    def stage(self, name: str, done: float, total: float) -> None:
        """Show that ``done`` of ``total`` of a part of the work is done (``zonelab.analysis.stages.Stage``)."""
        if (name, total) != (self._at.name, self._at.bound_s):
            self._enter(name, total)
        self._reach(done)

    def _enter(self, name: str, bound_s: float | None) -> None:
        """Show another phase, which may have no bound: to ``Progress.update`` that would be no change."""
        self._at = PhaseProgress(name, bound_s)
        self._bars.reset(self._task, phase=name, share=self._at.share)
        next(one for one in self._bars.tasks if one.id == self._task).total = bound_s

    def _reach(self, elapsed_s: float) -> None:
        self._at.elapsed_s = elapsed_s
        self._bars.update(self._task, completed=elapsed_s, share=self._at.share)

    def _so_far(self) -> str:
        return f"{self._title}: {self._at.words}"


class Work(_Phases):
    """Watches one piece of work of a verb, such as a run that is made again; says nothing if it is short.

    A ``zonelab.scenarios.run_phases.Watcher``.
    """

    def __init__(self, title: str) -> None:
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[share]:>4}", markup=False),
            TextColumn("{task.fields[phase]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            transient=True,
        )
        self._title, self._at = title, PhaseProgress("")
        self._task = self._bars.add_task(title, total=None, phase="", share="")

    def phase(self, name: str, bound_s: float | None) -> None:
        self._enter(name, bound_s)

    def progress(self, elapsed_s: float, counts: Counts) -> None:
        self._reach(elapsed_s)


class Display(_Phases):
    """Watches one run after another: its phase, how far that is, and what was counted so far.

    ``begin`` names the next run and comes before its phases; the rest is as in
    ``zonelab.scenarios.run_phases.Watcher``.
    """

    def __init__(self) -> None:
        super().__init__(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=10),
            TextColumn("{task.fields[share]:>4}", markup=False),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[phase]:<9}", markup=False),
            TextColumn("{task.fields[counts]}", markup=False),
        )
        self._title = ""
        self._counts: Counts = {}
        self._task = TaskID(0)
        self._at = PhaseProgress("")

    def begin(self, title: str) -> None:
        self._title, self._counts, self._at = title, {}, PhaseProgress("")
        self._task = self._bars.add_task(title, total=None, phase="", share="", counts="")

    def phase(self, name: str, bound_s: float | None) -> None:
        self._enter(name, bound_s)
        self._say(f"{name} (at most {bound_s:g} s)" if bound_s is not None else name)

    def progress(self, elapsed_s: float, counts: Counts) -> None:
        self._counts = counts
        self._reach(elapsed_s)
        self._bars.update(self._task, counts=_counted(counts))

    def done(self, outcome: str) -> None:
        self._bars.update(self._task, phase=outcome, total=1, completed=1)
        self._bars.stop_task(self._task)
        self._say(outcome)

    def _so_far(self) -> str:
        counted = f"; {_counted(self._counts)}" if self._counts else ""
        return f"{super()._so_far()}{counted}"

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
    a terminal shows the time that has passed. ``unit``: what is counted. ``most_s``: time after which no more begin.
    """

    def __init__(
        self,
        title: str,
        *,
        total: int | None = None,
        done: int = 0,
        note: str = "",
        unit: str = "runs",
        most_s: float = inf,
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
        self._end_s = now_s() + most_s
        self._before = done
        self._begun: tuple[int, float] | None = None
        self._said = False
        self._runs = self._bars.add_task(title, total=total, completed=done, note=note)
        self._shown: tuple[int, int, str] = (done, total or 0, note)

    @property
    def is_over(self) -> bool:
        """Return whether ``most_s`` have passed."""
        return self._now_s() >= self._end_s

    def show(self, done: int, total: int, *, note: str = "") -> None:
        """Tell that ``done`` of ``total`` runs have ended and, once it is known, how long the rest will take."""
        self._shown = done, total, note
        self._bars.update(self._runs, completed=done, total=total, note=note)
        if self._begun is not None and self._now_s() - self._begun[1] >= MEASURED_S and not self._said:
            self._say_how_long(done, total, *self._begun)
            self._said = True
        if self._begun is None and done > self._before:
            self._begun = done, self._now_s()
        if done % max(1, total // LINES) == 0:
            self._line(self._so_far(), separator="")

    def _so_far(self) -> str:
        done, total, note = self._shown
        counted = f"{self._title}: {done:,} of {total:,} {self._unit}" if total else f"{self._title}: begins"
        return ", ".join(filter(None, (counted, note, self._left(done, total))))

    def _left(self, done: int, total: int) -> str:
        """For a log: a terminal shows it beside its bar."""
        if self._begun is None or self._now_s() - self._begun[1] < MEASURED_S or done <= self._begun[0]:
            return ""
        each_s = (self._now_s() - self._begun[1]) / (done - self._begun[0])
        left_s = min((total - done) * each_s, self._end_s - self._now_s())
        return f"about {left_s:,.0f} s left" if left_s >= LONG_S else ""

    def _say_how_long(self, done: int, total: int, before: int, begin_s: float) -> None:
        """Print the remaining runs and the time that they take, estimated from the first ones, on a terminal, too."""
        left, each_s = total - done, (self._now_s() - begin_s) / (done - before)
        room_s = self._end_s - self._now_s()
        if min(left * each_s, room_s) < LONG_S:
            return
        if left * each_s > room_s:
            beyond = f"do not fit into the {room_s:,.0f} s that are left"
            self.tell(f"{self._title}: {left:,} more {self._unit} x {each_s:.2g} s {beyond}")
        else:
            self.tell(f"{self._title}: {left:,} more {self._unit} x {each_s:.2g} s, about {left * each_s:,.0f} s")
