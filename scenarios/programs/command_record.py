"""Record of the commands that a process sends: of one job, they are the path that it takes."""

import asyncio
from collections.abc import Callable
from functools import partial
from json.encoder import encode_basestring
from pathlib import Path

import hiredis

from zonelab.cluster.resp.programs.hold import SHOWN_WORDS, shown_words
from zonelab.cluster.resp.programs.session import cut_off
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.scanner import CommandLimits, CommandScanner

COMMANDS_MAX = 200_000
"""Commands of one process that are recorded; a last line says that there were more."""

KEPT_S = 0.5
"""Longest time for which what has arrived is not in the file."""

_KEPT_BYTES_MAX = 4 * 1024
"""Bytes beyond which what has arrived is taken apart: it takes about as long as a server needs for a command."""

_NO_MORE = False
"""The reply of hiredis when nothing complete is left."""

_UNUSUAL = (hiredis.HiredisError, AttributeError, TypeError)
"""Errors over what hiredis takes for a reply and is no list of words."""


class CommandRecord:
    """Record in the file ``path``: a line of JSON for each command, with time, program, connection and words cut short.

    What arrives is kept as it is, and taken apart and written later, many commands at a time: to do so at once, on the
    way of each command, takes several times as long. ``wall_ns`` returns the time.
    """

    def __init__(self, path: Path, *, wall_ns: Callable[[], int], most: int = COMMANDS_MAX) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._wall_ns = wall_ns
        self._left = most
        self._reader = hiredis.Reader()
        self._kept: list[tuple[int, str, CommandScanner, bytes]] = []
        self._kept_bytes = 0
        self._flushing: asyncio.TimerHandle | None = None

    def connection(self, peer: str, *, program: str) -> Callable[[bytes], None]:
        """Return a function that records what arrives at one connection, which ``program`` makes from ``peer``."""
        sender = f'"program": {encode_basestring(program)}, "connection": {encode_basestring(peer)}'
        return partial(self._keep, sender, CommandScanner(CommandLimits(), guest=False))

    def close(self) -> None:
        """Write what is left and close the file; what comes then is not recorded."""
        if self._flushing is not None:
            self._flushing.cancel()
        self._write()
        self._left = -1
        self._file.close()

    def _keep(self, sender: str, scanner: CommandScanner, data: bytes) -> None:
        if self._left < 0:
            return
        self._kept.append((self._wall_ns(), sender, scanner, data))
        self._kept_bytes += len(data)
        loop = asyncio.get_running_loop()
        if self._flushing is None:
            self._flushing = loop.call_later(KEPT_S, self._flush)
        if self._kept_bytes > _KEPT_BYTES_MAX:
            self._kept_bytes = 0
            loop.call_soon(self._write)  # behind what sends the commands on: servers are at work meanwhile

    def _flush(self) -> None:
        self._flushing = None
        self._write()
        self._file.flush()

    def _write(self) -> None:
        kept, self._kept = self._kept, []
        lines = [
            f'{{"t_ns": {t_ns}, {sender}, "command": {encode_basestring(command)}}}\n'
            for t_ns, sender, scanner, data in kept
            for command in self._commands(scanner, data)
        ]
        if self._left >= 0 and len(lines) > self._left:
            lines[self._left :] = ['{"cut": true}\n']
        self._left -= len(lines)
        if lines:
            self._file.writelines(lines)

    def _commands(self, scanner: CommandScanner, data: bytes) -> list[str]:
        """Return the commands that are complete with ``data``: ``scanner`` looks at what is not whole and usual."""
        if scanner.idle:
            try:
                self._reader.feed(data)
                usual = [shown_words(words, len(words)) for words in iter(self._reader.gets, _NO_MORE) if words]
                if not self._reader.has_data():
                    return usual
            except _UNUSUAL:
                pass
            self._reader = hiredis.Reader()
        return [shown_words(*wire.beginning(command, SHOWN_WORDS)) for command in cut_off(scanner, data)[0]]
