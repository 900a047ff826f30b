"""What strict mode refuses, by example: each form of the table in a port's and a scenario's terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zonelab.cluster.options.strict import forms
from zonelab.cluster.options.strict.forms import REPLIES, REQUESTS, VOTES, Form
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import Command

(UNKNOWN_LEVEL, UNKNOWN, LENGTH, NO_KEYS, FEW_KEYS, EMPTY_KEY, LONG_KEY, LARGE_WRITE, ONE_ZONE, *_REST) = REQUESTS
(MANY_ZONES, EACH, STORED, STORED_NEAR) = _REST
(BY_ELEMENT, NO_MAJORITY, FAILED_READ, ERROR_ELSEWHERE) = VOTES
(NESTED, LARGE_READ) = REPLIES

LARGE = "x" * (16 * 1024 + 1)
LONG = "k" * forms.BUFFER_BYTES
THREE = ("a", "b", "c")


@dataclass(frozen=True)
class Example:
    """``command`` is refused for ``form``.

    ``far``: those of ``zones`` that are in another data centre. ``planted``: what single zones have been sent before,
    past every coordinator. ``down``: zones whose servers are away. ``at_port``: the simulated servers do not know it.
    ``fails``: it is answered with an error without strict mode, too.
    """

    form: Form
    command: Command
    level: Level = Level.DC_QUORUM
    zones: Sequence[str] = THREE
    far: Sequence[str] = ()
    planted: Mapping[str, Sequence[Command]] = field(default_factory=dict)
    down: Sequence[str] = ()
    at_port: bool = False
    fails: bool = False

    @property
    def data_centres(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Their zones, and the servers of these."""
        near = {zone: [zone] for zone in self.zones if zone not in self.far}
        return {"east": near} | ({"west": {zone: [zone] for zone in self.far}} if self.far else {})

    def __str__(self) -> str:
        words = " ".join(str(word)[:30] for word in self.command[:8])
        return f"{words} ({self.level}, {len(self.zones)}, {len(self.command)})"


def everywhere(*commands: Command) -> Mapping[str, Sequence[Command]]:
    return dict.fromkeys(THREE, commands)


def keyed(sizes: Sequence[int]) -> Sequence[tuple[str, str]]:
    """Returns keys with values of ``sizes`` in bytes; up to three keys have one letter each."""
    keys = "klm"[: len(sizes)] if len(sizes) < 4 else [f"k{number}" for number in range(len(sizes))]
    return [(key, "x" * size) for key, size in zip(keys, sizes, strict=True)]


def mset(sizes: Sequence[int]) -> Command:
    return ("MSET", *(word for pair in keyed(sizes) for word in pair))


def mget(sizes: Sequence[int]) -> Command:
    return ("MGET", *(key for key, _ in keyed(sizes)))


def sets(sizes: Sequence[int]) -> Sequence[Command]:
    return [("SET", *pair) for pair in keyed(sizes)]


