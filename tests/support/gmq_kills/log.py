"""What the server executed, by MONITOR: of each job the last command that changed it, and which lists had it when."""

import asyncio
import re

import hiredis
from support.gmq_kills.steps import step_of

_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)", re.DOTALL)
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}
_READS = ("HGETALL", "HMGET", "EXISTS", "GET", "ZCARD", "PING", "HGET")
_JOB = b"gmq:jobpool:"
_LIST = b"gmq:readyqueue:"


def words_of(line):
    """The command of a line of MONITOR, and whether a script called it."""
    head, _, rest = line.partition(b"] ")
    return [_ESCAPE.sub(_plain, word) for word in _WORD.findall(rest)], head.endswith(b" lua")


def _plain(match):
    mark = match[1]
    return bytes([int(mark[1:], 16)]) if len(mark) == 3 else _PLAIN.get(mark, mark)


class ServerLog:
    """``last``: job id → the last step that changed it, a scan by its number: ``("due", 7)``. ``listed``: by scan."""

    def __init__(self, port):
        self._port = port
        self._ready = {}
        self._step = ("", 0)
        self._number = 0
        self.last = {}
        self.listed = {}

    async def start(self):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
        self._writer.write(b"MONITOR\r\n")
        await self._reader.readline()
        self._following = asyncio.create_task(self._follow())

    async def stop(self):
        self._following.cancel()
        await asyncio.wait([self._following])
        self._writer.close()

    async def caught_up(self, mark):
        """All that was executed before now has been read."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        seen = self._marks[mark] = asyncio.Event()
        writer.write(hiredis.pack_command(("ECHO", mark)))
        await reader.readline()
        writer.close()
        async with asyncio.timeout(30):
            await seen.wait()

    _marks: dict[str, asyncio.Event] = {}  # noqa: RUF012 (one log at a time)

    async def _follow(self):
        while line := await self._reader.readline():
            command, by_script = words_of(line)
            if command:
                self.read(command, by_script=by_script)

    def read(self, command, *, by_script):
        """One command, in the order of execution."""
        name = command[0].upper().decode()
        if name == "ECHO" and (mark := command[1].decode()) in self._marks:
            self._marks.pop(mark).set()
        if not by_script:
            self._number += 1
            self._step = (step_of(command), self._number)
        if name == "RPOP":
            waiting = self._ready.get(command[1])
            if waiting:
                self._changed(waiting.pop(0))
        elif name in ("LPUSH", "RPUSH"):
            waiting = self._ready.setdefault(command[1], [])
            waiting.insert(0 if name == "RPUSH" else len(waiting), command[2])
            self._changed(command[2])
        elif name == "ZREM" and by_script:
            self._changed(command[2])
        elif len(command) > 1 and command[1].startswith(_JOB) and name not in _READS:
            self._changed(command[1].removeprefix(_JOB))

    def _changed(self, job_id):
        step, _ = self._step
        before = self.last.get(job_id)
        if step == "make_ready" and before is not None and before[0] == "due":
            self.listed.setdefault(before[1], []).append(job_id)
        self.last[job_id] = self._step
