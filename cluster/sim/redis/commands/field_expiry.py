"""Times of single fields of hashes: HEXPIRE and its kin, HTTL, HPERSIST, HSETEX, HGETEX, and HGETDEL."""

from collections.abc import Callable
from dataclasses import dataclass, field

from zonelab.cluster.sim.redis.commands.expiry import (
    EXPIRY_OPTIONS,
    deadline_ms,
    expire_options,
    is_allowed,
    whole_seconds,
)
from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import ExpiringHash, HashValue
from zonelab.engine.ports import Reply

_BAD_COUNT = "ERR numfields should be greater than 0 and match the provided number of fields"
_ABSENT, _WITHOUT_TIME, _REFUSED, _SET, _GONE = -2, -1, 0, 1, 2
_CONDITIONS = (b"NX", b"XX", b"FNX", b"FXX")


def _fields(words: Args, *, error: str = _BAD_COUNT, each: int = 1) -> Args:
    """Return the words behind ``FIELDS count``, of which there are ``each`` for a field."""
    count = integer(words[0]) if words else fail(error)
    given = words[1:]
    if count <= 0 or count * each != len(given):
        fail(error)
    return given


def _parted(words: Args) -> tuple[Args, Args]:
    """Return what is before ``FIELDS`` and what is behind it."""
    place = next((at for at, word in enumerate(words) if word.upper() == b"FIELDS"), None)
    return fail(_BAD_COUNT) if place is None else (words[:place], words[place + 1 :])


def _expiring(store: Database, key: bytes, fields: HashValue) -> ExpiringHash:
    """Return ``fields``, the value of ``key``, as a hash whose fields may end."""
    if isinstance(fields, ExpiringHash):
        return fields
    made = ExpiringHash(fields)
    store.put(key, made, keep_expiry=True)
    return made


def _end_at(store: Database, key: bytes, fields: ExpiringHash, name: bytes, until_ms: int) -> bool:
    """Let a field end; true if that is over by now, and the field gone."""
    store.changes += 1
    if until_ms > store.now_ms:
        fields.until_ms[name] = until_ms
        store.await_end(key, until_ms, event="hexpired")
        return False
    fields.pop(name, None)
    return True


def _fields_ended(store: Database, key: bytes) -> None:
    store.announce("hexpired", key)
    store.drop_if_empty(key)


def _hexpire(name: str, *, unit_ms: int, relative: bool) -> None:
    def handler(store: Database, args: Args) -> Reply:
        words, counted = _parted(args[2:])
        options = expire_options(words)
        given = _fields(counted)
        until_ms = deadline_ms(store, args[1], unit_ms=unit_ms, relative=relative, name=name, positive=False)
        if integer(args[1]) < 0:
            fail(f"ERR invalid expire time in '{name}' command")
        if store.get(args[0], HashValue) is None:
            return [_ABSENT] * len(given)
        replies = [_expire_field(store, args[0], each, options, until_ms) for each in given]
        if _SET in replies:
            store.announce("hexpire", args[0])
        if _GONE in replies:
            _fields_ended(store, args[0])
        return [*replies]

    command(name, -6)(handler)


def _expire_field(store: Database, key: bytes, name: bytes, options: dict[bytes, None], until_ms: int) -> int:
    fields = store.find(key)
    if not isinstance(fields, HashValue) or name not in fields:
        return _ABSENT
    old_ms = fields.until_ms.get(name) if isinstance(fields, ExpiringHash) else None
    if not is_allowed(options, old_ms, until_ms):
        return _REFUSED
    return _GONE if _end_at(store, key, _expiring(store, key, fields), name, until_ms) else _SET


_hexpire("hexpire", unit_ms=1000, relative=True)
_hexpire("hpexpire", unit_ms=1, relative=True)
_hexpire("hexpireat", unit_ms=1000, relative=False)
_hexpire("hpexpireat", unit_ms=1, relative=False)


def _time(name: str, shown: Callable[[int, int], int]) -> None:
    """``shown``: what is answered, given when a field ends and what time it is, in ms."""

    def handler(store: Database, args: Args) -> Reply:
        given = _named_fields(args)
        fields = store.get(args[0], HashValue)
        if fields is None:
            return [_ABSENT] * len(given)
        until_ms = fields.until_ms if isinstance(fields, ExpiringHash) else {}
        return [
            _ABSENT
            if each not in fields
            else shown(until_ms[each], store.now_ms)
            if each in until_ms
            else _WITHOUT_TIME
            for each in given
        ]

    command(name, -5)(handler)


def _named_fields(args: Args, *, error: str = SYNTAX) -> Args:
    return _fields(args[2:], error=error) if args[1].upper() == b"FIELDS" else fail(SYNTAX)


_time("hpttl", lambda until_ms, now_ms: max(0, until_ms - now_ms))
_time("httl", lambda until_ms, now_ms: whole_seconds(max(0, until_ms - now_ms)))
_time("hpexpiretime", lambda until_ms, _: until_ms)
_time("hexpiretime", lambda until_ms, _: whole_seconds(until_ms))


