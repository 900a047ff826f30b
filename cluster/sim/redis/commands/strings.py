"""Commands on strings."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from zonelab.cluster.sim.redis.commands.expiry import EXPIRY_OPTIONS, deadline_ms
from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, INTEGER_MIN, format_long_double, integer, long_double
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import NOT_A_FLOAT, OK, SYNTAX, fail, wrong_arity
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

_LENGTH_MAX = 512 * 1024 * 1024
_TOO_LONG = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
_BAD_COUNT = "ERR invalid numkeys value or out of range"
_PAIRS_MAX = (1 << 31) - 1
_NOT_FINITE = "ERR increment would produce NaN or Infinity"


@command("get", 2)
def get(store: Database, args: Args) -> Reply:
    return store.get(args[0], bytes)


@dataclass
class _SetOptions:
    flags: set[bytes] = field(default_factory=set)
    time: tuple[bytes, bytes] | None = None
    """Option and value."""
    expected: bytes | None = None
    """The value that a key must have: SET … IFEQ."""


_CONFLICTS = {b"NX": b"XX", b"XX": b"NX"}
_CONDITIONS = frozenset((b"NX", b"XX"))


def _set_options(words: Args, flags: frozenset[bytes]) -> _SetOptions:
    """Options of SET, GETEX and MSETEX; of those that set, keep or remove a time there may be one."""
    options = _SetOptions()
    rest = iter(words)
    for word in rest:
        option = word.upper()
        timed = options.time is not None or options.flags & {b"KEEPTTL", b"PERSIST"}
        if option in EXPIRY_OPTIONS and not timed and (value := next(rest, None)) is not None:
            options.time = (option, value)
        elif option == b"IFEQ" and option in flags and not options.flags & _CONDITIONS and options.expected is None:
            options.expected = next(rest, None)
            if options.expected is None:
                fail(SYNTAX)
        elif option in _CONDITIONS and options.expected is not None:
            fail(SYNTAX)
        elif option in flags - {b"IFEQ"} and _CONFLICTS.get(option) not in options.flags:
            if option in (b"KEEPTTL", b"PERSIST") and options.time is not None:
                fail(SYNTAX)
            options.flags.add(option)
        else:
            fail(SYNTAX)
    return options


def _until_ms(store: Database, options: _SetOptions, name: str) -> int | None:
    if options.time is None:
        return None
    option, text = options.time
    unit_ms, relative = EXPIRY_OPTIONS[option]
    return deadline_ms(store, text, unit_ms=unit_ms, relative=relative, name=name, positive=True)


_SET_FLAGS = frozenset((b"NX", b"XX", b"GET", b"KEEPTTL", b"IFEQ"))


@command("set", -3)
def set_(store: Database, args: Args) -> Reply:
    key, value = args[0], args[1]
    if len(args) == 2:
        store.put(key, value)
        store.changes += 1
        if store.events is not None:
            store.announce("set", key)
        return OK
    options = _set_options(args[2:], _SET_FLAGS)
    until_ms = _until_ms(store, options, "set")
    typed = b"GET" in options.flags or options.expected is not None
    old = store.get(key, bytes) if typed else store.find(key)
    reply = old if b"GET" in options.flags else OK
    missed = options.expected is not None and old != options.expected
    if missed or (b"NX" in options.flags and old is not None) or (b"XX" in options.flags and old is None):
        return old if b"GET" in options.flags else None  # type: ignore[return-value]
    if until_ms is not None and until_ms <= store.now_ms:
        store.end(key)
        store.changes += 1
        return reply  # type: ignore[return-value]
    store.put(key, value, keep_expiry=b"KEEPTTL" in options.flags)
    store.changed(key, "set")
    if until_ms is not None:
        store.expire_at(key, until_ms)
    return reply  # type: ignore[return-value]


@command("setnx", 3)
def setnx(store: Database, args: Args) -> Reply:
    if store.find(args[0]) is not None:
        return 0
    store.put(args[0], args[1])
    store.changed(args[0], "set")
    return 1


def _set_with_time(name: str, unit_ms: int) -> Callable[[Database, Args], Reply]:
    def handler(store: Database, args: Args) -> Reply:
        until_ms = deadline_ms(store, args[1], unit_ms=unit_ms, relative=True, name=name, positive=True)
        store.put(args[0], args[2])
        store.changed(args[0], "set")
        store.expire_at(args[0], until_ms)
        return OK

    return handler


command("setex", 4)(_set_with_time("setex", 1000))
command("psetex", 4)(_set_with_time("psetex", 1))


@command("getset", 3)
def getset(store: Database, args: Args) -> Reply:
    old = store.get(args[0], bytes)
    store.put(args[0], args[1])
    store.changed(args[0], "set")
    return old


@command("getdel", 2)
def getdel(store: Database, args: Args) -> Reply:
    old = store.get(args[0], bytes)
    if old is not None:
        store.delete(args[0])
    return old


@command("delifeq", 3)
def delifeq(store: Database, args: Args) -> Reply:
    if store.get(args[0], bytes) != args[1]:
        return 0
    return int(store.delete(args[0]))


@command("getex", -2)
def getex(store: Database, args: Args) -> Reply:
    options = _set_options(args[1:], frozenset((b"PERSIST",)))
    until_ms = _until_ms(store, options, "getex")
    value = store.get(args[0], bytes)
    if value is None:
        return None
    if until_ms is not None:
        store.expire_at(args[0], until_ms)
        store.changes += 1
    elif b"PERSIST" in options.flags:
        store.changed(args[0], "persist", by=store.persist(args[0]))
    return value


@command("strlen", 2)
def strlen(store: Database, args: Args) -> Reply:
    return len(store.get(args[0], bytes) or b"")


@command("append", 3)
def append(store: Database, args: Args) -> Reply:
    value = (store.get(args[0], bytes) or b"") + args[1]
    store.put(args[0], value, keep_expiry=True)
    store.changed(args[0], "append")
    return len(value)


@command("getrange", 4)
@command("substr", 4)
def getrange(store: Database, args: Args) -> Reply:
    start, end = integer(args[1]), integer(args[2])
    value = store.get(args[0], bytes) or b""
    if start < 0 and end < 0 and start > end:
        return b""
    start = max(0, start + len(value) if start < 0 else start)
    end = max(0, end + len(value) if end < 0 else end)
    return value[start : end + 1]


@command("setrange", 4)
def setrange(store: Database, args: Args) -> Reply:
    offset = integer(args[1])
    if offset < 0:
        fail("ERR offset is out of range")
    value = store.get(args[0], bytes)
    if not args[2]:
        return len(value or b"")
    if offset + len(args[2]) > _LENGTH_MAX:
        fail(_TOO_LONG)
    padded = (value or b"").ljust(offset, b"\0")
    store.put(args[0], padded[:offset] + args[2] + padded[offset + len(args[2]) :], keep_expiry=True)
    store.changed(args[0], "setrange")
    return max(len(padded), offset + len(args[2]))


def _increment(store: Database, key: bytes, by: int) -> int:
    old = store.get(key, bytes)
    value = integer(b"0" if old is None else old) + by
    if not INTEGER_MIN <= value <= INTEGER_MAX:
        fail("ERR increment or decrement would overflow")
    store.put(key, b"%d" % value, keep_expiry=True)
    store.changes += 1
    if store.events is not None:
        store.announce("incrby", key)
    return value


@command("incr", 2)
def incr(store: Database, args: Args) -> Reply:
    return _increment(store, args[0], 1)


@command("decr", 2)
def decr(store: Database, args: Args) -> Reply:
    return _increment(store, args[0], -1)


@command("incrby", 3)
def incrby(store: Database, args: Args) -> Reply:
    return _increment(store, args[0], integer(args[1]))


@command("decrby", 3)
def decrby(store: Database, args: Args) -> Reply:
    by = integer(args[1])
    if by == INTEGER_MIN:
        fail("ERR decrement would overflow")
    return _increment(store, args[0], -by)


@command("incrbyfloat", 3)
def incrbyfloat(store: Database, args: Args) -> Reply:
    value = store.get(args[0], bytes)
    total = long_double(b"0" if value is None else value, NOT_A_FLOAT) + long_double(args[1], NOT_A_FLOAT)
    if not np.isfinite(total):
        fail(_NOT_FINITE)
    text = format_long_double(total)
    store.put(args[0], text, keep_expiry=True)
    store.changed(args[0], "incrbyfloat")
    return text


@command("mget", -2)
def mget(store: Database, args: Args) -> Reply:
    values = [store.find(key) for key in args]
    return [value if isinstance(value, bytes) else None for value in values]


@command("mset", -3)
def mset(store: Database, args: Args) -> Reply:
    if len(args) % 2:
        wrong_arity("mset")
    for key, value in zip(args[::2], args[1::2], strict=True):
        store.put(key, value)
        store.changed(key, "set")
    return OK


@command("msetnx", -3)
def msetnx(store: Database, args: Args) -> Reply:
    if len(args) % 2:
        wrong_arity("msetnx")
    if any(store.find(key) is not None for key in args[::2]):
        return 0
    mset(store, args)
    return 1


@command("msetex", -4)
def msetex(store: Database, args: Args) -> Reply:
    """MSETEX: number of pairs, pairs, options."""
    count = integer(args[0], _BAD_COUNT)
    if not 0 < count <= _PAIRS_MAX:
        fail(_BAD_COUNT)
    pairs, words = args[1 : 1 + 2 * count], args[1 + 2 * count :]
    if len(pairs) < 2 * count:
        fail(SYNTAX)
    options = _set_options(words, frozenset((b"NX", b"XX", b"KEEPTTL")))
    until_ms = _until_ms(store, options, "msetex")
    there = [store.find(key) is not None for key in pairs[::2]]
    if (b"NX" in options.flags and any(there)) or (b"XX" in options.flags and not all(there)):
        return 0
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        store.put(key, value, keep_expiry=b"KEEPTTL" in options.flags)
        store.changed(key, "set")
        if until_ms is not None:
            store.end_at(key, until_ms)
            store.announce("expire", key)
    return 1
