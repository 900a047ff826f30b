"""Commands on the entries of a stream."""

from dataclasses import dataclass
from typing import NoReturn

from zonelab.cluster.sim.redis.commands.stream_ids import (
    entry_reply,
    first_of_range,
    last_of_range,
    next_id_of,
    strict_id,
)
from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import NO_SUCH_KEY, OK, SYNTAX, fail, wrong_arity
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.stream_value import (
    BLOCK_ENTRIES_MAX,
    ID_MAX,
    SEQUENCE_BITS,
    SEQUENCE_MAX,
    EntryId,
    Fields,
    Stream,
    Trimming,
    id_text,
)
from zonelab.engine.ports import Reply

_APPROXIMATE_LIMIT = 100 * BLOCK_ENTRIES_MAX
_TOO_SMALL = "ERR The ID specified in XADD is equal or smaller than the target stream top item"


@dataclass(frozen=True, slots=True)
class _WantedId:
    """An id as XADD asks for it. ``sequence`` False: the server chooses the lower half; no ``id``: all of it."""

    id: EntryId | None = None
    sequence: bool = True

    def after(self, last_id: EntryId, *, now_ms: int) -> EntryId:
        """Return the id of the entry that follows ``last_id``, or fail if there is none."""
        chosen = self.id
        if chosen is None:
            chosen = max(now_ms << SEQUENCE_BITS, last_id + 1)
        elif not self.sequence and chosen >> SEQUENCE_BITS == last_id >> SEQUENCE_BITS:
            chosen = last_id + 1 if last_id & SEQUENCE_MAX != SEQUENCE_MAX else fail(_TOO_SMALL)
        return chosen if chosen > last_id else fail(_TOO_SMALL)


def _wanted_id(raw: bytes) -> _WantedId:
    if raw.partition(b"\0")[0] == b"*":
        return _WantedId()
    partly = next_id_of(raw)
    return _WantedId(strict_id(raw)) if partly is None else _WantedId(partly, sequence=False)


