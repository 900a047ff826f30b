"""What strict mode refuses, by example: each form of the table in a port's and a scenario's terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster.options.strict import forms
from cluster.options.strict.forms import REPLIES, REQUESTS, VOTES, Form
from cluster.votes.levels import Level
from engine.ports import Command

(UNKNOWN, LENGTH, NO_KEYS, EMPTY_KEY, LARGE_WRITE, ONE_ZONE, MANY_ZONES, EACH, STORED) = REQUESTS
(BY_ELEMENT, NO_MAJORITY, ERROR_ELSEWHERE) = VOTES
(NESTED, LARGE_READ) = REPLIES

LARGE = "x" * (forms.VALUE_BYTES_MAX + 1)
FITTING = LARGE[1:]
THREE = ("a", "b", "c")


@dataclass(frozen=True)
class Example:
    """``command`` is refused for ``form``.

    ``far``: those of ``zones`` that are in another data centre. ``planted``: what single zones have been sent before,
    past every coordinator. ``down``: zones whose servers are away. ``at_port``: the simulated servers do not know it.
    """

    form: Form
    command: Command
    level: Level = Level.DC_QUORUM
    zones: Sequence[str] = THREE
    far: Sequence[str] = ()
    planted: Mapping[str, Sequence[Command]] = field(default_factory=dict)
    down: Sequence[str] = ()
    at_port: bool = False

    @property
    def data_centres(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Their zones, and the servers of these."""
        near = {zone: [zone] for zone in self.zones if zone not in self.far}
        return {"east": near} | ({"west": {zone: [zone] for zone in self.far}} if self.far else {})

    def __str__(self) -> str:
        return " ".join(str(word)[:30] for word in self.command) + f" ({self.level}, {len(self.zones)})"


def everywhere(*commands: Command) -> Mapping[str, Sequence[Command]]:
    return dict.fromkeys(THREE, commands)


_UNKNOWN_AT_PORT = (
    "ECHO word", "CLIENT ID", "SELECT 0", "HELLO 2", "RESET", "COMMAND COUNT", "MULTI", "WATCH k", "SUBSCRIBE channel",
    "PUBLISH channel word", "BLPOP none 0.01", "XADD stream * f 1", "FLUSHALL", "SCRIPT HELP",
)  # fmt: skip
_LIST = ("RPUSH", "list", "3", "1", "2")
_PLACES = ("GEOADD", "geo", 1, 1, "x", 2, 2, "y")

