"""Scripts that clients have sent through a port, for servers that come back without them.

A server keeps scripts in memory only. One that was restarted answers ``NOSCRIPT`` where others carry a script out, is
outvoted, and no client sends the script again.
"""

from collections.abc import Sequence

from zonelab.cluster.resp.protocol import wire

SCRIPTS_MAX = 1_000
SCRIPTS_BYTES_MAX = 4 * 1024 * 1024

EVALUATING = frozenset({"EVAL", "EVAL_RO"})
"""Servers keep what they have carried out as well as what they were asked to load."""


class RememberedScripts:
    """The scripts that were used last, up to a number and a size."""

    def __init__(self) -> None:
        self._bodies: dict[bytes, None] = {}
        self._bytes = 0

    def note(self, name: str, arguments: Sequence[bytes]) -> None:
        """Take from a command what servers will know of scripts. ``arguments``: its first words."""
        if name in EVALUATING:
            self._keep(arguments[1])
        elif name == "SCRIPT|LOAD":
            self._keep(arguments[2])
        elif name == "SCRIPT|FLUSH":
            self._bodies.clear()
            self._bytes = 0

    def loading(self) -> tuple[bytes, int]:
        """Commands in wire form that load all of them, those used last at the end, and how many these are."""
        packed = [wire.command(b"SCRIPT", b"LOAD", body) for body in self._bodies]
        return b"".join(packed), len(packed)

    def _keep(self, body: bytes) -> None:
        if body in self._bodies:
            del self._bodies[body]
            self._bytes -= len(body)
        self._bodies[body] = None
        self._bytes += len(body)
        while len(self._bodies) > SCRIPTS_MAX or self._bytes > SCRIPTS_BYTES_MAX:
            oldest = next(iter(self._bodies))
            del self._bodies[oldest]
            self._bytes -= len(oldest)
