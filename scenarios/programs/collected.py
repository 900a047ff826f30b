"""Events of a run's programs: taken from what they write, kept in files, and read as one log in the end."""

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from zonelab.analysis.events.format import event_in, header_of
from zonelab.analysis.events.reading import LogFile
from zonelab.analysis.runs.program_commands import FOLDER, commands_path
from zonelab.analysis.units import NS_PER_MS
from zonelab.analysis.whole_files import write_json
from zonelab.scenarios.programs.lines import LineSplitter, WrittenLine

END_STATE_NAME = "end_state.json"

CLOCK_ERROR_NS_MAX = 1_000_000_000
"""Ahead of its own arrival, or before its program was started, by more than this, an event has its time from a clock
that is wrong.
"""

TOLD_MAX = 5
"""Problems of one process that are listed singly; further ones are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventSource:
    """A process that writes events: its name and its zone, which its events have unless they say others."""

    name: str
    zone: str


@dataclass(kw_only=True, slots=True)
class ProcessEvents:
    """Events of one process: the file that the lab writes, the one that the process may write, what is wrong."""

    source: EventSource
    path: Path
    own_path: Path
    since_ns: int
    file: BinaryIO | None = None
    problems: dict[str, None] = field(default_factory=dict)
    life: int = 1

    @property
    def program(self) -> str:
        """Return the name of its program in the history: each time that it is started again it is another one."""
        return self.source.name if self.life == 1 else f"{self.source.name}.{self.life}"


class CollectedEvents:
    """Collector of the events of all processes of a run. Times are of the wall, in nanoseconds since 1970."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / FOLDER
        self._directory.mkdir()
        self._of: dict[str, ProcessEvents] = {}
        self._leases: dict[str, int] = {}
        self._latest_ns = 0
        self._own_bytes = 0
        self._open: dict[str, None] = {}
        self._ended: set[str] = set()
        self._follows = True
        self.counts: Counter[str] = Counter()
        """Events so far, by ``op``."""

    def log_path(self, name: str) -> Path:
        """Return the file for what process ``name`` writes that is no event."""
        return self._directory / f"{name}.log"

    def commands_path(self, name: str) -> Path:
        """Return the file for the commands that process ``name`` sends."""
        return commands_path(self._directory.parent, name)

    def add(self, source: EventSource, *, now_ns: int) -> Path:
        """Expect events of ``source`` from ``now_ns`` on; return the file that it may write them to."""
        own = (self._directory / f"{source.name}.own.jsonl").absolute()
        path = self._directory / f"{source.name}.events.jsonl"
        self._of.setdefault(source.name, ProcessEvents(source=source, path=path, own_path=own, since_ns=now_ns))
        return own

    def any_of(self, name: str) -> bool:
        """Return whether process ``name`` has written any event."""
        of = self._of[name]
        return of.file is not None or _size(of.own_path) > 0

    def take(self, name: str, line: WrittenLine, *, now_ns: int) -> bool:
        """Keep the event in a line that process ``name`` wrote; return False if it is none."""
        of = self._of[name]
        if line.cut:
            length = len(line.text) + line.cut
            self._problem(of, f"line {line.number:,} of its output has {length:,} bytes", "1,000,000")
            return False
        if not line.text.lstrip().startswith(b"{") or b'"op"' not in line.text:
            return False
        event = event_in(line.text)
        if isinstance(event, str):
            if line.whole:
                self._problem(of, f"line {line.number:,} of its output: {event}")
            return False
        self._keep(of, event, line.number, now_ns)
        return True

    def flush(self, name: str) -> None:
        if (file := self._of[name].file) is not None:
            file.flush()

    def quiet_since_ns(self, *, now_ns: int) -> int:
        """Return since when nothing has come and nothing known was due or under a lease; later than ``now_ns`` if it
        is known that something still is.
        """
        own_bytes = sum(_size(of.own_path) for of in self._of.values())
        if own_bytes != self._own_bytes:
            self._own_bytes, self._latest_ns = own_bytes, max(self._latest_ns, now_ns)
        return max(self._latest_ns, *self._leases.values()) if self._leases else self._latest_ns

    def program_of(self, name: str) -> str:
        """Return the program that process ``name`` is in the history now."""
        return self._of[name].program

    def begin_life(self, name: str) -> None:
        """Note that process ``name`` is started again: it is another program in the history."""
        self._of[name].life += 1

    def latest_open(self, count: int) -> list[str]:
        """Return messages that have been pushed and not ended, the latest first, ``count`` at most."""
        return list(islice(reversed(self._open), count))

    def forget_open(self) -> None:
        """Keep no longer which messages are open."""
        self._follows = False
        self._open.clear()
        self._ended.clear()

    def keep_end_state(self, facts: dict[str, object]) -> None:
        """Write where the zones stored what was not finished, for people who want to look there."""
        write_json(self._directory / END_STATE_NAME, facts)

    def close(self) -> None:
        for of in self._of.values():
            if of.file is not None:
                of.file.close()

    def problems(self) -> list[str]:
        """Return what was wrong with events, each with process and line."""
        told = []
        for name, of in self._of.items():
            told += [f"program {name}: {problem}" for problem in islice(of.problems, TOLD_MAX)]
            if (more := len(of.problems) - TOLD_MAX) > 0:
                told[-1] += f" ({more:,} more like it)"
        return told

    def logs(self) -> list[LogFile]:
        """Return the logs of all processes, once none of them writes any more."""
        files = []
        for of in self._of.values():
            if of.file is not None:
                of.file.flush()
                files.append(LogFile(name=self._shown(of.path), data=of.path.read_bytes()))
            if of.own_path.exists():
                files.append(LogFile(name=self._shown(of.own_path), data=self._own_log(of)))
        return files

    def _shown(self, path: Path) -> str:
        return f"{FOLDER}/{path.name}"

    def _own_log(self, of: ProcessEvents) -> bytes:
        """Return the usable events of the file that a process wrote; what is torn at its end is left out."""
        splitter, kept = LineSplitter(), []
        data, written_ns = of.own_path.read_bytes(), of.own_path.stat().st_mtime_ns
        for line in (*splitter.feed(data), *splitter.last()):
            place = f"line {line.number:,} of {self._shown(of.own_path)}"
            if not line.text.strip() or (line.number == 1 and _is_header(line.text)):
                continue
            event = event_in(line.text) if not line.cut else f"got {len(line.text) + line.cut:,} bytes"
            if isinstance(event, str):
                if line.whole:
                    self._problem(of, f"{place}: {event}")
                continue
            if event["t_ns"] is None:
                self._problem(of, f"{place}: has no t_ns, which events in a file need")
                continue
            self._see_clock(of, event["t_ns"], place, now_ns=written_ns)
            own = {"program": of.source.name, "zone": of.source.zone}  # nobody knows in which of its lives
            kept.append(_line({**event, **{name: event[name] or value for name, value in own.items()}}))
        return b"".join(kept)

    def _keep(self, of: ProcessEvents, event: dict[str, object], number: int, now_ns: int) -> None:
        at_ns = event["t_ns"]
        if at_ns is None:
            at_ns = now_ns
        assert isinstance(at_ns, int)
        self._see_clock(of, at_ns, f"line {number:,} of its output", now_ns=now_ns)
        if of.file is None:
            of.file = of.path.open("ab")
        of.file.write(_line({**event, "t_ns": at_ns, **self._named(of, event)}))
        op, message, own = str(event["op"]), str(event["id"]), event["lease_ms"]
        self.counts[op] += 1
        self._latest_ns = max(self._latest_ns, now_ns)
        delay_ms = event["delay_ms"]
        if op == "push" and isinstance(delay_ms, int):
            self._latest_ns = max(self._latest_ns, now_ns + delay_ms * NS_PER_MS)
        if self._follows:
            self._follow(op, message)
        if op == "begin" and isinstance(own, int):
            self._leases[message] = now_ns + own * NS_PER_MS
        elif op in ("end", "failed"):
            self._leases.pop(message, None)

    def _see_clock(self, of: ProcessEvents, at_ns: int, place: str, *, now_ns: int) -> None:
        """Note a time that cannot be: ``now_ns`` is when the event was there."""
        if at_ns > now_ns + CLOCK_ERROR_NS_MAX:
            ahead_s = (at_ns - now_ns) / 1e9
            self._problem(of, f"{place} has a time {ahead_s:,.0f} s ahead of the clock of the lab")
        elif at_ns < of.since_ns - CLOCK_ERROR_NS_MAX:
            before_s = (of.since_ns - at_ns) / 1e9
            self._problem(of, f"{place} has a time {before_s:,.0f} s before the program was started")

    def _follow(self, op: str, message: str) -> None:
        """Keep what is open; the word of a worker may come before that of the producer."""
        if op in ("push", "accepted") and message not in self._ended:
            self._open[message] = None
        elif op in ("end", "refused"):
            self._open.pop(message, None)
            self._ended.add(message)

    def _named(self, of: ProcessEvents, event: dict[str, object]) -> dict[str, object]:
        return {"program": event["program"] or of.program, "zone": event["zone"] or of.source.zone}

    def _problem(self, of: ProcessEvents, words: str, accepted: str = "") -> None:
        of.problems[words + (f"; accepted: at most {accepted}" if accepted else "")] = None


def _line(event: dict[str, object]) -> bytes:
    said = {name: value for name, value in event.items() if value is not None}
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def _is_header(line: bytes) -> bool:
    try:
        return header_of(line) is not None
    except ValueError:
        return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
