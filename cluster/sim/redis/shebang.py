"""The first line of a script that begins with ``#!``: its language and its flags (``evalExtractShebangFlags``)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from zonelab.cluster.sim.redis.reply import fail, text

_NO_WRITES = b"no-writes"
_ALLOW_OOM = b"allow-oom"
FLAGS = (_NO_WRITES, _ALLOW_OOM, b"allow-stale", b"no-cluster", b"allow-cross-slot-keys")
"""Flags that a script or function may declare, in the order in which the server lists it."""

_OPTION = b"flags="


@dataclass(frozen=True, slots=True)
class Flags:
    """``read_only``: it may only read. ``grows``: it must not start when the server's memory is full.

    ``exempt``: none of its commands is refused for want of memory. ``declared``: the script has such a line.
    """

    read_only: bool = False
    grows: bool = False
    exempt: bool = False
    declared: bool = False

    @classmethod
    def of(cls, names: Collection[bytes]) -> Self:
        """Return what these flags mean."""
        read_only, exempt = _NO_WRITES in names, _ALLOW_OOM in names
        return cls(read_only=read_only, grows=not (read_only or exempt), exempt=exempt, declared=True)


def read_shebang(script: bytes) -> tuple[bytes, Flags]:
    """The script with an empty first line in place of its shebang, and what that says.

    Raises ``CommandError`` for a shebang that the server refuses. Quotes in it are no quotes here.
    """
    if not script.startswith(b"#!"):
        return script, Flags()
    line, end, _ = script.partition(b"\n")
    if not end or b"\0" in line:
        fail("ERR Invalid script shebang")
    first, *options = line.split()
    flags = [flag for option in options for flag in _flags(option)]
    if first.lower() != b"#!lua":
        fail(f"ERR Could not find scripting engine '{text(first[2:])}'")
    return script[len(line) :], Flags.of(flags)


def _flags(option: bytes) -> list[bytes]:
    if not option.startswith(_OPTION):
        fail(f"ERR Unknown lua shebang option: {text(option)}")
    given = option[len(_OPTION) :]
    flags = given.split(b",") if given else []
    for flag in flags:
        if flag not in FLAGS:
            fail(f"ERR Unexpected flag in script shebang: {text(flag)}")
    return flags
