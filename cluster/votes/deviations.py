"""Sources of differing votes and of errors: by command, by the zone that replied otherwise, and by kind of reply."""

from dataclasses import dataclass, field
from typing import Any

from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Command, Reply, ServerError

ROWS_MAX = 500
"""Rows of one coordinator; all further ones are counted under ``OTHERS``."""

OTHERS = "others"

_KINDS = {
    (b"$-1\r\n", b"*-1\r\n", b"_\r\n"): "nil",
    (b"*0\r\n", b"~0\r\n", b"%0\r\n"): "empty",
}
_NAMED = {reply: kind for replies, kind in _KINDS.items() for reply in replies}
_BY_TYPE = {b"$": "string", b"+": "status", b":": "number", b",": "number", b"*": "list", b"~": "list", b"%": "map"}


@dataclass
class Deviations:
    """``rows``: how often a zone's reply to a command was of a kind, by (command, zone, kind).

    Errors count, and good replies that are not the answer which the client got.
    """

    rows: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def count(self, vote: Vote, command: Command, zones: tuple[str, ...]) -> None:
        """Count what deviates in ``vote``, which is complete. ``zones``: the names, by position."""
        for position, reply in vote.deviating:
            row = (_name_of(command), zones[position], kind_of(reply))
            if row not in self.rows and len(self.rows) >= ROWS_MAX:
                row = (OTHERS, zones[position], OTHERS)
            self.rows[row] = self.rows.get(row, 0) + 1

    def as_list(self) -> list[dict[str, Any]]:
        """The rows, the most frequent first."""
        ordered = sorted(self.rows.items(), key=lambda item: (-item[1], item[0]))
        return [{"command": row[0], "zone": row[1], "reply": row[2], "times": times} for row, times in ordered]


def kind_of(reply: Reply) -> str:
    """The code of a server's error, the text of an error that stands for a missing reply, or the type of a value."""
    if isinstance(reply, ZoneFailure):
        return str(reply)
    if isinstance(reply, ServerError):
        return f"error {str(reply).partition(' ')[0]}"
    if isinstance(reply, bytes):
        return _NAMED.get(reply) or _BY_TYPE.get(reply[:1], "value")
    return {type(None): "nil", int: "number", list: "list"}.get(type(reply), "value")


def _name_of(command: Command) -> str:
    name = command[0]
    text = name.decode("ascii", "backslashreplace") if isinstance(name, bytes) else str(name)
    return text.upper()[:40]
