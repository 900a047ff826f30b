"""SORT as text: the part of it that lists a collection in one order everywhere."""

from dataclasses import dataclass

from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, WRONG_TYPE, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import List, Set, SortedSet
from zonelab.engine.ports import Reply

NOT_MODELLED = "ERR this model of a server has SORT with ALPHA only, without BY, GET and STORE"


@dataclass
class _Wish:
    key: bytes
    alpha: bool = False
    descending: bool = False
    begin: int = 0
    count: int = -1


def _parsed(args: Args) -> _Wish:
    wish = _Wish(args[0])
    words = iter(range(1, len(args)))
    for at in words:
        word, left = args[at].upper(), len(args) - at - 1
        if word == b"ALPHA":
            wish.alpha = True
        elif word in (b"ASC", b"DESC"):
            wish.descending = word == b"DESC"
        elif word == b"LIMIT" and left >= 2:
            wish.begin, wish.count = integer(args[at + 1]), integer(args[at + 2])
            next(words), next(words)
        elif word in (b"BY", b"GET", b"STORE") and left >= 1:
            fail(NOT_MODELLED)
        else:
            fail(SYNTAX)
    return wish


@command("sort", -2, parse=_parsed)
def sort(store: Database, wish: _Wish) -> Reply:
    found = store.find(wish.key)
    if found is None:
        return []
    if not isinstance(found, List | Set | SortedSet):
        fail(WRONG_TYPE)
    if not wish.alpha:
        fail(NOT_MODELLED)
    if isinstance(found, SortedSet):
        found.indexed = True  # the server converts what it sorts
    elements = found.scores if isinstance(found, SortedSet) else found
    # The server compares as strcoll does in the C locale: up to the first zero byte.
    ordered: list[Reply] = [*sorted(elements, key=lambda element: element.partition(b"\0")[0], reverse=wish.descending)]
    begin = max(0, wish.begin)
    return ordered[begin:] if wish.count < 0 else ordered[begin : begin + wish.count]
