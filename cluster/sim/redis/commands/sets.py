"""Commands on sets."""

from collections.abc import Callable

from zonelab.cluster.sim.redis.commands.several_keys import above_zero, chosen_at_random, random_count
from zonelab.cluster.sim.redis.numbers import positive
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import OUT_OF_RANGE, SYNTAX, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import Set
from zonelab.engine.ports import Reply

_NOTHING = Set()

Combine = Callable[[list[Set]], Set]


def _read(store: Database, key: bytes) -> Set:
    return store.get(key, Set) or _NOTHING


@command("sadd", -3)
def sadd(store: Database, args: Args) -> Reply:
    members = store.get_or_create(args[0], Set)
    before = len(members)
    members.update(dict.fromkeys(args[1:]))
    added = len(members) - before
    store.changed(args[0], "sadd", by=added)
    return added


@command("srem", -3)
def srem(store: Database, args: Args) -> Reply:
    members = store.get(args[0], Set)
    if members is None:
        return 0
    doomed = [member for member in dict.fromkeys(args[1:]) if member in members]
    for member in doomed:
        del members[member]
    store.changed(args[0], "srem", by=len(doomed))
    store.drop_if_empty(args[0])
    return len(doomed)


@command("sismember", 3)
def sismember(store: Database, args: Args) -> Reply:
    return int(args[1] in _read(store, args[0]))


@command("smismember", -3)
def smismember(store: Database, args: Args) -> Reply:
    members = _read(store, args[0])
    return [int(member in members) for member in args[1:]]


@command("smembers", 2)
def smembers(store: Database, args: Args) -> Reply:
    return list(_read(store, args[0]))


@command("scard", 2)
def scard(store: Database, args: Args) -> Reply:
    return len(_read(store, args[0]))


@command("smove", 4)
def smove(store: Database, args: Args) -> Reply:
    source, target, member = args
    members = store.get(source, Set)
    if members is None:
        return 0
    receiver = store.get(target, Set)
    if source == target:
        return int(member in members)
    if member not in members:
        return 0
    del members[member]
    store.changed(source, "srem")
    store.drop_if_empty(source)
    receiver = store.get_or_create(target, Set)
    if member not in receiver:
        store.announce("sadd", target)
    receiver[member] = None
    store.changes += 1
    return 1


@command("spop", -2)
def spop(store: Database, args: Args) -> Reply:
    if len(args) > 2:
        fail(SYNTAX)
    count = positive(args[1], OUT_OF_RANGE) if len(args) == 2 else None
    members = store.get(args[0], Set)
    if members is None:
        return None if count is None else []
    chosen = store.random.sample(list(members), min(len(members), 1 if count is None else count))
    for member in chosen:
        del members[member]
    store.changed(args[0], "spop", by=len(chosen))
    store.drop_if_empty(args[0])
    return chosen[0] if count is None else chosen


@command("srandmember", -2)
def srandmember(store: Database, args: Args) -> Reply:
    if len(args) > 2:
        fail(SYNTAX)
    count = random_count(args[1]) if len(args) == 2 else None
    members = list(_read(store, args[0]))
    if not members:
        return None if count is None else []
    chosen = chosen_at_random(store.random, members, count)
    return chosen[0] if count is None else chosen


def _union(sets: list[Set]) -> Set:
    return Set(dict.fromkeys(member for members in sets for member in members))


def _intersection(sets: list[Set]) -> Set:
    first, *others = sets
    return Set(dict.fromkeys(member for member in first if all(member in other for other in others)))


def _difference(sets: list[Set]) -> Set:
    first, *others = sets
    return Set(dict.fromkeys(member for member in first if not any(member in other for other in others)))


def _combination(name: str, combine: Combine) -> None:
    def read(store: Database, args: Args) -> Reply:
        return list(combine([_read(store, key) for key in args]))

    def write(store: Database, args: Args) -> Reply:
        result = combine([_read(store, key) for key in args[1:]])
        if not result:
            store.delete(args[0])
            return 0
        store.put(args[0], result)
        store.changed(args[0], f"{name}store")
        return len(result)

    command(name, -2)(read)
    command(f"{name}store", -3)(write)


_combination("sunion", _union)
_combination("sinter", _intersection)
_combination("sdiff", _difference)


@command("sintercard", -3)
def sintercard(store: Database, args: Args) -> Reply:
    count = above_zero(args[0], "ERR numkeys should be greater than 0")
    if count > len(args) - 1:
        fail("ERR Number of keys can't be greater than number of args")
    limit = 0
    words = iter(args[1 + count :])
    for word in words:
        text = next(words, None)
        if word.upper() != b"LIMIT" or text is None:
            fail(SYNTAX)
        limit = positive(text, "ERR LIMIT can't be negative")
    common = len(_intersection([_read(store, key) for key in args[1 : 1 + count]]))
    return min(common, limit) if limit else common
