"""Commands on ranges of sorted sets: by rank, by score, by member."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from zonelab.cluster.sim.redis.commands.sortedset_combinations import put_sorted_set
from zonelab.cluster.sim.redis.numbers import PLAIN_MAX, double, format_double, integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, CommandError, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import Scored, SortedSet
from zonelab.engine.ports import Reply

_NOT_A_SCORE = "ERR min or max is not a float"
_NOT_A_MEMBER = "ERR min or max not valid string range item"

Ranks = tuple[int, int]
"""First rank, and the one after the last."""

Select = Callable[[SortedSet], Ranks]


class By(Enum):
    RANK = auto()
    SCORE = auto()
    LEX = auto()


def _score_bound(text: bytes) -> tuple[float, bool]:
    """Score, and whether the bound excludes it. As in C, a text ends at a zero byte and an empty one is 0."""
    if text.isdigit() and len(text) < PLAIN_MAX:
        return float(text), False
    exclusive = text.startswith(b"(")
    number = text[1:] if exclusive else text
    if b"\0" in number:
        number = number.partition(b"\0")[0]
    if not number:
        return 0.0, exclusive
    try:
        return double(number, _NOT_A_SCORE), exclusive
    except CommandError:
        # Beyond what a double can hold is no error here.
        value = _overflowing(number)
        return value, exclusive


def _overflowing(number: bytes) -> float:
    try:
        value = float(number)
    except ValueError:
        fail(_NOT_A_SCORE)
    if number.strip() != number or b"_" in number or math.isnan(value):
        fail(_NOT_A_SCORE)
    return value


def by_score(low: bytes, high: bytes) -> Select:
    low_score, low_exclusive = _score_bound(low)
    high_score, high_exclusive = _score_bound(high)

    def select(entries: SortedSet) -> Ranks:
        start = entries.first_from(low_score, exclusive=low_exclusive)
        return start, max(start, entries.first_from(high_score, exclusive=not high_exclusive))

    return select


@dataclass(frozen=True)
class _MemberBound:
    """``infinite``: -1 is below every member, 1 above every one."""

    member: bytes = b""
    exclusive: bool = False
    infinite: int = 0

    def above(self, member: bytes) -> bool:
        """``member`` lies before a range that begins here."""
        if self.infinite:
            return self.infinite > 0
        return member <= self.member if self.exclusive else member < self.member

    def below(self, member: bytes) -> bool:
        """``member`` lies after a range that ends here."""
        if self.infinite:
            return self.infinite < 0
        return member >= self.member if self.exclusive else member > self.member

    def beyond(self, end: "_MemberBound") -> bool:
        """Return whether a range from here to ``end`` has no room for a member."""
        if self.infinite or end.infinite:
            return self.infinite > end.infinite or self.infinite == end.infinite != 0
        return self.member > end.member or (self.member == end.member and (self.exclusive or end.exclusive))


def _member_bound(text: bytes) -> _MemberBound:
    if text in (b"-", b"+"):
        return _MemberBound(infinite=-1 if text == b"-" else 1)
    if text[:1] not in (b"(", b"["):
        fail(_NOT_A_MEMBER)
    return _MemberBound(text[1:], exclusive=text[:1] == b"(")


def by_member(low: bytes, high: bytes, *, reverse: bool = False) -> Select:
    """For sets whose members all have one score; with others the result means nothing.

    Then it is what the server finds in a compact list, which it searches from the end that ``reverse`` names.
    """
    first, last = _member_bound(low), _member_bound(high)

    def select(entries: SortedSet) -> Ranks:
        members = [member for _, member in entries.between(0, len(entries))]
        if not members or first.beyond(last) or first.above(members[-1]) or last.below(members[0]):
            return 0, 0
        outer, inner = (first.above, last.below) if not reverse else (last.below, first.above)
        order = members[::-1] if reverse else members
        start = next(rank for rank, member in enumerate(order) if not outer(member))
        stop = next((rank for rank in range(start, len(order)) if inner(order[rank])), len(order))
        return (len(order) - stop, len(order) - start) if reverse else (start, stop)

    return select


def by_rank(start_text: bytes, end_text: bytes, *, reverse: bool = False) -> Select:
    start, end = integer(start_text), integer(end_text)

    def select(entries: SortedSet) -> Ranks:
        size = len(entries)
        first = max(0, start + size if start < 0 else start)
        last = min(size - 1, end + size if end < 0 else end)
        if first > last:
            return 0, 0
        return (size - 1 - last, size - first) if reverse else (first, last + 1)

    return select


class _RangeOptions:
    __slots__ = ("by", "limit", "offset", "reverse", "with_scores")

    def __init__(self, *, by: By | None, reverse: bool | None) -> None:
        self.by = by
        self.reverse = reverse
        self.with_scores = False
        self.offset = 0
        self.limit = -1

    def read(self, words: Sequence[bytes]) -> None:
        at = 0
        while at < len(words):
            option = words[at].upper()
            if option == b"WITHSCORES":
                self.with_scores = True
            elif option == b"LIMIT" and len(words) - at > 2:
                self.offset, self.limit = integer(words[at + 1]), integer(words[at + 2])
                at += 2
            elif option == b"REV" and self.reverse is None:
                self.reverse = True
            elif option in (b"BYLEX", b"BYSCORE") and self.by is None:
                self.by = By.LEX if option == b"BYLEX" else By.SCORE
            else:
                fail(SYNTAX)
            at += 1

    def check(self) -> None:
        if self.limit != -1 and self.by in (None, By.RANK):
            fail("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
        if self.with_scores and self.by is By.LEX:
            fail("ERR syntax error, WITHSCORES not supported in combination with BYLEX")


def _select(by: By | None, low: bytes, high: bytes, *, reverse: bool) -> Select:
    if by in (None, By.RANK):
        return by_rank(low, high, reverse=reverse)
    if reverse:
        low, high = high, low
    return by_score(low, high) if by is By.SCORE else by_member(low, high, reverse=reverse)


def _limited(ranks: Ranks, options: _RangeOptions, entries: SortedSet) -> Ranks:
    """Return what LIMIT leaves of ``ranks``. In a skip list a negative offset counts from the end."""
    start, stop = ranks
    reverse = bool(options.reverse)
    if options.by in (None, By.RANK):
        return ranks
    offset = options.offset
    if offset < 0 and entries.indexed:
        offset += stop - start
    if not 0 <= offset < stop - start:
        return 0, 0
    count = stop - start - offset
    if options.limit >= 0:
        count = min(count, options.limit)
    if reverse:
        return stop - offset - count, stop - offset
    return start + offset, start + offset + count


_Wanted = tuple[bytes, tuple[Select, _RangeOptions]]


def _range(name: str, *, by: By | None, reverse: bool | None) -> None:
    @lru_cache(maxsize=256)
    def options_of(*words: bytes) -> _RangeOptions:
        options = _RangeOptions(by=by, reverse=reverse)
        options.read(words)
        options.check()
        return options

    @lru_cache(maxsize=256)  # a pipeline often asks many keys for one range
    def range_of(*words: bytes) -> tuple[Select, _RangeOptions]:
        options = options_of(*words[2:])
        return _select(options.by, words[0], words[1], reverse=bool(options.reverse)), options

    def parse(args: Args) -> _Wanted:
        return args[0], range_of(*args[1:])

    command(name, -4, parse=parse)(_found)


def _found(store: Database, wanted: _Wanted) -> Reply:
    key, (select, options) = wanted
    entries = store.get(key, SortedSet)
    if entries is None:
        return []
    backwards = bool(options.reverse)
    ranks = _limited(select(entries), options, entries)
    found = entries.between(*ranks, reverse=backwards)
    return _flat(found) if options.with_scores else [member for _, member in found]


@command("zrangestore", -5)
def zrangestore(store: Database, args: Args) -> Reply:
    options = _RangeOptions(by=None, reverse=None)
    options.read(args[4:])
    options.check()
    if options.with_scores:
        fail(SYNTAX)
    backwards = bool(options.reverse)
    select = _select(options.by, args[2], args[3], reverse=backwards)
    entries = store.get(args[1], SortedSet)
    found = [] if entries is None else entries.between(*_limited(select(entries), options, entries))
    return put_sorted_set(store, args[0], found, event="zrangestore")


def _flat(found: Iterable[Scored]) -> list[bytes]:
    return [part for score, member in found for part in (member, format_double(score))]


_range("zrange", by=None, reverse=None)
_range("zrevrange", by=By.RANK, reverse=True)
_range("zrangebyscore", by=By.SCORE, reverse=False)
_range("zrevrangebyscore", by=By.SCORE, reverse=True)
_range("zrangebylex", by=By.LEX, reverse=False)
_range("zrevrangebylex", by=By.LEX, reverse=True)


def _count(store: Database, key: bytes, select: Select) -> int:
    entries = store.get(key, SortedSet)
    if entries is None:
        return 0
    start, stop = select(entries)
    return stop - start


@command("zcount", 4)
def zcount(store: Database, args: Args) -> Reply:
    return _count(store, args[0], by_score(args[1], args[2]))


@command("zlexcount", 4)
def zlexcount(store: Database, args: Args) -> Reply:
    return _count(store, args[0], by_member(args[1], args[2]))


def _remove(store: Database, key: bytes, select: Select, *, event: str) -> int:
    entries = store.get(key, SortedSet)
    if entries is None:
        return 0
    doomed = [member for _, member in entries.between(*select(entries))]
    for member in doomed:
        entries.remove(member)
    store.changed(key, event, by=len(doomed))
    store.drop_if_empty(key)
    return len(doomed)


@command("zremrangebyscore", 4)
def zremrangebyscore(store: Database, args: Args) -> Reply:
    return _remove(store, args[0], by_score(args[1], args[2]), event="zremrangebyscore")


@command("zremrangebylex", 4)
def zremrangebylex(store: Database, args: Args) -> Reply:
    return _remove(store, args[0], by_member(args[1], args[2]), event="zremrangebylex")


@command("zremrangebyrank", 4)
def zremrangebyrank(store: Database, args: Args) -> Reply:
    return _remove(store, args[0], by_rank(args[1], args[2]), event="zremrangebyrank")