EXAMPLES = (
    Example(UNKNOWN, ("UNLINK", "k")),
    Example(UNKNOWN, ("HSTRLEN", "h", "f")),
    Example(UNKNOWN, ("ZPOPMIN", "z")),
    Example(UNKNOWN, ("GETDEL", "k")),
    Example(UNKNOWN, ("DBSIZE",)),
    *(Example(UNKNOWN, tuple(line.split()), at_port=True) for line in _UNKNOWN_AT_PORT),
    Example(LENGTH, ("HSET", "h", "f", "1", "g", "2")),
    Example(LENGTH, ("LPOP", "list", "2"), planted=everywhere(_LIST)),
    Example(LENGTH, ("RPOP", "list", "2"), planted=everywhere(_LIST)),
    Example(LENGTH, ("EXPIRE", "k", "9", "NX")),
    Example(LENGTH, ("SRANDMEMBER", "s", "2")),
    Example(LENGTH, ("PING", "word")),
    Example(LENGTH, ("SCRIPT", "EXISTS", "0" * 40, "1" * 40)),
    Example(LENGTH, ("CONFIG", "GET", "save", "appendonly"), at_port=True),
    Example(NO_KEYS, ("EVAL", "return 1", "0")),
    Example(NO_KEYS, ("EVALSHA", "0" * 40, "0")),
    Example(EMPTY_KEY, ("SET", "", "v")),
    Example(EMPTY_KEY, ("GET", ""), level=Level.DC_ONE),
    Example(EMPTY_KEY, ("DEL", "k", "")),
    Example(EMPTY_KEY, ("EVAL", "return 1", "1", "")),
    Example(LARGE_WRITE, ("MSET", "k", "v", "l", LARGE)),
    Example(ONE_ZONE, ("SET", "k", "v"), zones=("a",)),
    Example(ONE_ZONE, ("GET", "k"), level=Level.DC_SAFE_QUORUM, zones=("a",)),
    Example(MANY_ZONES, ("SET", "k", "v"), zones=("a", "b", "c", "d")),
    Example(EACH, ("INCR", "k"), level=Level.DC_EACH_SAFE_QUORUM, far=("c",)),
    Example(EACH, ("GET", "k"), level=Level.DC_EACH_SAFE_QUORUM, far=("c",)),
    Example(STORED, ("SUNIONSTORE", "t", "s"), level=Level.DC_ONE),
    Example(STORED, ("ZUNIONSTORE", "t", "1", "z"), level=Level.DC_ONE, at_port=True),
    Example(STORED, ("ZINTERSTORE", "t", "1", "z"), level=Level.DC_ONE, at_port=True),
    Example(STORED, ("SORT", "list", "STORE", "t"), level=Level.DC_ONE, planted=everywhere(_LIST), at_port=True),
    *(
        Example(STORED, tuple(line.split()), level=Level.DC_ONE, planted=everywhere(_PLACES), at_port=True)
        for line in ("GEORADIUS geo 1 1 9 km STORE t", "GEORADIUSBYMEMBER geo x 9 km STOREDIST t")
    ),
    Example(BY_ELEMENT, ("MGET", "k", "l"), planted={zone: [("SET", "k", zone)] for zone in THREE}),
    Example(NO_MAJORITY, ("EXISTS", "k", "l"), planted={"a": [("MSET", "k", "1", "l", "1")], "b": [("SET", "k", "1")]}),
    Example(NO_MAJORITY, ("DEL", "k", "l"), planted={"a": [("MSET", "k", "1", "l", "1")], "b": [("SET", "k", "1")]}),
    Example(ERROR_ELSEWHERE, ("MSET", "k", "1", "l", "2"), down=("b", "c")),
    Example(ERROR_ELSEWHERE, ("MGET", "k", "l"), down=("b", "c")),
    Example(NESTED, ("EVAL", "return {{1, 2}, 3}", "1", "k")),
    Example(NESTED, ("EVAL", "return {1, {{2}, {3}}}", "1", "k")),
    Example(NESTED, ("GEOPOS", "geo", "x", "y"), planted=everywhere(_PLACES), at_port=True),
    Example(LARGE_READ, ("MGET", "k", "l"), planted=everywhere(("SET", "l", LARGE))),
)

TAKEN: Sequence[Command] = (
    ("SET", "k", LARGE, "EX", "100"), ("GET", "k"), ("DEL", "k"), ("MSET", "k", FITTING, "l", "1"), ("MGET", "k", "l"),
    ("EXISTS", "k", "none"), ("DEL", "k", "l"), ("HSET", "h", "f", "1"), ("HMSET", "h", "f", "1", "g", "2"),
    ("HGETALL", "h"), ("HSCAN", "h", "0"), ("SCAN", "0"), ("SADD", "s", "m"), ("SMEMBERS", "s"), ("SPOP", "s", "2"),
    ("SORT", "l", "ALPHA"), ("RPUSH", "l", "1", "2"), ("LPOP", "l"), ("EXPIRE", "l", "100"),
    ("ZADD", "z", "NX", "1", "m"), ("ZRANGE", "z", "0", "-1", "WITHSCORES"), ("SUNIONSTORE", "t", "s"), ("PING",),
    ("HSET", "large", "f", LARGE), ("HGETALL", "large"),
    ("SET", "empty", ""), ("EVAL", "return {1, {2, 3}}", "1", "k"), ("SCRIPT", "LOAD", "return 1"), ("KEYS", "*"),
)  # fmt: skip
"""What Dynomite takes as well, at DC_QUORUM with three zones, one after another."""
