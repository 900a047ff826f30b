"""Commands on the entries that consumers of a group have: XACK, XPENDING, XCLAIM and XAUTOCLAIM."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from zonelab.cluster.sim.redis.commands.stream_groups import seen
from zonelab.cluster.sim.redis.commands.stream_ids import (
    entry_reply,
    first_of_range,
    last_of_range,
    leading_ids,
    strict_id,
)
from zonelab.cluster.sim.redis.consumer_group import ConsumerGroup, PendingEntry
from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, fail, text
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.stream_value import EntryId, Stream, id_text
from zonelab.engine.ports import Reply

_ATTEMPTS = 10
"""Entries that XAUTOCLAIM looks at for each one that it may claim."""

_CLAIMED_MAX = INTEGER_MAX // 16
_CLAIMED = 100


def _group(store: Database, key: bytes, name: bytes) -> tuple[Stream, ConsumerGroup]:
    stream = store.get(key, Stream)
    group = None if stream is None else stream.groups.get(name)
    if stream is None or group is None:
        fail(f"NOGROUP No such key '{text(key)}' or consumer group '{text(name)}'")
    return stream, group


@command("xack", -4)
def xack(store: Database, args: Args) -> Reply:
    stream = store.get(args[0], Stream)
    group = None if stream is None else stream.groups.get(args[1])
    if group is None:
        return 0
    released = sum(group.release(entry_id) for entry_id in [strict_id(word) for word in args[2:]])
    store.changes += released
    return released


@dataclass(frozen=True, slots=True)
class _PendingRange:
    low: EntryId
    high: EntryId
    count: int
    idle_ms: int = 0
    consumer: bytes | None = None


def _pending_range(words: Args) -> _PendingRange:
    idle_ms = 0
    if words[0].upper() == b"IDLE":
        idle_ms = integer(words[1])
        words = words[2:]
        if len(words) < 3:
            fail(SYNTAX)
    count = max(0, integer(words[2]))
    low, high = first_of_range(words[0]), last_of_range(words[1])
    return _PendingRange(low, high, count, idle_ms, words[3] if len(words) > 3 else None)


def _pending(args: Args) -> tuple[Args, _PendingRange | None]:
    if len(args) != 2 and not 5 <= len(args) <= 8:
        fail(SYNTAX)
    return args[:2], _pending_range(args[2:]) if len(args) > 2 else None


@command("xpending", -3, parse=_pending)
def xpending(store: Database, wanted: tuple[Args, _PendingRange | None]) -> Reply:
    (key, name), span = wanted
    _, group = _group(store, key, name)
    return _summary(group) if span is None else _listed(group, span, now_ms=store.now_ms)


def _summary(group: ConsumerGroup) -> Reply:
    if not group.pending:
        return [0, None, None, None]
    counts = [(name, len(consumer.pending)) for name, consumer in group.named_consumers()]
    first, last = group.pending.peekitem(0)[0], group.pending.peekitem(-1)[0]
    of_consumers = [[name, b"%d" % count] for name, count in counts if count]
    return [len(group.pending), id_text(first), id_text(last), of_consumers]


def _listed(group: ConsumerGroup, span: _PendingRange, *, now_ms: int) -> Reply:
    found: list[Reply] = []
    for entry_id in _ids_between(group, span):
        if len(found) == span.count:
            break
        held: PendingEntry = group.pending[entry_id]
        if not span.idle_ms or now_ms - held.delivered_ms >= span.idle_ms:
            idle_ms = max(0, now_ms - held.delivered_ms)
            found.append([id_text(entry_id), held.consumer, idle_ms, held.deliveries])
    return found


def _ids_between(group: ConsumerGroup, span: _PendingRange) -> Iterable[EntryId]:
    if span.consumer is None:
        of_group: Iterable[EntryId] = group.pending.irange(span.low, span.high)
        return of_group
    consumer = group.consumers.get(span.consumer)
    return () if consumer is None else consumer.pending.irange(span.low, span.high)


class _ClaimOptions:
    """The words of XCLAIM after its ids."""

    def __init__(self, words: Args, *, now_ms: int) -> None:
        self.forced = False
        self.ids_only = False
        self.deliveries = -1
        self.last_id: EntryId = 0
        self._now_ms = now_ms
        self._delivered_ms = -1
        at = 0
        while at < len(words):
            at += self._read(words[at], words[at + 1 :])

    def _read(self, word: bytes, rest: Args) -> int:
        """Take one option; the number of its words."""
        option = word.upper()
        if option == b"FORCE":
            self.forced = True
            return 1
        if option == b"JUSTID":
            self.ids_only = True
            return 1
        if option == b"IDLE" and rest:
            self._delivered_ms = self._now_ms - self._number(option, rest)
        elif option == b"TIME" and rest:
            self._delivered_ms = self._number(option, rest)
        elif option == b"RETRYCOUNT" and rest:
            self.deliveries = self._number(option, rest)
        elif option == b"LASTID" and rest:
            self.last_id = strict_id(rest[0])
        else:
            fail(f"ERR Unrecognized XCLAIM option '{text(word)}'")
        return 2

    def _number(self, option: bytes, rest: Args) -> int:
        return integer(rest[0], f"ERR Invalid {option.decode()} option argument for XCLAIM")

    @property
    def delivered_ms(self) -> int:
        """Return the time of the delivery that a claim counts as: now, if what is asked for makes no sense."""
        return self._delivered_ms if 0 <= self._delivered_ms <= self._now_ms else self._now_ms

    def claimed(self, consumer: bytes, held: PendingEntry | None) -> PendingEntry:
        """Return what an entry becomes that ``held`` describes, None if nobody has it."""
        deliveries = self.deliveries
        if deliveries < 0:
            deliveries = (1 if held is None else held.deliveries) + (not self.ids_only)
        return PendingEntry(consumer, self.delivered_ms, deliveries)


@command("xclaim", -6)
def xclaim(store: Database, args: Args) -> Reply:
    stream, group = _group(store, args[0], args[1])
    idle_ms = max(0, integer(args[3], "ERR Invalid min-idle-time argument for XCLAIM"))
    ids = leading_ids(args[4:])
    options = _ClaimOptions(args[4 + len(ids) :], now_ms=store.now_ms)
    group.last_id = max(group.last_id, options.last_id)
    consumer = seen(store, args[0], group, args[2])
    claimed = []
    for entry_id in ids:
        fields = stream.get(entry_id)
        if fields is None:
            group.release(entry_id)
            continue
        held: PendingEntry | None = group.pending.get(entry_id)
        if held is None and not options.forced:
            continue
        if held is not None and idle_ms and store.now_ms - held.delivered_ms < idle_ms:
            continue
        group.give(entry_id, options.claimed(args[2], held))
        consumer.active_ms = store.now_ms
        claimed.append(id_text(entry_id) if options.ids_only else entry_reply(entry_id, fields))
    return claimed


@dataclass(slots=True)
class _AutomaticClaim:
    key: bytes
    group: bytes
    consumer: bytes
    idle_ms: int
    start: EntryId
    count: int = _CLAIMED
    ids_only: bool = False


def _automatic_claim(args: Args) -> _AutomaticClaim:
    idle_ms = max(0, integer(args[3], "ERR Invalid min-idle-time argument for XAUTOCLAIM"))
    claim = _AutomaticClaim(args[0], args[1], args[2], idle_ms, first_of_range(args[4]))
    at = 5
    while at < len(args):
        option = args[at].upper()
        if option == b"COUNT" and at + 1 < len(args):
            claim.count = integer(args[at + 1], "ERR COUNT must be > 0")
            if not 1 <= claim.count <= _CLAIMED_MAX:
                fail("ERR COUNT must be > 0")
            at += 1
        elif option == b"JUSTID":
            claim.ids_only = True
        else:
            fail(SYNTAX)
        at += 1
    return claim


@command("xautoclaim", -6, parse=_automatic_claim)
def xautoclaim(store: Database, claim: _AutomaticClaim) -> Reply:
    stream, group = _group(store, claim.key, claim.group)
    consumer = seen(store, claim.key, group, claim.consumer)
    claimed: list[Reply] = []
    deleted: list[bytes] = []
    following = 0
    attempts = claim.count * _ATTEMPTS
    for attempt, entry_id in enumerate(list(islice(group.pending.irange(claim.start), attempts + 1))):
        if attempt == attempts or len(claimed) + len(deleted) == claim.count:
            following = entry_id
            break
        held: PendingEntry = group.pending[entry_id]
        fields = stream.get(entry_id)
        if fields is None:
            group.release(entry_id)
            deleted.append(id_text(entry_id))
        elif not claim.idle_ms or store.now_ms - held.delivered_ms >= claim.idle_ms:
            deliveries = held.deliveries + (not claim.ids_only)
            group.give(entry_id, PendingEntry(claim.consumer, store.now_ms, deliveries))
            consumer.active_ms = store.now_ms
            claimed.append(id_text(entry_id) if claim.ids_only else entry_reply(entry_id, fields))
    return [id_text(following), claimed, deleted]
