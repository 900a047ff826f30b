"""Table of the commands that have versions, and the scripts that replace them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zonelab.cluster.commands.keys import key_bytes
from zonelab.cluster.commands.routes import upper
from zonelab.cluster.options.versioned_commands import MEMBER_WRITES, READS, member_write
from zonelab.cluster.options.versions import scripts
from zonelab.engine.ports import Command

_EXPIRIES = frozenset({"EX", "PX", "EXAT", "PXAT"})
_LISTS = frozenset({"KEYS", "SCAN", "DBSIZE", "RANDOMKEY"})
_NAMES = frozenset({"SET", "MSET", "DEL", "UNLINK", *READS, *MEMBER_WRITES}) | _LISTS


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionedWrite:
    """A write as a script that carries ``version``."""

    command: Command
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionedRead:
    """A read as a script that returns the version: of ``key``, or of its ``member``; ``letter`` is the type."""

    command: Command
    letter: str
    key: bytes
    member: bytes

    def told(self, reply: list[Any]) -> list[Any]:
        """The version and the value of a zone's reply. A version without a value is that of a removal, as it has
        expired or was removed past the versions."""
        version, value = int(reply[0]), reply[1]
        return [version if self._there(value) else -abs(version), value]

    def record(self, answer: list[Any], expires_ms: int) -> Command:
        """Return what brings a zone up to date with ``answer``, as it was ``told``.

        ``expires_ms``: after how long the value ends, below 0 if never.
        """
        version, value = answer
        written = b"" if not self._there(value) or self.letter == "s" else value
        return (scripts.record_name(self.letter, self.key, self.member), version, written, expires_ms)

    def _there(self, value: Any) -> bool:
        return value is not None and not (self.letter == "s" and value == 0)


def may_have_version(command: Command) -> bool:
    """The command may have a version, or may return the names of the records of versions."""
    return upper(command[0]) in _NAMES


def hiding(command: Command) -> tuple[Command, Callable[[Any], Any] | None] | None:
    """Return the form of ``command`` for a zone, and the filter of its answer in which no record of versions shows.

    None for commands in which none does.
    """
    name = upper(command[0])
    if name == "KEYS":
        return command, _shown
    if name == "SCAN":
        return command, lambda reply: [reply[0], _shown(reply[1])]
    if name in _LISTS and len(command) == 1:
        return ("EVAL", scripts.COUNT if name == "DBSIZE" else scripts.RANDOM, 0), None
    return None


def _shown(keys: list[Any]) -> list[Any]:
    return [key for key in keys if not key_bytes(key).startswith((scripts.PLACE.encode(), scripts.DIGESTS.encode()))]


def rewritten(command: Command, version: Callable[[], int]) -> VersionedWrite | VersionedRead | None:
    """``command`` as a script; None for commands that go past the versions. ``version`` makes one for a write."""
    name, size = upper(command[0]), len(command)
    if name in READS:
        return _read(name, command) if size == READS[name][1] else None
    if name == "SET":
        if size == 3 or (size == 5 and upper(command[3]) in _EXPIRIES):
            return _write(scripts.SET, (command[1],), version(), command[2:])
    elif name == "MSET":
        if size > 2 and size % 2:
            return _write(scripts.SET, command[1::2], version(), command[2::2])
    elif name in ("DEL", "UNLINK"):
        if size > 1:
            return _write(scripts.DEL, command[1:], version(), ())
    elif (found := member_write(command)) is not None:
        return _write(scripts.MEMBERS, (command[1],), version(), (name, *found, *command[2:]))
    return None


def _write(script: str, keys: Command, version: int, words: Command) -> VersionedWrite:
    return VersionedWrite(command=("EVAL", script, len(keys), *keys, version, *words), version=version)


def _read(name: str, command: Command) -> VersionedRead:
    letter = READS[name][0]
    return VersionedRead(
        command=("EVAL", scripts.READ, 1, command[1], name, letter, *command[2:]),
        letter=letter,
        key=key_bytes(command[1]),
        member=key_bytes(command[2]) if len(command) > 2 else b"",
    )
