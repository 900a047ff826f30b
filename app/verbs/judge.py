"""A verdict on logs of events that programs of any language wrote."""

import gzip
import re
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zonelab.analysis.events.format import EXAMPLE, VERSION, EventError, is_event_log
from zonelab.analysis.events.operations import history_of
from zonelab.analysis.events.reading import LogFile, read_events
from zonelab.analysis.events.run import write_logged_run
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import counted
from zonelab.analysis.stages import Stage, unheard
from zonelab.analysis.summary.narrative import narrative
from zonelab.analysis.summary.result import Result
from zonelab.app.verbs.check import Illustrations, illustrate, print_result
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.run_files.directory import create_run_directory, environment
from zonelab.studies.reporting.console import print_lines

STDIN = "-"

_GZIP = b"\x1f\x8b"
"""First bytes of a file that gzip packed."""

LEVEL = "events"
"""Stands where a run has its consistency level."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogOrigin:
    """Name of the run that a log of events becomes."""

    name: str
    level: str = LEVEL
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A log of events, judged: its run directory, its verdict and its report."""

    result: Result
    illustrations: Illustrations
    events: int
    command: str

    def to_json(self) -> dict[str, Any]:
        """Return the verdict with the run directory and the number of events."""
        return {
            "run": str(self.result.directory),
            "events": self.events,
            "valid": self.result.verdict.valid,
            "sentences": narrative([self.result]),
            "verdict": self.result.verdict.to_json(),
            "summary": self.result.summary.to_json(),
            "report": str(self.illustrations.report) if self.illustrations.report else None,
            "command": self.command,
        }

    def print(self) -> None:
        """Print the table of the run, the sentences on it, what is in doubt, and its files."""
        print_result(self.result, title=f"{counted(self.events, 'event')}")
        print_lines(str(self.result.directory), *map(str, self.illustrations.paths[-1:]))
        if self.illustrations.problem:
            print_lines(self.illustrations.problem)


def judged(
    paths: Sequence[Path],
    *,
    drained: bool,
    forbid: Sequence[MessageClass],
    draws: bool,
    runs: Path,
    command: str,
    stage: Stage = unheard,
) -> Judged:
    """Judge the logs in ``paths`` as one, in a new run directory under ``runs``. ``-`` is stdin.

    Raises ``NotAccepted`` for what is no log of events.
    """
    files = [_read(path) for path in paths]
    started = datetime.now(UTC)
    try:
        log = read_events(files, drained=drained)
    except EventError as error:
        raise NotAccepted(str(error)) from error
    history = history_of(log, end_state=False)
    origin = LogOrigin(name=name_of(paths[0]))
    directory = create_run_directory(runs, origin, started)
    facts = {
        **environment(),
        "scenario": origin.name,
        "level": LEVEL,
        "started_utc": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "command": command,
        "forbid": [str(name) for name in forbid],
    }
    write_logged_run(directory, history, facts=facts)
    result = Result.examined(directory, title=LEVEL, stage=stage)
    illustrations = illustrate(directory, stage=stage) if draws else Illustrations.kept(directory)
    return Judged(result=result, illustrations=illustrations, events=len(log), command=command)


def read_bytes(path: Path) -> tuple[str, bytes]:
    """Return the name of a file in messages, and its content, unpacked if gzip packed it; ``-`` is stdin.

    Raises ``NotAccepted``.
    """
    name = "stdin" if str(path) == STDIN else str(path)
    try:
        data = sys.stdin.buffer.read() if str(path) == STDIN else path.read_bytes()
        return name, gzip.decompress(data) if data.startswith(_GZIP) else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise NotAccepted(f"{name}: is not a whole gzip file: {error}") from error
    except OSError as error:
        raise NotAccepted(f"{name}: {error.strerror or error}") from error


def _read(path: Path) -> LogFile:
    """Return the file, if its first line is one of a log of events; a program that had no job leaves an empty one."""
    name, data = read_bytes(path)
    file = LogFile(name=name, data=data)
    number, line = next(file.lines(), (0, b""))
    if number and not is_event_log(line):
        shown = line[:60].decode("utf-8", "replace")
        accepted = f'an event, such as {EXAMPLE}, or {{"format": "zonelab-events", "version": {VERSION}}}'
        raise NotAccepted(f"{name}: line {number}: got {shown!r}; accepted: {accepted}")
    return file


def name_of(path: Path) -> str:
    """Return the name of the run that a file becomes: that of the file, as far as a scenario may be called so."""
    name = re.sub(r"[^a-z0-9_-]+", "-", path.name.partition(".")[0].lower()).strip("-_")
    return name[:64] or LEVEL
