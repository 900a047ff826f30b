"""Routing of commands: the classes of Netflix Dynomite's parser (``proto/dyn_redis.c`` at 2046b05).

A command that is not listed is a write. That is the safe side: it goes to every zone. Dynomite sends the storing
forms SUNIONSTORE, ZUNIONSTORE, ZINTERSTORE, SORT … STORE and GEORADIUS … STORE as reads, which loses them in the other
zones at DC_ONE, and in other data centres at every level; here they are writes.
"""

from enum import Enum, auto

from zonelab.engine.ports import Argument, Command


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


READS = _names(
    """
    BITCOUNT DUMP EXISTS GEODIST GEOHASH GEOPOS GET GETBIT GETRANGE HEXISTS HGET HLEN HMGET LINDEX LLEN LRANGE MGET
    PTTL SCARD SDIFF SINTER SISMEMBER SMEMBERS SRANDMEMBER STRLEN SUNION TYPE ZCARD ZCOUNT ZLEXCOUNT ZRANGE
    ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCORE
    """
)
"""Follow the read level. TTL, PFCOUNT and EVAL are writes for Dynomite even where they only read."""

LOCAL_READS = _names(
    """
    CONFIG DBSIZE HGETALL HKEYS HSCAN HVALS INFO KEYS PING SCAN SSCAN TIME ZSCAN
    """
)
"""Answered by the coordinator's own zone whatever the level: never a quorum read."""

BROADCASTS = frozenset({"FUNCTION", "PUBLISH", "SCRIPT", "SPUBLISH"})
"""Go to every zone and are answered by the coordinator's own, whatever the level."""

MAY_STORE = frozenset({"GEORADIUS", "GEORADIUSBYMEMBER", "SORT"})
"""Reads, unless they say where to store what they find."""

_STORING = frozenset({"STORE", "STOREDIST"})

SCRIPTS = frozenset({"EVAL", "EVALSHA", "FCALL"})
"""Script commands: what they have written before an error stays."""


class CommandRoute(Enum):
    """A command's route: where it goes and who answers it."""

    READ = auto()  # own zone at DC_ONE, every zone at the quorum levels
    LOCAL_READ = auto()  # own zone
    BROADCAST = auto()  # every zone, own zone answers
    WRITE = auto()  # every zone


READING = (CommandRoute.READ, CommandRoute.LOCAL_READ)

_CLASSES = ((READS, CommandRoute.READ), (LOCAL_READS, CommandRoute.LOCAL_READ), (BROADCASTS, CommandRoute.BROADCAST))
_ROUTES = {name: kind for names, kind in _CLASSES for name in sorted(names)}


def route(command: Command) -> CommandRoute:
    """The route of ``command``; its name may be text or bytes, in any case."""
    name = command[0]
    if name in _ROUTES:
        return _ROUTES[name]
    known = upper(name)
    if known in MAY_STORE:
        return CommandRoute.READ if _STORING.isdisjoint(map(upper, command[2:])) else CommandRoute.WRITE
    return _ROUTES.get(known, CommandRoute.WRITE)


def is_script(command: Command) -> bool:
    return upper(command[0]) in SCRIPTS


def upper(name: Argument) -> str:
    """A command's name as it is listed here."""
    text = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
    return text.upper()


def is_write(command: Command) -> bool:
    """The command may change something. Of any other it can safely be said that it was not applied."""
    return route(command) not in READING
