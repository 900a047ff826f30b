"""The commands that Dynomite's parser takes, and with how many words after the name.

Read in ``redis_arg0`` to ``redis_argeval`` of ``src/proto/dyn_redis.c`` (https://github.com/Netflix/dynomite at
9eb2351). Of these, the forms that ``docs/strict.md`` calls measured were tried on the running program at 2046b05 on
2026-11-22. It has names of more, such as UNLINK, HSTRLEN and BITPOS, in no such group, and closes the connection of
whoever sends them.
"""

from collections.abc import Mapping

from zonelab.cluster.commands.routes import upper
from zonelab.engine.ports import Command

_ANY_NUMBER = 2**32


def _counts(least: int, most: int, names: str) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(names.split(), (least, most))


_WORDS: Mapping[str, tuple[int, int]] = {
    **_counts(0, 0, "PING QUIT"),
    **_counts(0, 1, "INFO"),
    **_counts(
        1,
        1,
        """
        DECR DUMP GET HGETALL HKEYS HLEN HVALS INCR KEYS LLEN LPOP PERSIST PFCOUNT PTTL RPOP SCARD SMEMBERS SRANDMEMBER
        STRLEN TTL TYPE ZCARD
        """,
    ),
    **_counts(
        2,
        2,
        """
        APPEND CONFIG|GET DECRBY EXPIRE EXPIREAT GETBIT GETSET HEXISTS HGET INCRBY INCRBYFLOAT LINDEX LPUSHX PEXPIRE
        PEXPIREAT RPOPLPUSH RPUSHX SETNX SISMEMBER SLAVEOF ZRANK ZREVRANK ZSCORE
        """,
    ),
    **_counts(
        3,
        3,
        """
        GETRANGE HINCRBY HINCRBYFLOAT HSET HSETNX LRANGE LREM LSET LTRIM PSETEX RESTORE SETBIT SETEX SETRANGE SMOVE
        ZCOUNT ZINCRBY ZLEXCOUNT ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE
        """,
    ),
    **_counts(4, 4, "LINSERT"),
    **_counts(
        1,
        _ANY_NUMBER,
        """
        BITCOUNT DEL EXISTS GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER HDEL HMGET HMSET HSCAN
        JSON.ARRAPPEND JSON.ARRINSERT JSON.ARRLEN JSON.DEL JSON.GET JSON.MGET JSON.OBJKEYS JSON.OBJLEN JSON.SET
        JSON.TYPE LPUSH MGET PFADD RPUSH SADD SCAN SDIFF SDIFFSTORE SET SINTER SINTERSTORE SORT SPOP SREM SSCAN SUNION
        SUNIONSTORE ZADD ZINTERSTORE ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREM ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE
        ZSCAN ZUNIONSTORE
        """,
    ),
    **_counts(2, _ANY_NUMBER, "EVAL EVALSHA MSET"),
    **_counts(1, 1, "DYNO_CONFIG:CONN_CONSISTENCY"),
    **_counts(1, 1, "SCRIPT|FLUSH SCRIPT|KILL"),
    **_counts(2, 2, "SCRIPT|EXISTS SCRIPT|LOAD"),
}


_CONTAINERS = frozenset(name.partition("|")[0] for name in _WORDS if "|" in name)


def is_known(command: Command) -> bool:
    return _named(command) in _WORDS


def has_right_length(command: Command) -> bool:
    """``command`` is known and has a number of words that Dynomite takes."""
    least, most = _WORDS[_named(command)]
    return least <= len(command) - 1 <= most and not (upper(command[0]) == "MSET" and len(command) % 2 == 0)


def _named(command: Command) -> str:
    name = upper(command[0])
    return f"{name}|{upper(command[1])}" if name in _CONTAINERS and len(command) > 1 else name
