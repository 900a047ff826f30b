"""One process of a program: a process group of its own, whose output is read line by line."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zonelab.cluster.real.zones.process import launcher
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.programs.bounded_log import BoundedLog
from zonelab.scenarios.programs.collected import CollectedEvents
from zonelab.scenarios.programs.lines import LineSplitter, WrittenLine
from zonelab.scenarios.spec.programs import ProgramStop

_CHUNK = 65_536
_LATE_OUTPUT_S = 1.0
"""Seconds for which what an ended process has written may still come: others may hold its output open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessStart:
    """Name, program and zone of a process, and the words and the environment with which it is started."""

    name: str
    program: str
    zone: str
    words: Sequence[str]
    environment: Mapping[str, str]
    ready: str | None
    stop: ProgramStop
    ends: bool


class ProgramProcess:
    """Starts, hears and ends one process. ``on_end`` is called when it ends and nobody here has asked it to.

    ``wall_ns`` returns the time. What happens in order: ``start``, perhaps ``signal``, ``stop``. It may be started
    again after it has ended.
    """

    def __init__(
        self,
        start: ProcessStart,
        *,
        events: CollectedEvents,
        wall_ns: Callable[[], int],
        on_end: Callable[["ProgramProcess"], None],
    ) -> None:
        self.given = start
        self._events = events
        self._wall_ns = wall_ns
        self._on_end = on_end
        self._ready = re.compile(start.ready) if start.ready is not None else None
        self._log: BoundedLog | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.is_ready = asyncio.Event()
        self._has_ended = asyncio.Event()
        self.over = asyncio.Event()
        """Set when it has ended and all that it wrote has been read."""
        self.struck = False
        """A fault has hit it: that it ends is no problem."""
        self.ending = False
        self.killed_late = False
        """It did not end within its time and was killed."""

    @property
    def name(self) -> str:
        return self.given.name

    @property
    def pgid(self) -> int | None:
        """Return the id of its process group, which is its pid; None while it does not run."""
        process = self._process
        return None if process is None or process.returncode is not None else process.pid

    @property
    def exit_code(self) -> int | None:
        """Return with what it has ended, a signal as a negative number; None before."""
        return None if self._process is None else self._process.returncode

    @property
    def ended_in_words(self) -> str:
        code = self.exit_code
        how = f"exit code {code}" if code is None or code >= 0 else f"signal {signal.Signals(-code).name}"
        last = "" if self._log is None else self._log.last_line
        return f"{how}{f', last line of its output: {last}' if last else ''}"

    @property
    def left_out(self) -> int:
        """Return the bytes of its output that are not in its log."""
        return 0 if self._log is None else self._log.left_out

    async def start(self) -> None:
        """Start it. Raises ``ClusterError`` if the system refuses."""
        if self._log is None:
            self._log = BoundedLog(self._events.log_path(self.name))
        self._has_ended.clear()
        self.over.clear()
        self.struck = self.ending = False
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", launcher.__file__, str(os.getpid())),
                *self.given.words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(self.given.environment),
                start_new_session=True,
            )
        except OSError as error:
            raise ClusterError(f"program {self.name}: cannot be started: {error.strerror or error}") from error
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            asyncio.create_task(self._read(process.stdout, self._output)),
            asyncio.create_task(self._read(process.stderr, self._other)),
        ]
        self._tasks += [*readers, asyncio.create_task(self._watch(process, readers))]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process group; nothing happens if it has ended."""
        if (pgid := self.pgid) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pgid, number)

    async def stop(self) -> None:
        """End it in order, and by SIGKILL if that takes longer than it may."""
        if self.pgid is not None:
            self.ending = True
            self.signal(signal.SIGCONT)
            self.signal(signal.Signals[self.given.stop.signal])
            if not await self._ends_within(self.given.stop.grace_s):
                self.killed_late = self.given.stop.signal != "SIGKILL"
                self.signal(signal.SIGKILL)
            await self.over.wait()

    def close(self) -> None:
        """Let go of its log."""
        for task in self._tasks:
            task.cancel()
        if self._log is not None:
            self._log.close()

    async def _ends_within(self, bound_s: float) -> bool:
        try:
            async with asyncio.timeout(bound_s):
                await self._has_ended.wait()
        except TimeoutError:
            return False
        return True

    async def _watch(self, process: asyncio.subprocess.Process, readers: Sequence[asyncio.Task[None]]) -> None:
        await process.wait()
        self._has_ended.set()
        _, late = await asyncio.wait(readers, timeout=_LATE_OUTPUT_S)
        for reader in late:
            reader.cancel()
        self.over.set()
        if not (self.ending or self.struck):
            self._on_end(self)

    async def _read(self, stream: asyncio.StreamReader, take: Callable[[WrittenLine], None]) -> None:
        splitter = LineSplitter()
        while data := await stream.read(_CHUNK):
            for line in splitter.feed(data):
                take(line)
            self._events.flush(self.name)
        for line in splitter.last():
            take(line)
        self._events.flush(self.name)

    def _output(self, line: WrittenLine) -> None:
        if not self._events.take(self.name, line, now_ns=self._wall_ns()):
            self._other(line)

    def _other(self, line: WrittenLine) -> None:
        assert self._log is not None
        self._log.write(line.text + b"\n")
        if self._ready is not None and self._ready.search(line.text.decode("utf-8", "replace")):
            self.is_ready.set()
