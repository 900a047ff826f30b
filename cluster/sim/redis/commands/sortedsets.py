"""Commands on sorted sets, those on ranges excepted."""

from zonelab.cluster.sim.redis.commands.several_keys import chosen_at_random, keys_to_pop, random_choice
from zonelab.cluster.sim.redis.numbers import double, format_double, positive
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import OUT_OF_RANGE, SYNTAX, fail, wrong_arity
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import COMPACT_BYTES_MAX, COMPACT_MAX, Scored, SortedSet
from zonelab.engine.ports import Reply

_FLAGS = frozenset((b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"))


_Addition = tuple[bytes, list[tuple[float, bytes]], dict[bytes, None]]
"""Key, scores with their members, flags."""


def parse_addition(args: Args) -> _Addition:
    flags: dict[bytes, None] = {}
    return args[0], _parse(args, flags), flags


def _parse_increment(args: Args) -> _Addition:
    flags: dict[bytes, None] = {b"INCR": None}
    return args[0], _parse(args, flags), flags  # it takes flags, as the server's does


def _parse(args: Args, flags: dict[bytes, None]) -> list[tuple[float, bytes]]:
    """Check what follows the key, in the server's order of checks; adds what flags it finds to ``flags``."""
    at = 1
    while at < len(args) and (flag := args[at].upper()) in _FLAGS:
        flags[flag] = None
        at += 1
    words = args[at:]
    if not words or len(words) % 2:
        fail(SYNTAX)
    if not flags:
        return _pairs(words)
    if b"NX" in flags and b"XX" in flags:
        fail("ERR XX and NX options at the same time are not compatible")
    if (b"GT" in flags) + (b"LT" in flags) + (b"NX" in flags) > 1:
        fail("ERR GT, LT, and/or NX options at the same time are not compatible")
    if b"INCR" in flags and len(words) > 2:
        fail("ERR INCR option supports a single increment-element pair")
    return _pairs(words)


def _pairs(words: Args) -> list[tuple[float, bytes]]:
    if len(words) == 2:
        return [(double(words[0]), words[1])]
    return [(double(words[index]), words[index + 1]) for index in range(0, len(words), 2)]


@command("zadd", -4, parse=parse_addition)
@command("zincrby", 4, parse=_parse_increment)
def zadd(store: Database, addition: _Addition) -> Reply:
    key, pairs, flags = addition
    existing = store.get(key, SortedSet)
    if existing is None and b"XX" in flags:
        return None if b"INCR" in flags else 0
    entries = SortedSet() if existing is None else existing
    added = updated = 0
    score: float | None = None
    if len(pairs) > COMPACT_MAX:
        entries.indexed = True
    for given, member in pairs:
        if len(member) > COMPACT_BYTES_MAX:
            entries.indexed = True  # the server looks at what is asked for, whether or not it is added
        old = entries.scores.get(member)
        score = _new_score(old, given, flags) if flags else given
        if score is None or score == old:
            continue
        entries.set(member, score)
        added += old is None
        updated += old is not None
    if existing is None and len(entries):
        store.put(key, entries)
    store.changes += added + updated
    if store.events is not None and added + updated:
        store.announce("zincr" if b"INCR" in flags else "zadd", key)
    if b"INCR" in flags:
        return None if score is None else format_double(score)
    return added + updated if b"CH" in flags else added


def _new_score(old: float | None, given: float, flags: dict[bytes, None]) -> float | None:
    """The score that a member gets, None if the flags leave it as it is."""
    if old is None:
        return None if b"XX" in flags else given
    if b"NX" in flags:
        return None
    score = given
    if b"INCR" in flags:
        score += old
        if score != score:
            fail("ERR resulting score is not a number (NaN)")
    if (b"GT" in flags and score <= old) or (b"LT" in flags and score >= old):
        return None
    return score


@command("zrem", -3)
def zrem(store: Database, args: Args) -> Reply:
    entries = store.get(args[0], SortedSet)
    if entries is None:
        return 0
    removed = 0
    for member in args[1:]:
        removed += entries.remove(member)
    if removed:
        store.changes += removed
        if store.events is not None:
            store.announce("zrem", args[0])
        store.drop_if_empty(args[0])
    return removed


@command("zcard", 2)
def zcard(store: Database, args: Args) -> Reply:
    entries = store.get(args[0], SortedSet)
    return 0 if entries is None else len(entries)


@command("zscore", 3)
def zscore(store: Database, args: Args) -> Reply:
    entries = store.get(args[0], SortedSet)
    score = None if entries is None else entries.scores.get(args[1])
    return None if score is None else format_double(score)


@command("zmscore", -3)
def zmscore(store: Database, args: Args) -> Reply:
    entries = store.get(args[0], SortedSet)
    scores = [None if entries is None else entries.scores.get(member) for member in args[1:]]
    return [None if score is None else format_double(score) for score in scores]


def _rank(store: Database, args: Args, name: str, *, reverse: bool) -> Reply:
    if len(args) > 3:
        wrong_arity(name)
    if len(args) == 3 and args[2].upper() != b"WITHSCORE":
        fail(SYNTAX)
    entries = store.get(args[0], SortedSet)
    rank = None if entries is None else entries.rank(args[1])
    if entries is None or rank is None:
        return None
    place = len(entries) - 1 - rank if reverse else rank
    return [place, format_double(entries.scores[args[1]])] if len(args) == 3 else place


@command("zrank", -3)
def zrank(store: Database, args: Args) -> Reply:
    return _rank(store, args, "zrank", reverse=False)


@command("zrevrank", -3)
def zrevrank(store: Database, args: Args) -> Reply:
    return _rank(store, args, "zrevrank", reverse=True)


def _pop(store: Database, args: Args, *, highest: bool) -> Reply:
    if len(args) > 2:
        fail(SYNTAX)
    count = 1
    if len(args) == 2:
        count = positive(args[1], OUT_OF_RANGE)
    entries = store.get(args[0], SortedSet)
    if entries is None:
        return []
    popped = _taken(store, args[0], entries, count, highest=highest)
    return [part for score, member in popped for part in (member, format_double(score))]


def _taken(store: Database, key: bytes, entries: SortedSet, count: int, *, highest: bool) -> list[Scored]:
    size = len(entries)
    start, stop = (max(0, size - count), size) if highest else (0, min(count, size))
    popped = entries.between(start, stop, reverse=highest)
    for _, member in popped:
        entries.remove(member)
    store.changed(key, "zpopmax" if highest else "zpopmin", by=len(popped))
    store.drop_if_empty(key)
    return popped


@command("zpopmin", -2)
def zpopmin(store: Database, args: Args) -> Reply:
    return _pop(store, args, highest=False)


@command("zpopmax", -2)
def zpopmax(store: Database, args: Args) -> Reply:
    return _pop(store, args, highest=True)


@command("zmpop", -4)
def zmpop(store: Database, args: Args) -> Reply:
    """The first of some sorted sets that is there: its key, and entries from one end of it."""
    keys, lowest, most = keys_to_pop(args, (b"MIN", b"MAX"))
    for key in keys:
        entries = store.get(key, SortedSet)
        if entries is not None:
            popped = _taken(store, key, entries, most, highest=not lowest)
            return [key, [[member, format_double(score)] for score, member in popped]]
    return None


@command("zrandmember", -2)
def zrandmember(store: Database, args: Args) -> Reply:
    count, with_scores = random_choice(args, b"WITHSCORES")
    entries = store.get(args[0], SortedSet)
    if entries is None:
        return None if count is None else []
    chosen = chosen_at_random(store.random, list(entries.scores), count)
    if count is None:
        return chosen[0]
    if not with_scores:
        return chosen
    return [part for member in chosen for part in (member, format_double(entries.scores[member]))]