class _TrimOptions:
    """The words of XADD before its fields, or those of XTRIM."""

    def __init__(self, words: Args, *, adds: bool) -> None:
        self.creates = True
        self.id_place: int | None = None
        """The place of the id of XADD among ``words``."""

        self.id = _WantedId()
        self._strategy = b""
        self._approximate = False
        self._threshold = 0
        self._limit: int | None = None
        at = 1
        while at < len(words) and self.id_place is None:
            at += self._read(words, at, adds=adds)
        if self._limit and not self._strategy:
            fail("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
        if not adds and not self._strategy:
            fail("ERR syntax error, XTRIM must be called with a trimming strategy")
        if self._limit is not None and not self._approximate:
            fail("ERR syntax error, LIMIT cannot be used without the special ~ option")

    def _read(self, words: Args, at: int, *, adds: bool) -> int:
        """Take the option at ``at``; the number of its words."""
        option, more = words[at].upper(), len(words) - at - 1
        if option in (b"MAXLEN", b"MINID") and more:
            return self._read_strategy(option, words[at + 1 :])
        if option == b"LIMIT" and more:
            self._limit = integer(words[at + 1])
            if self._limit < 0:
                fail("ERR The LIMIT argument must be >= 0.")
            return 2
        if not adds:
            fail(SYNTAX)
        if option == b"NOMKSTREAM":
            self.creates = False
        else:
            self.id_place = at
            self.id = _wanted_id(words[at])
        return 1

    def _read_strategy(self, option: bytes, rest: Args) -> int:
        if self._strategy:
            fail("ERR syntax error, MAXLEN and MINID options at the same time are not compatible")
        operator = rest[0] if len(rest) > 1 and rest[0] in (b"~", b"=") else b""
        self._strategy, self._approximate = option, operator == b"~"
        threshold = rest[len(operator)]
        if option == b"MINID":
            self._threshold = strict_id(threshold)
        else:
            self._threshold = integer(threshold)
            if self._threshold < 0:
                fail("ERR The MAXLEN argument must be >= 0.")
        return 2 + len(operator)

    @property
    def trimming(self) -> Trimming | None:
        if not self._strategy:
            return None
        limit = self._limit if self._limit is not None else _APPROXIMATE_LIMIT if self._approximate else 0
        if self._strategy == b"MINID":
            return Trimming(id_min=self._threshold, approximate=self._approximate, limit=limit)
        return Trimming(length_max=self._threshold, approximate=self._approximate, limit=limit)


@dataclass(frozen=True, slots=True)
class _Addition:
    key: bytes
    id: _WantedId
    fields: Fields
    creates: bool
    trimming: Trimming | None


def _addition(args: Args) -> _Addition:
    options = _TrimOptions(args, adds=True)
    place = len(args) if options.id_place is None else options.id_place
    fields = tuple(args[place + 1 :])
    if not fields or len(fields) % 2:
        wrong_arity("xadd")
    if options.id.id == 0 and options.id.sequence:
        fail("ERR The ID specified in XADD must be greater than 0-0")
    return _Addition(args[0], options.id, fields, options.creates, options.trimming)


def with_id(args: Args, added: bytes) -> Args:
    """Return the words of an XADD, its name first, that adds the same entry with the id that it got."""
    place = _TrimOptions(args[1:], adds=True).id_place
    assert place is not None
    return [*args[: place + 1], added, *args[place + 2 :]]


@command("xadd", -5, parse=_addition)
def xadd(store: Database, addition: _Addition) -> Reply:
    stream = store.get(addition.key, Stream)
    if stream is None:
        if not addition.creates:
            return None
        stream = store.get_or_create(addition.key, Stream)
    if stream.last_id == ID_MAX:
        fail("ERR The stream has exhausted the last possible ID, unable to add more items")
    entry_id = addition.id.after(stream.last_id, now_ms=store.now_ms)
    stream.append(entry_id, addition.fields)
    store.changed(addition.key, "xadd")
    if addition.trimming is not None and stream.trim(addition.trimming):
        store.announce("xtrim", addition.key)
    return id_text(entry_id)


def _trim(args: Args) -> tuple[bytes, Trimming]:
    trimming = _TrimOptions(args, adds=False).trimming
    assert trimming is not None
    return args[0], trimming


@command("xtrim", -4, parse=_trim)
def xtrim(store: Database, wanted: tuple[bytes, Trimming]) -> Reply:
    key, trimming = wanted
    stream = store.get(key, Stream)
    removed = 0 if stream is None else stream.trim(trimming)
    store.changed(key, "xtrim", by=removed)
    return removed


@command("xdel", -3)
def xdel(store: Database, args: Args) -> Reply:
    stream = store.get(args[0], Stream)
    if stream is None:
        return 0
    removed = stream.remove([strict_id(word) for word in args[1:]])
    store.changed(args[0], "xdel", by=removed)
    return removed


@command("xlen", 2)
def xlen(store: Database, args: Args) -> Reply:
    stream = store.get(args[0], Stream)
    return 0 if stream is None else stream.length


@dataclass(frozen=True, slots=True)
class _Range:
    """``count`` None: all."""

    key: bytes
    low: EntryId
    high: EntryId
    count: int | None


def _count(words: Args) -> int | None:
    count = None
    for at in range(0, len(words), 2):
        if words[at].upper() != b"COUNT" or at + 1 == len(words):
            fail(SYNTAX)
        count = max(0, integer(words[at + 1]))
    return count


def _range(name: str, *, reverse: bool) -> None:
    def parse(args: Args) -> _Range:
        low, high = (args[2], args[1]) if reverse else (args[1], args[2])
        return _Range(args[0], first_of_range(low), last_of_range(high), _count(args[3:]))

    def handler(store: Database, wanted: _Range) -> Reply:
        stream = store.get(wanted.key, Stream)
        if stream is None:
            return []
        if wanted.count == 0:
            return None
        found = stream.between(wanted.low, wanted.high, count=wanted.count or 0, reverse=reverse)
        return [entry_reply(*entry) for entry in found]

    command(name, -4, parse=parse)(handler)


_range("xrange", reverse=False)
_range("xrevrange", reverse=True)


@dataclass(slots=True)
class _Setting:
    key: bytes
    last_id: EntryId
    added: int | None = None
    max_deleted_id: EntryId = 0


def _setting(args: Args) -> _Setting:
    setting = _Setting(args[0], strict_id(args[1]))
    for at in range(2, len(args), 2):
        option = args[at].upper()
        if at + 1 == len(args):
            fail(SYNTAX)
        if option == b"ENTRIESADDED":
            setting.added = integer(args[at + 1])
            if setting.added < 0:
                fail("ERR entries_added must be positive")
        elif option == b"MAXDELETEDID":
            setting.max_deleted_id = strict_id(args[at + 1])
            if setting.last_id < setting.max_deleted_id:
                _smaller("the provided max_deleted_entry_id")
        else:
            fail(SYNTAX)
    return setting


def _smaller(than: str) -> NoReturn:
    fail(f"ERR The ID specified in XSETID is smaller than {than}")


@command("xsetid", -3, parse=_setting)
def xsetid(store: Database, setting: _Setting) -> Reply:
    stream = store.get(setting.key, Stream)
    if stream is None:
        fail(NO_SUCH_KEY)
    if setting.last_id < stream.max_deleted_id:
        _smaller("current max_deleted_entry_id")
    if stream.length:
        if setting.last_id < stream.last_live_id():
            _smaller("the target stream top item")
        if setting.added is not None and stream.length > setting.added:
            fail("ERR The entries_added specified in XSETID is smaller than the target stream length")
    stream.last_id = setting.last_id
    if setting.added is not None:
        stream.added = setting.added
    stream.max_deleted_id = setting.max_deleted_id or stream.max_deleted_id
    store.changed(setting.key, "xsetid")
    return OK
