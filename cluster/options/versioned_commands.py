"""Which commands can carry a version, for read repair and for votes by version alike."""

from typing import NamedTuple

from zonelab.cluster.commands.routes import upper
from zonelab.engine.ports import Command

READS = {"GET": ("k", 2), "HGET": ("h", 3), "SISMEMBER": ("s", 3), "ZSCORE": ("z", 3)}
"""The type of what is read (key, hash, set, sorted set), and the words of the command."""


class MemberWrite(NamedTuple):
    """A command that writes members of a collection: the rest of it is items of so many words each.

    ``letter``: the type, as in ``READS``. ``member_at``: where in an item the member is. ``removes``: "1" if it does.
    """

    letter: str
    item_words: int
    member_at: int
    removes: str


MEMBER_WRITES = {
    "HSET": MemberWrite("h", 2, 0, "0"),
    "HMSET": MemberWrite("h", 2, 0, "0"),
    "SADD": MemberWrite("s", 1, 0, "0"),
    "ZADD": MemberWrite("z", 2, 1, "0"),
    "HDEL": MemberWrite("h", 1, 0, "1"),
    "SREM": MemberWrite("s", 1, 0, "1"),
    "ZREM": MemberWrite("z", 1, 0, "1"),
}

_ZADD_OPTIONS = frozenset({"NX", "XX", "GT", "LT", "CH", "INCR"})


def member_write(command: Command) -> MemberWrite | None:
    """Return what ``command`` writes; None if it writes no members, or must be sent as it is: a ZADD with
    options, say.
    """
    name, size = upper(command[0]), len(command)
    found = MEMBER_WRITES.get(name)
    if found is None or size <= 2 or (size - 2) % found.item_words:
        return None
    return None if name == "ZADD" and upper(command[2]) in _ZADD_OPTIONS else found
