"""Positions of the keys of a command, which decide the node it goes to, and which commands are taken apart by key.

Redis' own rule is in its ``COMMAND`` table; this is the part of it that routing needs. A command that is not named
here has one key, its first argument, or goes by it, as in Dynomite (``redis_parse_req``, ``redis_fragment`` in
``proto/dyn_redis.c`` at 2046b05).
"""

from collections.abc import Callable, Sequence

from zonelab.cluster.commands.list_replies import parts_of, reply_of
from zonelab.cluster.commands.routes import LOCAL_READS, upper
from zonelab.engine.ports import Argument, Command, Reply

_LOCAL_WITH_KEY = frozenset({"HGETALL", "HKEYS", "HSCAN", "HVALS", "SSCAN", "ZSCAN"})
_OTHERS_WITHOUT = {"COMMAND", "ECHO", "FLUSHALL", "FLUSHDB", "FUNCTION", "LASTSAVE", "LATENCY", "LOLWUT", "PUBLISH"} | {
    "PUBSUB",
    "RANDOMKEY",
    "ROLE",
    "SCRIPT",
}
KEYLESS = (LOCAL_READS - _LOCAL_WITH_KEY) | _OTHERS_WITHOUT
"""Reads among them are answered by the node that is asked; the others go to every node of every data centre."""

SCRIPTS_WITH_KEYS = frozenset({"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"})
"""Refused if their keys have different owners."""
_KEY_SECOND = frozenset({"BITOP", "MEMORY", "OBJECT", "XGROUP", "XINFO"})

Merge = Callable[[Sequence[Reply], Sequence[Sequence[int]]], Reply]
"""Makes one reply of those of the parts, given the positions of each part's keys."""


def key_bytes(argument: Argument) -> bytes:
    return argument if isinstance(argument, bytes) else str(argument).encode()


def keys_of(command: Command) -> list[bytes]:
    """The keys by which ``command`` is routed, the first one first; none if it has none."""
    name = upper(command[0])
    if name in KEYLESS or len(command) < 2:
        return []
    if name in SCRIPTS_WITH_KEYS:
        count = int(command[2]) if len(command) > 2 and str(_text(command[2])).isdigit() else 0
        return [key_bytes(key) for key in command[3 : 3 + count]]
    if name in _JOINED:
        return [key_bytes(key) for key in command[1 :: _JOINED[name][0]]]
    if name in _KEY_SECOND:
        return [key_bytes(command[2])] if len(command) > 2 else []
    if name in ("XREAD", "XREADGROUP"):
        words = [upper(word) for word in command]
        return [key_bytes(command[words.index("STREAMS") + 1])] if "STREAMS" in words[:-1] else []
    return [key_bytes(command[1])]


def must_share_a_node(command: Command) -> bool:
    """Dynomite refuses scripts whose keys are on different nodes, and looks at no other command's."""
    return upper(command[0]) in SCRIPTS_WITH_KEYS


def joiner(command: Command) -> Merge | None:
    """Return the function that joins the replies to the parts of ``command``; None if it is never split by key."""
    found = _JOINED.get(upper(command[0]))
    return None if found is None else found[1]


def part(command: Command, positions: Sequence[int]) -> Command:
    """The same command for the keys at ``positions`` only."""
    step = _JOINED[upper(command[0])][0]
    words: list[Argument] = [command[0]]
    for position in positions:
        begin = 1 + position * step
        words += command[begin : begin + step]
    return tuple(words)


def _text(argument: Argument) -> str:
    return argument.decode("ascii", "replace") if isinstance(argument, bytes) else str(argument)


def rearranged(replies: Sequence[Reply], positions: Sequence[Sequence[int]]) -> Reply:
    joined: list[Reply] = [None] * sum(map(len, positions))
    for reply, its_positions in zip(replies, positions, strict=True):
        for position, element in zip(its_positions, parts_of(reply), strict=True):
            joined[position] = element
    return reply_of(joined, like=replies[0])


def _summed(replies: Sequence[Reply], positions: Sequence[Sequence[int]]) -> Reply:
    return sum(reply for reply in replies if isinstance(reply, int))


def _first(replies: Sequence[Reply], positions: Sequence[Sequence[int]]) -> Reply:
    return replies[0]


_JOINED: dict[str, tuple[int, Merge]] = {
    "MGET": (1, rearranged),
    "MSET": (2, _first),
    "DEL": (1, _summed),
    "EXISTS": (1, _summed),
    "UNLINK": (1, _summed),
    "TOUCH": (1, _summed),
}
"""Arguments a key, and how replies are joined. UNLINK and TOUCH are ours: Dynomite does not know them."""
