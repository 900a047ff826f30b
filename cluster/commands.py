"""How commands are routed: the classes of Netflix Dynomite's parser (``proto/dyn_redis.c`` at 2046b05).

A command that is not listed is a write. That is the safe side: it goes to every zone. Dynomite sends the storing
forms SUNIONSTORE, ZUNIONSTORE, ZINTERSTORE and SORT … STORE as reads, which loses them on the other zones at
DC_ONE; here they are writes.
"""

from engine.ports import Command


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

BROADCASTS = frozenset({"SCRIPT"})
"""Go to every zone and are answered by the coordinator's own, whatever the level."""


def name(command: Command) -> str:
    first = command[0]
    return first.upper() if isinstance(first, str) else str(first, "ascii").upper() if isinstance(first, bytes) else ""


def is_read(command: Command) -> bool:
    """The command changes nothing, so it can safely be said of it that it was not applied."""
    return name(command) in READS or name(command) in LOCAL_READS
