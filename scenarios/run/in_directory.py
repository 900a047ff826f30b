"""A run that leaves a run directory, whether it is simulated or on real servers."""

import signal
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zonelab.scenarios.logs import logging_to
from zonelab.scenarios.run_files.directory import create_run_directory
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.scenarios.run_files.run_json import RunFile
from zonelab.scenarios.run_files.tables import FileTables
from zonelab.scenarios.spec.reading import RESOLVED_NAME, write_scenario
from zonelab.scenarios.spec.scenario import Scenario


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end a run early and in order; SIGTERM and SIGHUP, as by ``nohup``, may be ignored."""
    others = (signal.SIGTERM, signal.SIGHUP)
    return signal.SIGINT, *(number for number in others if signal.getsignal(number) is not signal.SIG_IGN)


class RunWriter:
    """The directory of a run while it goes on: ``begin`` first, then ``tables``."""

    def __init__(
        self, directory: Path, scenario: Scenario, *, started: datetime, command: str, segment_ns: int
    ) -> None:
        self.tables = FileTables(directory, segment_ns)
        self.directory = directory
        self._scenario = scenario
        self._started = started
        self._command = command
        self._file: RunFile | None = None

    def begin(self, *, epoch_ns: int, where: Mapping[str, Any]) -> None:
        """Write ``run.json`` and the scenario. ``where``: the arm, and what the zones are."""
        self._file = RunFile(
            self.directory,
            self._scenario,
            started=self._started,
            command=self._command,
            epoch_ns=epoch_ns,
            where=where,
        )
        write_scenario(self._scenario, self.directory / RESOLVED_NAME)

    def end(self, record: RunRecord, *, told: Mapping[str, Any]) -> None:
        """``told``: facts that only this arm knows, and only now."""
        assert self._file is not None, "a run that has not begun cannot end"
        self._file.ended(record, segments=self.tables.segments, told=told)

    def note(self, record: RunRecord) -> None:
        """``zonelab.scenarios.run_files.record.Note``: ``run.json`` says it, too."""
        assert self._file is not None, "a run that has not begun has no phases"
        self._file.running(record)


def run_in_directory(
    scenario: Scenario, *, runs: Path, command: str, segment_ns: int, run: Callable[[RunWriter], RunRecord]
) -> tuple[Path, RunRecord]:
    """Let ``run`` fill a new directory under ``runs``, log included.

    ``segment_ns``: how much of run time a lab that is killed may lose. Raises ``OSError`` if the directory cannot be
    made or ``run.json`` cannot be written.
    """
    started = datetime.now(UTC)
    directory = create_run_directory(runs, scenario, started, used=scenario.used)
    with logging_to(directory / "lab.log"):
        return directory, run(RunWriter(directory, scenario, started=started, command=command, segment_ns=segment_ns))
