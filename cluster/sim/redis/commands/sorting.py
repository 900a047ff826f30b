"""SORT and SORT_RO: elements of a collection in the order of themselves or of other keys, and what belongs to them."""

from dataclasses import dataclass, field, replace

from zonelab.cluster.sim.redis.numbers import double, integer
from zonelab.cluster.sim.redis.partial_sort import partly_sorted
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, WRONG_TYPE, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import HashValue, List, Set, SortedSet
from zonelab.engine.ports import Reply

_NOT_NUMBERS = "ERR One or more scores can't be converted into double"


@dataclass
class _Wish:
    key: bytes
    by: bytes | None = None
    get: list[bytes] = field(default_factory=list)
    target: bytes | None = None
    alpha: bool = False
    descending: bool = False
    begin: int = 0
    count: int = -1

    @property
    def sorted(self) -> bool:
        """False if BY names no other key: the collection's own order then."""
        return self.by is None or b"*" in self.by.partition(b"\0")[0]


def _parse(args: Args, *, stores: bool) -> _Wish:
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
        elif word == b"STORE" and left >= 1 and stores:
            wish.target = args[next(words)]
        elif word == b"BY" and left >= 1:
            wish.by = args[next(words)]
        elif word == b"GET" and left >= 1:
            wish.get.append(args[next(words)])
        else:
            fail(SYNTAX)
    return wish


@command("sort", -2, parse=lambda args: _parse(args, stores=True))
@command("sort_ro", -2, parse=lambda args: _parse(args, stores=False))
def sort(store: Database, wish: _Wish) -> Reply:
    found = store.find(wish.key)
    if found is not None and not isinstance(found, List | Set | SortedSet):
        fail(WRONG_TYPE)
    if isinstance(found, SortedSet):
        found.indexed = True  # the server converts what it sorts
    elements = [] if found is None else _elements(found)
    if isinstance(found, Set) and wish.target is not None and not wish.sorted:
        wish = replace(wish, by=None, alpha=True)  # what is stored is the same on every replica
    ordered = _ordered(store, wish, elements, in_order=not isinstance(found, Set))
    chosen = ordered[slice(*_span(wish, len(ordered)))]
    if wish.get:
        rows = [_looked_up(store, pattern, element) for element in chosen for pattern in wish.get]
    else:
        rows = list(chosen)
    if wish.target is None:
        return rows
    return _store(store, wish.target, rows)


def _elements(found: List | Set | SortedSet) -> list[bytes]:
    return [member for _, member in found.between(0, len(found))] if isinstance(found, SortedSet) else list(found)


def _ordered(store: Database, wish: _Wish, elements: list[bytes], *, in_order: bool) -> list[bytes]:
    if not wish.sorted:
        return elements[::-1] if wish.descending and in_order else elements
    weights = elements if wish.by is None else [_looked_up(store, wish.by, element) for element in elements]
    rows = zip(elements, weights, strict=True)
    if not wish.alpha:
        scored = [(0.0 if weight is None else double(weight, _NOT_NUMBERS), element) for element, weight in rows]
        return [element for _, element in sorted(scored, reverse=wish.descending)]
    stored = wish.target is not None
    keyed = [(_text_key(weight, stored=stored), element) for element, weight in rows]
    begin, end = _span(wish, len(keyed)) if wish.by is not None else (0, len(keyed))
    return [element for _, element in partly_sorted(keyed, lambda row: row[0], begin, end - 1, reverse=wish.descending)]


def _text_key(weight: bytes | None, *, stored: bool) -> tuple[bool, bytes]:
    """Absent ones first. Compared as strcoll does in the C locale, up to the first zero byte, but to store by all."""
    if weight is None:
        return False, b""
    return True, weight if stored else weight.partition(b"\0")[0]


def _looked_up(store: Database, pattern: bytes, element: bytes) -> bytes | None:
    """Return the string, or with ``->`` the field, of the key that ``pattern`` makes of ``element``."""
    if pattern == b"#":
        return element
    written = pattern.partition(b"\0")[0]
    star = written.find(b"*")
    if star < 0:
        return None
    arrow = written.find(b"->", star + 1)
    if arrow < 0 or arrow + 2 == len(written):
        value = store.find(pattern[:star] + element + pattern[star + 1 :])
        return value if isinstance(value, bytes) else None
    fields = store.find(pattern[:star] + element + pattern[star + 1 : arrow])
    return fields.get(pattern[arrow + 2 :]) if isinstance(fields, HashValue) else None


def _span(wish: _Wish, size: int) -> tuple[int, int]:
    """Return the places that LIMIT leaves of ``size``: the first, and the one behind the last."""
    begin = min(max(wish.begin, 0), size)
    return begin, size if wish.count < 0 else min(size, begin + wish.count)


def _store(store: Database, target: bytes, rows: list[bytes | None]) -> int:
    if rows:
        store.put(target, List(row or b"" for row in rows))
        store.changed(target, "sortstore", by=len(rows))
    else:
        store.delete(target)
    return len(rows)
