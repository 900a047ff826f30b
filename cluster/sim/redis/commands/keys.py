"""Commands on keys of any type."""

from zonelab.cluster.glob import matches
from zonelab.cluster.sim.redis.commands.expiry import deadline_ms, expire_options, is_allowed, whole_seconds
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import NO_SUCH_KEY, OK, StatusReply, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import TYPE_NAMES
from zonelab.engine.ports import Reply


@command("del", -2)
@command("unlink", -2)
def delete(store: Database, args: Args) -> Reply:
    return sum(store.delete(key) for key in args)


@command("exists", -2)
@command("touch", -2)
def exists(store: Database, args: Args) -> Reply:
    return sum(store.find(key) is not None for key in args)


@command("type", 2)
def type_(store: Database, args: Args) -> Reply:
    value = store.find(args[0])
    return StatusReply(b"none" if value is None else TYPE_NAMES[type(value)])


@command("keys", 2)
def keys(store: Database, args: Args) -> Reply:
    return [key for key in store.names() if matches(args[0], key)]


@command("randomkey", 1)
def randomkey(store: Database, args: Args) -> Reply:
    present = list(store.names())
    return store.random.choice(present) if present else None


@command("rename", 3)
def rename(store: Database, args: Args) -> Reply:
    _move(store, args[0], args[1], overwrite=True)
    return OK


@command("renamenx", 3)
def renamenx(store: Database, args: Args) -> Reply:
    return int(_move(store, args[0], args[1], overwrite=False))


def _move(store: Database, source: bytes, target: bytes, *, overwrite: bool) -> bool:
    value = store.find(source)
    if value is None:
        fail(NO_SUCH_KEY)
    if source == target:
        return False
    if store.find(target) is not None:
        if not overwrite:
            return False
        store.announce("new", target)
    until_ms = store.expiry_ms(source)
    store.put(target, value)
    if until_ms is not None:
        store.end_at(target, until_ms)
    store.discard(source)
    store.announce("rename_from", source)
    store.changed(target, "rename_to")
    return True


def _expire(name: str, *, unit_ms: int, relative: bool) -> None:
    def handler(store: Database, args: Args) -> Reply:
        options = expire_options(args[2:])
        until_ms = deadline_ms(store, args[1], unit_ms=unit_ms, relative=relative, name=name, positive=False)
        if store.find(args[0]) is None or not is_allowed(options, store.expiry_ms(args[0]), until_ms):
            return 0
        store.expire_at(args[0], until_ms)
        store.changes += 1
        return 1

    command(name, -3)(handler)


_expire("expire", unit_ms=1000, relative=True)
_expire("pexpire", unit_ms=1, relative=True)
_expire("expireat", unit_ms=1000, relative=False)
_expire("pexpireat", unit_ms=1, relative=False)


def _left(store: Database, key: bytes, *, from_ms: int) -> int:
    """Milliseconds from ``from_ms`` to the end of ``key``; -1 without a limit, -2 without the key."""
    if store.find(key) is None:
        return -2
    until_ms = store.expiry_ms(key)
    return -1 if until_ms is None else max(0, until_ms - from_ms)


@command("pttl", 2)
def pttl(store: Database, args: Args) -> Reply:
    return _left(store, args[0], from_ms=store.now_ms)


@command("ttl", 2)
def ttl(store: Database, args: Args) -> Reply:
    return whole_seconds(_left(store, args[0], from_ms=store.now_ms))


@command("pexpiretime", 2)
def pexpiretime(store: Database, args: Args) -> Reply:
    return _left(store, args[0], from_ms=0)


@command("expiretime", 2)
def expiretime(store: Database, args: Args) -> Reply:
    return whole_seconds(_left(store, args[0], from_ms=0))


@command("persist", 2)
def persist(store: Database, args: Args) -> Reply:
    if store.find(args[0]) is None:
        return 0
    persisted = int(store.persist(args[0]))
    store.changed(args[0], "persist", by=persisted)
    return persisted
