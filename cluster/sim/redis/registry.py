"""The table of commands: name, arity, and the function that carries a command out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

Args = list[bytes]
"""The words of a command after its name."""

Handler = Callable[[Database, Any], Reply]
"""Carries a command out, given its arguments, or what its ``parse`` makes of them."""


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """``arity``: number of words with the name, or if negative the smallest number.

    ``parse`` is all of a command's work that can be done before a server is known: it is done once for all servers.
    """

    name: str
    arity: int
    handler: Handler
    parse: Callable[[Args], Any] | None = None

    def run(self, store: Database, args: Args) -> Reply:
        return self.handler(store, args if self.parse is None else self.parse(args))

    def accepts(self, words: int) -> bool:
        return words == self.arity if self.arity >= 0 else words >= -self.arity


COMMANDS: dict[bytes, CommandSpec] = {}
"""By name, in lower and in upper case."""

_READS = (
    "dbsize echo exists expiretime get getrange hexists hget hgetall hkeys hlen hmget hscan hstrlen hvals "
    "info keys lindex llen lpos lrange mget pexpiretime ping pttl randomkey scan scard sdiff sinter "
    "sismember smembers smismember srandmember sscan strlen substr sunion time touch ttl type zcard "
    "zcount zlexcount zmscore zrange zrangebylex zrangebyscore zrank zrevrange zrevrangebylex "
    "zrevrangebyscore zrevrank zscan zscore"
)
READS = frozenset(_READS.split())
"""Commands that the server does not flag as writes: a script of the flag ``no-writes`` may call them."""

_GROWS = (
    "append bitfield bitop blmove brpoplpush copy decr decrby geoadd georadius georadiusbymember geosearchstore "
    "getset hincrby hincrbyfloat hmset hset hsetex hsetnx incr incrby incrbyfloat linsert lmove lpush lpushx lset "
    "mset msetex msetnx pfadd pfdebug pfmerge psetex restore restore-asking rpoplpush rpush rpushx sadd sdiffstore "
    "set setbit setex setnx setrange sinterstore sort sunionstore xadd xsetid zadd zdiffstore zincrby zinterstore "
    "zrangestore zunionstore"
)
GROWS = frozenset(_GROWS.split())
"""Commands that a server refuses when its memory is full: those that it flags as ``denyoom``."""


def command(name: str, arity: int, *, parse: Callable[[Args], Any] | None = None) -> Callable[[Handler], Handler]:
    """Register the decorated function under ``name``; several names may share one."""

    def register(handler: Handler) -> Handler:
        spec = CommandSpec(name, arity, handler, parse)
        COMMANDS[name.encode()] = spec
        COMMANDS[name.upper().encode()] = spec
        return handler

    return register


def lookup(name: bytes) -> CommandSpec | None:
    return COMMANDS.get(name) or COMMANDS.get(name.lower())