@command("hpersist", -5)
def hpersist(store: Database, args: Args) -> Reply:
    given = _named_fields(args, error=_BAD_COUNT)
    fields = store.get(args[0], HashValue)
    replies: list[Reply] = []
    for name in given:
        if fields is None or name not in fields:
            replies.append(_ABSENT)
        elif isinstance(fields, ExpiringHash) and fields.until_ms.pop(name, None) is not None:
            replies.append(_SET)
            store.changes += 1
        else:
            replies.append(_WITHOUT_TIME)
    if _SET in replies:
        store.announce("hpersist", args[0])
    return replies


@command("hgetdel", -5)
def hgetdel(store: Database, args: Args) -> Reply:
    given = _named_fields(args, error=_BAD_COUNT)
    fields = store.get(args[0], HashValue)
    if fields is None:
        return [None] * len(given)
    values = [fields.pop(name, None) for name in given]
    removed = sum(value is not None for value in values)
    if removed:
        store.changed(args[0], "hdel", by=removed)
        store.drop_if_empty(args[0])
    return [*values]


@dataclass
class _FieldOptions:
    """Options of HSETEX and HGETEX, and the words behind ``FIELDS``.

    ``keeps``: KEEPTTL or PERSIST; ``time``: an option and its value.
    """

    words: Args
    conditions: dict[bytes, None] = field(default_factory=dict)
    keeps: bool = False
    time: tuple[bytes, bytes] | None = None

    def met(self, **conditions: bool) -> bool:
        """Return whether those of the ``conditions`` hold that were asked for."""
        return all(holds for name, holds in conditions.items() if name.encode() in self.conditions)

    def until_ms(self, store: Database, name: str) -> int | None:
        if self.time is None:
            return None
        unit_ms, relative = EXPIRY_OPTIONS[self.time[0]]
        until_ms = deadline_ms(store, self.time[1], unit_ms=unit_ms, relative=relative, name=name, positive=False)
        return until_ms if integer(self.time[1]) >= 0 else fail(f"ERR invalid expire time in '{name}' command")


def _options(words: Args, *, keeping: bytes, conditions: tuple[bytes, ...]) -> _FieldOptions:
    given, counted = _parted(words)
    found = _FieldOptions(words=counted)
    rest = iter(range(len(given)))
    for at in rest:
        option = given[at].upper()
        timed = found.time is not None or found.keeps
        if option == keeping and not timed:
            found.keeps = True
        elif option in EXPIRY_OPTIONS and not timed and at + 1 < len(given):
            found.time = option, given[next(rest)]
        elif option in conditions and not _contradicts(option, found.conditions):
            found.conditions[option] = None
        else:
            fail(SYNTAX)
    return found


def _contradicts(condition: bytes, others: dict[bytes, None]) -> bool:
    """Return whether there is NX beside XX, or FNX beside FXX."""
    return any(len(other) == len(condition) and other != condition for other in others)


@command("hgetex", -5)
def hgetex(store: Database, args: Args) -> Reply:
    options = _options(args[1:], keeping=b"PERSIST", conditions=())
    given = _fields(options.words)
    fields = store.get(args[0], HashValue)
    until_ms = options.until_ms(store, "hgetex")
    if fields is None:
        return [None] * len(given)
    values: list[Reply] = []
    ended = timed = persisted = False
    for name in given:
        value = fields.get(name)
        values.append(value)
        if value is not None and until_ms is not None:
            fields = _expiring(store, args[0], fields)
            timed = True
            ended = _end_at(store, args[0], fields, name, until_ms)
        elif options.keeps and isinstance(fields, ExpiringHash) and fields.until_ms.pop(name, None) is not None:
            store.changes += 1
            persisted = True
    if ended:
        _fields_ended(store, args[0])
    elif timed or persisted:
        store.announce("hpersist" if persisted else "hexpire", args[0])
    return values


@command("hsetex", -6)
def hsetex(store: Database, args: Args) -> Reply:
    options = _options(args[1:], keeping=b"KEEPTTL", conditions=_CONDITIONS)
    given = _fields(options.words, each=2)
    fields = store.get(args[0], HashValue)
    if not options.met(NX=fields is None, XX=fields is not None):
        return 0
    until_ms = options.until_ms(store, "hsetex")
    names = given[::2]
    there = [fields is not None and name in fields for name in names]
    if not options.met(FNX=not any(there), FXX=all(there)):
        return 0
    target = store.get_or_create(args[0], HashValue)
    ended = False
    for name, value in zip(names, given[1::2], strict=True):
        if options.keeps:
            target.amend(name, value)
        else:
            target[name] = value
        store.changes += 1
        if until_ms is not None:
            target = _expiring(store, args[0], target)
            ended = _end_at(store, args[0], target, name, until_ms)
    store.announce("hset", args[0])
    if until_ms is not None:
        store.announce("hexpire", args[0])
    if ended:
        _fields_ended(store, args[0])
    return 1
