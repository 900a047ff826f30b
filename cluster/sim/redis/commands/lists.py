"""Commands on lists. The blocking ones are not here: a coordinator's shared connection cannot block."""

from collections.abc import Callable
from itertools import islice

from zonelab.cluster.sim.redis.commands.several_keys import keys_to_pop
from zonelab.cluster.sim.redis.numbers import INTEGER_MIN, integer, positive
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import NO_SUCH_KEY, OK, OUT_OF_RANGE, SYNTAX, fail, wrong_arity
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import List
from zonelab.engine.ports import Reply

_ENDS = (b"LEFT", b"RIGHT")


def _push(name: str, *, left: bool, create: bool) -> None:
    def handler(store: Database, args: Args) -> Reply:
        elements = store.get_or_create(args[0], List) if create else store.get(args[0], List)
        if elements is None:
            return 0
        (elements.extendleft if left else elements.extend)(args[1:])
        store.changes += len(args) - 1
        if store.events is not None:
            store.announce("lpush" if left else "rpush", args[0])
        return len(elements)

    command(name, -3)(handler)


_push("lpush", left=True, create=True)
_push("rpush", left=False, create=True)
_push("lpushx", left=True, create=False)
_push("rpushx", left=False, create=False)


def _take(store: Database, key: bytes, elements: List, *, left: bool) -> bytes:
    element = elements.popleft() if left else elements.pop()
    store.changes += 1
    if store.events is not None:
        store.announce("lpop" if left else "rpop", key)
    if not elements:
        store.drop_if_empty(key)
    return element


def _take_several(store: Database, key: bytes, elements: List, count: int, *, left: bool) -> list[bytes]:
    taken = [elements.popleft() if left else elements.pop() for _ in range(min(count, len(elements)))]
    store.changed(key, "lpop" if left else "rpop", by=len(taken))
    store.drop_if_empty(key)
    return taken


def _pop(name: str, *, left: bool) -> None:
    def handler(store: Database, args: Args) -> Reply:
        if len(args) > 2:
            wrong_arity(name)
        count = positive(args[1], OUT_OF_RANGE) if len(args) == 2 else None
        elements = store.get(args[0], List)
        if elements is None:
            return None
        if count is None:
            return _take(store, args[0], elements, left=left)
        return _take_several(store, args[0], elements, count, left=left)

    command(name, -2)(handler)


_pop("lpop", left=True)
_pop("rpop", left=False)


@command("lmpop", -4)
def lmpop(store: Database, args: Args) -> Reply:
    """The first of some lists that is there: its key, and elements from one end of it."""
    keys, left, most = keys_to_pop(args, (b"LEFT", b"RIGHT"))
    for key in keys:
        elements = store.get(key, List)
        if elements is not None:
            return [key, _take_several(store, key, elements, most, left=left)]
    return None


@command("llen", 2)
def llen(store: Database, args: Args) -> Reply:
    return len(store.get(args[0], List) or ())


def _span(start: int, end: int, size: int) -> tuple[int, int]:
    """Bounds of a slice for inclusive indexes that may count from the end."""
    first = max(0, start + size if start < 0 else start)
    last = min(size - 1, end + size if end < 0 else end)
    return (first, last + 1) if first <= last else (0, 0)


@command("lrange", 4)
def lrange(store: Database, args: Args) -> Reply:
    start, end = integer(args[1]), integer(args[2])
    elements = store.get(args[0], List) or List()
    return list(islice(elements, *_span(start, end, len(elements))))


@command("ltrim", 4)
def ltrim(store: Database, args: Args) -> Reply:
    start, end = integer(args[1]), integer(args[2])
    elements = store.get(args[0], List)
    if elements is not None:
        first, stop = _span(start, end, len(elements))
        removed = len(elements) - (stop - first)
        kept = list(islice(elements, first, stop))
        elements.clear()
        elements.extend(kept)
        store.changes += removed
        store.announce("ltrim", args[0])
        store.drop_if_empty(args[0])
    return OK


def _index(elements: List, index: int) -> int | None:
    place = index + len(elements) if index < 0 else index
    return place if 0 <= place < len(elements) else None


@command("lindex", 3)
def lindex(store: Database, args: Args) -> Reply:
    elements = store.get(args[0], List)
    if elements is None:
        return None
    place = _index(elements, integer(args[1]))
    return None if place is None else elements[place]


