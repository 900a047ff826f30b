"""Which commands have versions, and the scripts that they become."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cluster import version_scripts as scripts
from cluster.commands.keys import key_bytes
from cluster.commands.routes import upper
from engine.ports import Command

READS = {"GET": ("k", 2), "HGET": ("h", 3), "SISMEMBER": ("s", 3), "ZSCORE": ("z", 3)}
"""The letter of the record, and the words of the command."""

MEMBER_WRITES = {
    "HSET": ("h", 2, 0, "0"),
    "HMSET": ("h", 2, 0, "0"),
    "SADD": ("s", 1, 0, "0"),
    "ZADD": ("z", 2, 1, "0"),
    "HDEL": ("h", 1, 0, "1"),
    "SREM": ("s", 1, 0, "1"),
    "ZREM": ("z", 1, 0, "1"),
}
"""The letter of the record, the size of an item, where in it the member is, and whether the command removes."""

_EXPIRIES = frozenset({"EX", "PX", "EXAT", "PXAT"})
_ZADD_OPTIONS = frozenset({"NX", "XX", "GT", "LT", "CH", "INCR"})


_NAMES = frozenset({"SET", "MSET", "DEL", "UNLINK", *READS, *MEMBER_WRITES})


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """A command as a script. ``version``: of a write. ``letter``, ``key``, ``member``: what a read is of."""

    name: str
    command: Command
    version: int = 0
    letter: str = ""
    key: bytes = b""
    member: bytes = b""

    @property
    def reads(self) -> bool:
        return self.version == 0

    def told(self, reply: list[Any]) -> list[Any]:
        """The version and the value of a zone's reply. A version without a value is that of a removal, as it has
        expired or was removed past the versions."""
        version, value = int(reply[0]), reply[1]
        return [version if self._there(value) else -abs(version), value]

    def record(self, answer: list[Any], expires_ms: int) -> Command:
        """What brings a zone up to date with ``answer``, as it was ``told``.

        ``expires_ms``: after how long the value ends, below 0 if never.
        """
        version, value = answer
        written = b"" if not self._there(value) or self.letter == "s" else value
        return (scripts.record_name(self.letter, self.key, self.member), version, written, expires_ms)

    def _there(self, value: Any) -> bool:
        return value is not None and not (self.letter == "s" and value == 0)


def may_have_version(command: Command) -> bool:
    return upper(command[0]) in _NAMES


def rewritten(command: Command, version: Callable[[], int]) -> Rewritten | None:
    """``command`` as a script; None for commands that go past the versions. ``version`` makes one for a write."""
    name, size = upper(command[0]), len(command)
    if name in READS:
        return _read(name, command) if size == READS[name][1] else None
    if name == "SET":
        if size == 3 or (size == 5 and upper(command[3]) in _EXPIRIES):
            return _write(name, scripts.SET, (command[1],), version(), command[2:])
    elif name == "MSET":
        if size > 2 and size % 2:
            return _write(name, scripts.SET, command[1::2], version(), command[2::2])
    elif name in ("DEL", "UNLINK"):
        if size > 1:
            return _write(name, scripts.DEL, command[1:], version(), ())
    elif name in MEMBER_WRITES:
        letter, item, at, removes = MEMBER_WRITES[name]
        if size > 2 and not (size - 2) % item and not (name == "ZADD" and upper(command[2]) in _ZADD_OPTIONS):
            words = (name, letter, item, at, removes, *command[2:])
            return _write(name, scripts.MEMBERS, (command[1],), version(), words)
    return None


def _write(name: str, script: str, keys: Command, version: int, words: Command) -> Rewritten:
    return Rewritten(name=name, command=("EVAL", script, len(keys), *keys, version, *words), version=version)


def _read(name: str, command: Command) -> Rewritten:
    letter = READS[name][0]
    return Rewritten(
        name=name,
        command=("EVAL", scripts.READ, 1, command[1], name, letter, *command[2:]),
        letter=letter,
        key=key_bytes(command[1]),
        member=key_bytes(command[2]) if len(command) > 2 else b"",
    )
