"""Commands on hashes."""

import numpy as np

from zonelab.cluster.sim.redis.commands.several_keys import chosen_at_random, random_choice
from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, INTEGER_MIN, format_long_double, integer, long_double
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import NOT_A_FLOAT, OK, fail, wrong_arity
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import HashValue
from zonelab.engine.ports import Reply

_NOTHING = HashValue()


def _read(store: Database, key: bytes) -> HashValue:
    return store.get(key, HashValue) or _NOTHING


def _fill(store: Database, args: Args, name: str) -> int:
    """Set field-value pairs. Returns the number of new fields."""
    if len(args) % 2 == 0:
        wrong_arity(name)
    fields = store.get_or_create(args[0], HashValue)
    before = len(fields)
    for index in range(1, len(args), 2):
        fields[args[index]] = args[index + 1]
    store.changes += len(args) // 2
    if store.events is not None:
        store.announce("hset", args[0])
    return len(fields) - before


@command("hset", -4)
def hset(store: Database, args: Args) -> Reply:
    return _fill(store, args, "hset")


@command("hmset", -4)
def hmset(store: Database, args: Args) -> Reply:
    _fill(store, args, "hmset")
    return OK


@command("hsetnx", 4)
def hsetnx(store: Database, args: Args) -> Reply:
    fields = store.get_or_create(args[0], HashValue)
    if args[1] in fields:
        return 0
    fields[args[1]] = args[2]
    store.changed(args[0], "hset")
    return 1


@command("hget", 3)
def hget(store: Database, args: Args) -> Reply:
    return _read(store, args[0]).get(args[1])


@command("hmget", -3)
def hmget(store: Database, args: Args) -> Reply:
    fields = _read(store, args[0])
    return [fields.get(name) for name in args[1:]]


@command("hgetall", 2)
def hgetall(store: Database, args: Args) -> Reply:
    return [part for pair in _read(store, args[0]).items() for part in pair]


@command("hkeys", 2)
def hkeys(store: Database, args: Args) -> Reply:
    return list(_read(store, args[0]))


@command("hvals", 2)
def hvals(store: Database, args: Args) -> Reply:
    return list(_read(store, args[0]).values())


@command("hlen", 2)
def hlen(store: Database, args: Args) -> Reply:
    return len(_read(store, args[0]))


@command("hexists", 3)
def hexists(store: Database, args: Args) -> Reply:
    return int(args[1] in _read(store, args[0]))


@command("hstrlen", 3)
def hstrlen(store: Database, args: Args) -> Reply:
    return len(_read(store, args[0]).get(args[1], b""))


@command("hdel", -3)
def hdel(store: Database, args: Args) -> Reply:
    fields = store.get(args[0], HashValue)
    if fields is None:
        return 0
    removed = 0
    for name in args[1:]:
        removed += fields.pop(name, None) is not None
    if removed:
        store.changes += removed
        if store.events is not None:
            store.announce("hdel", args[0])
        store.drop_if_empty(args[0])
    return removed


@command("hincrby", 4)
def hincrby(store: Database, args: Args) -> Reply:
    by = integer(args[2])
    value = integer(_read(store, args[0]).get(args[1], b"0"), "ERR hash value is not an integer") + by
    if not INTEGER_MIN <= value <= INTEGER_MAX:
        fail("ERR increment or decrement would overflow")
    store.get_or_create(args[0], HashValue).amend(args[1], b"%d" % value)
    store.changed(args[0], "hincrby")
    return value


@command("hincrbyfloat", 4)
def hincrbyfloat(store: Database, args: Args) -> Reply:
    by = long_double(args[2], NOT_A_FLOAT)
    if not np.isfinite(by):
        fail("ERR value is NaN or Infinity")
    value = long_double(_read(store, args[0]).get(args[1], b"0"), "ERR hash value is not a float") + by
    if not np.isfinite(value):
        fail("ERR increment would produce NaN or Infinity")
    text = format_long_double(value)
    store.get_or_create(args[0], HashValue).amend(args[1], text)
    store.changed(args[0], "hincrbyfloat")
    return text


@command("hrandfield", -2)
def hrandfield(store: Database, args: Args) -> Reply:
    count, with_values = random_choice(args, b"WITHVALUES")
    fields = _read(store, args[0])
    if not fields:
        return None if count is None else []
    chosen = chosen_at_random(store.random, list(fields), count)
    if count is None or not with_values:
        return chosen[0] if count is None else chosen
    return [part for name in chosen for part in (name, fields[name])]