def _truncated(index: int) -> int:
    """LSET alone keeps only 32 bits of its index."""
    return ((index + (1 << 31)) & ((1 << 32) - 1)) - (1 << 31)


@command("lset", 4)
def lset(store: Database, args: Args) -> Reply:
    elements = store.get(args[0], List)
    if elements is None:
        fail(NO_SUCH_KEY)
    place = _index(elements, _truncated(integer(args[1])))
    if place is None:
        fail("ERR index out of range")
    elements[place] = args[2]
    store.changed(args[0], "lset")
    return OK


@command("linsert", 5)
def linsert(store: Database, args: Args) -> Reply:
    where = args[1].upper()
    if where not in (b"BEFORE", b"AFTER"):
        fail(SYNTAX)
    elements = store.get(args[0], List)
    if elements is None:
        return 0
    if args[2] not in elements:
        return -1
    elements.insert(elements.index(args[2]) + (where == b"AFTER"), args[3])
    store.changed(args[0], "linsert")
    return len(elements)


def _symmetric(text: bytes) -> int:
    """An integer that can be negated."""
    value = integer(text)
    if value == INTEGER_MIN:
        fail("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
    return value


@command("lrem", 4)
def lrem(store: Database, args: Args) -> Reply:
    count = _symmetric(args[1])
    elements = store.get(args[0], List)
    if elements is None:
        return 0
    places = [place for place, element in enumerate(elements) if element == args[2]]
    doomed = places[count:] if count < 0 else places[: count or None]
    for place in reversed(doomed):
        del elements[place]
    store.changed(args[0], "lrem", by=len(doomed))
    store.drop_if_empty(args[0])
    return len(doomed)


def _move(store: Database, source: bytes, target: bytes, *, from_left: bool, to_left: bool) -> Reply:
    elements = store.get(source, List)
    if elements is None:
        return None
    store.get(target, List)
    element = elements.popleft() if from_left else elements.pop()
    receiver = store.get_or_create(target, List)
    (receiver.appendleft if to_left else receiver.append)(element)
    store.announce("lpush" if to_left else "rpush", target)
    store.changed(source, "lpop" if from_left else "rpop")
    store.drop_if_empty(source)
    return element


@command("rpoplpush", 3)
def rpoplpush(store: Database, args: Args) -> Reply:
    return _move(store, args[0], args[1], from_left=False, to_left=True)


@command("lmove", 5)
def lmove(store: Database, args: Args) -> Reply:
    ends = [word.upper() for word in args[2:]]
    if any(end not in _ENDS for end in ends):
        fail(SYNTAX)
    return _move(store, args[0], args[1], from_left=ends[0] == b"LEFT", to_left=ends[1] == b"LEFT")


_RANK_ZERO = (
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... "
    "or use negative to start from the end of the list"
)


def _rank(text: bytes) -> int:
    return _symmetric(text) or fail(_RANK_ZERO)


_LPOS: dict[bytes, Callable[[bytes], int]] = {
    b"RANK": _rank,
    b"COUNT": lambda text: positive(text, "ERR COUNT can't be negative"),
    b"MAXLEN": lambda text: positive(text, "ERR MAXLEN can't be negative"),
}


@command("lpos", -3)
def lpos(store: Database, args: Args) -> Reply:
    options: dict[bytes, int] = {}
    for index in range(2, len(args), 2):
        option = args[index].upper()
        if option not in _LPOS or index + 1 == len(args):
            fail(SYNTAX)
        options[option] = _LPOS[option](args[index + 1])
    elements = store.get(args[0], List)
    rank, count = options.get(b"RANK", 1), options.get(b"COUNT")
    found = _positions(elements or List(), args[1], rank=rank, compare=options.get(b"MAXLEN", 0))
    if count is None:
        return found[0] if found else None
    return found[: count or None]


def _positions(elements: List, wanted: bytes, *, rank: int, compare: int) -> list[int]:
    """Return where ``wanted`` is, from the match number ``rank`` on, within the first ``compare`` elements
    looked at.
    """
    size = len(elements)
    order = range(size) if rank > 0 else range(size - 1, -1, -1)
    looked_at = list(order)[: compare or None]
    listed = list(elements)
    return [place for place in looked_at if listed[place] == wanted][abs(rank) - 1 :]
