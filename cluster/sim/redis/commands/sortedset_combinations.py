"""Unions, intersections and differences of sorted sets; sets take part as if every score were 1."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

from zonelab.cluster.sim.redis.numbers import double, format_double, integer, positive
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, WRONG_TYPE, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import COMPACT_BYTES_MAX, COMPACT_MAX, Scored, Set, SortedSet
from zonelab.engine.ports import Reply

_Scores = dict[bytes, float]


def _sum(one: float, other: float) -> float:
    total = one + other
    return 0.0 if math.isnan(total) else total


_AGGREGATES: dict[bytes, Callable[[float, float], float]] = {b"SUM": _sum, b"MIN": min, b"MAX": max}


@dataclass
class _Inputs:
    sets: list[_Scores]
    weights: list[float]
    aggregate: Callable[[float, float], float] = _sum
    with_scores: bool = False
    limit: int = 0

    def by_size(self) -> Iterator[tuple[_Scores, float]]:
        """The sets and their weights, the smallest first, as the server goes through them."""
        order = sorted(range(len(self.sets)), key=lambda place: len(self.sets[place]))
        return ((self.sets[place], self.weights[place]) for place in order)


def _weighed(score: float, weight: float) -> float:
    value = score * weight
    return 0.0 if math.isnan(value) else value


def _inputs(store: Database, args: Args, name: str, accepted: frozenset[bytes]) -> _Inputs:
    count = integer(args[0])
    if count < 1:
        fail(f"ERR at least 1 input key is needed for '{name}' command")
    if count > len(args) - 1:
        fail(SYNTAX)
    inputs = _Inputs([_scores(store, key) for key in args[1 : 1 + count]], [1.0] * count)
    at = 1 + count
    while at < len(args):
        at += _read_option(inputs, args[at].upper(), args[at + 1 :], accepted)
    return inputs


def _read_option(inputs: _Inputs, option: bytes, rest: Args, accepted: frozenset[bytes]) -> int:
    """Take one option; the number of its words."""
    count = len(inputs.sets)
    if option not in accepted:
        fail(SYNTAX)
    if option == b"WITHSCORES":
        inputs.with_scores = True
        return 1
    if option == b"WEIGHTS" and len(rest) >= count:
        inputs.weights = [double(word, "ERR weight value is not a float") for word in rest[:count]]
        return 1 + count
    if option == b"AGGREGATE" and rest and rest[0].upper() in _AGGREGATES:
        inputs.aggregate = _AGGREGATES[rest[0].upper()]
        return 2
    if option == b"LIMIT" and rest:
        inputs.limit = positive(rest[0], "ERR LIMIT can't be negative")
        return 2
    return fail(SYNTAX)


def _scores(store: Database, key: bytes) -> _Scores:
    found = store.find(key)
    if isinstance(found, SortedSet):
        return found.scores
    if isinstance(found, Set):
        return dict.fromkeys(found, 1.0)
    return {} if found is None else fail(WRONG_TYPE)


def _union(inputs: _Inputs) -> _Scores:
    result: _Scores = {}
    for scores, weight in inputs.by_size():
        for member, given in scores.items():
            score = _weighed(given, weight)
            result[member] = inputs.aggregate(result[member], score) if member in result else score
    return result


def _intersection(inputs: _Inputs) -> _Scores:
    """A score that is no number becomes 0 in the smallest set only, as the server does it."""
    (first, weight), *others = inputs.by_size()
    return {
        member: reduce(inputs.aggregate, (other[member] * weight for other, weight in others), _weighed(score, weight))
        for member, score in first.items()
        if all(member in other for other, _ in others)
    }


def _difference(inputs: _Inputs) -> _Scores:
    first, *others = inputs.sets
    return {member: score for member, score in first.items() if not any(member in other for other in others)}


def _in_order(scores: _Scores) -> list[Scored]:
    return sorted((score, member) for member, score in scores.items())


def put_sorted_set(store: Database, key: bytes, entries: list[Scored], *, event: str) -> int:
    """Store ``entries`` as the value of ``key``, which without any does not exist; their number."""
    if not entries:
        store.delete(key)
        return 0
    made = SortedSet()
    made.indexed = len(entries) > COMPACT_MAX or any(len(member) > COMPACT_BYTES_MAX for _, member in entries)
    for score, member in entries:
        made.set(member, score)
    store.put(key, made)
    store.changed(key, event)
    return len(entries)


def _combination(name: str, combine: Callable[[_Inputs], _Scores], options: frozenset[bytes]) -> None:
    def read(store: Database, args: Args) -> Reply:
        inputs = _inputs(store, args, name, options | {b"WITHSCORES"})
        entries = _in_order(combine(inputs))
        if not inputs.with_scores:
            return [member for _, member in entries]
        return [part for score, member in entries for part in (member, format_double(score))]

    def write(store: Database, args: Args) -> Reply:
        inputs = _inputs(store, args[1:], f"{name}store", options)
        return put_sorted_set(store, args[0], _in_order(combine(inputs)), event=f"{name}store")

    command(name, -3)(read)
    command(f"{name}store", -4)(write)


_WEIGHED = frozenset((b"WEIGHTS", b"AGGREGATE"))
_combination("zunion", _union, _WEIGHED)
_combination("zinter", _intersection, _WEIGHED)
_combination("zdiff", _difference, frozenset())


@command("zintercard", -3)
def zintercard(store: Database, args: Args) -> Reply:
    inputs = _inputs(store, args, "zintercard", frozenset((b"LIMIT",)))
    common = len(_intersection(inputs))
    return min(common, inputs.limit) if inputs.limit else common