_UNKNOWN_AT_PORT = (
    "ECHO word", "CLIENT ID", "SELECT 0", "HELLO 2", "RESET", "COMMAND COUNT", "MULTI", "WATCH k", "SUBSCRIBE channel",
    "PUBLISH channel word", "BLPOP none 0.01", "XADD stream * f 1", "FLUSHALL", "SCRIPT HELP", "NOSUCH x",
    "AUTH x", "CONFIG SET x", "CONFIG NOSUCH x",
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
    Example(LENGTH, ("MSET", "s", "1", "s2"), level=Level.DC_ONE, fails=True),
    Example(LENGTH, ("MSET", "s", "1", "t", "2", "u"), fails=True),
    *(
        Example(UNKNOWN_LEVEL, ("DYNO_CONFIG:CONN_CONSISTENCY", *words), fails=True)
        for words in (["NOSUCH"], ["DC_ON"], [""], [])
    ),
    Example(NO_KEYS, ("EVAL", "return 1", "0")),
    Example(NO_KEYS, ("EVAL", "return 1", "x", "s"), fails=True),
    Example(NO_KEYS, ("EVAL", "return 1", "-1", "s"), fails=True),
    Example(FEW_KEYS, ("EVAL", "return 1", "2", "s"), fails=True),
    Example(FEW_KEYS, ("EVALSHA", "0" * 40, "3", "s", "t"), fails=True),
    Example(NO_KEYS, ("EVALSHA", "0" * 40, "0"), fails=True),
    Example(EMPTY_KEY, ("SET", "", "v")),
    Example(EMPTY_KEY, ("GET", ""), level=Level.DC_ONE),
    Example(EMPTY_KEY, ("DEL", "k", "")),
    Example(EMPTY_KEY, ("EVAL", "return 1", "1", "")),
    Example(EMPTY_KEY, ("KEYS", "")),
    Example(EMPTY_KEY, ("SCAN", ""), fails=True),
    Example(LONG_KEY, ("GET", LONG), level=Level.DC_ONE),
    Example(LONG_KEY, ("SET", LONG, "v")),
    Example(LONG_KEY, ("DEL", "k", LONG)),
    Example(LONG_KEY, ("KEYS", LONG)),
    Example(LONG_KEY, ("EVAL", "return 1", "1", LONG)),
    *(
        Example(LARGE_WRITE, mset(sizes))
        for sizes in ([1, 16_276], [16_283, 1], [1] * 1000, [300] * 52, [16_384, 1], [16_282, 16_312])
    ),
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
    Example(STORED_NEAR, ("SUNIONSTORE", "t", "s"), far=("c",)),
    Example(STORED_NEAR, ("SUNIONSTORE", "t", "s"), level=Level.DC_ONE, zones=("a", "c"), far=("c",)),
    Example(STORED_NEAR, ("SORT", "list", "STORE", "t"), far=("c",), planted=everywhere(_LIST), at_port=True),
    Example(BY_ELEMENT, ("MGET", "k", "l"), planted={zone: [("SET", "k", zone)] for zone in THREE}),
    Example(NO_MAJORITY, ("EXISTS", "k", "l"), planted={"a": [("MSET", "k", "1", "l", "1")], "b": [("SET", "k", "1")]}),
    Example(NO_MAJORITY, ("DEL", "k", "l"), planted={"a": [("MSET", "k", "1", "l", "1")], "b": [("SET", "k", "1")]}),
    Example(ERROR_ELSEWHERE, ("MSET", "k", "1", "l", "2"), down=("b", "c"), fails=True),
    Example(ERROR_ELSEWHERE, ("DEL", "k", "l"), down=("b", "c"), fails=True),
    Example(ERROR_ELSEWHERE, ("EXISTS", "k", "l"), down=("b", "c"), fails=True),
    Example(FAILED_READ, ("MGET", "k", "l"), down=("b", "c"), fails=True),
    Example(FAILED_READ, ("MGET", "k", "l"), down=("a", "b"), fails=True),
    Example(FAILED_READ, ("MGET", "k", "l"), level=Level.DC_ONE, down=("a",), fails=True),
    Example(FAILED_READ, ("MGET", "k", "l"), level=Level.DC_SAFE_QUORUM, down=("a", "b", "c"), fails=True),
    Example(NESTED, ("EVAL", "return {{1, 2}, 3}", "1", "k")),
    Example(NESTED, ("EVAL", "return {1, {{2}, {3}}}", "1", "k")),
    Example(NESTED, ("GEOPOS", "geo", "x", "y"), planted=everywhere(_PLACES), at_port=True),
    *(
        Example(LARGE_READ, mget(sizes), planted=everywhere(*sets(sizes)))
        for sizes in ([1, 16_266], [1000] * 20, [300] * 60, [20] * 1000, [7000] * 3, [16_384] * 2)
    ),
)

TAKEN: Sequence[Command] = (
    ("SET", "k", LARGE, "EX", "100"), ("GET", "k"), ("MGET", "k"), ("DEL", "k"), ("MSET", "k", LARGE), ("DEL", "k"),
    ("GET", LONG[1:]), ("HGET", "h", LONG), ("SADD", "s", LONG), ("SREM", "s", LONG), ("MGET", *[LONG[:100]] * 1000),
    mset([16_282, 1]), mset([16_282, 16_000]), mset([1, 16_275]), mset([300] * 51), mset([1] * 950),
    *(command for sizes in ([16_265, 1], [1000] * 16) for command in (*sets(sizes), mget(sizes))),
    ("EXISTS", "k", "none"), ("DEL", "k", "l"), ("HSET", "h", "f", "1"), ("HMSET", "h", "f", "1", "g", "2"),
    ("HGETALL", "h"), ("HSCAN", "h", "0"), ("SCAN", "0"), ("SADD", "s", "m"), ("SMEMBERS", "s"), ("SPOP", "s", "2"),
    ("SORT", "l", "ALPHA"), ("RPUSH", "l", "1", "2"), ("LPOP", "l"), ("EXPIRE", "l", "100"),
    ("ZADD", "z", "NX", "1", "m"), ("ZRANGE", "z", "0", "-1", "WITHSCORES"), ("SUNIONSTORE", "t", "s"), ("PING",),
    ("HSET", "large", "f", LARGE), ("HGETALL", "large"),
    ("SET", "empty", ""), ("EVAL", "return {1, {2, 3}}", "1", "k"), ("SCRIPT", "LOAD", "return 1"), ("KEYS", "*"),
)  # fmt: skip
"""What Dynomite takes as well, at DC_QUORUM with three zones, one after another."""
