"""GEOSEARCH, GEORADIUS and their kin: the members within a circle, a box or a polygon."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from zonelab.cluster.sim.redis.commands.geo import (
    read_place,
    read_unit,
    written_distance,
    written_place,
)
from zonelab.cluster.sim.redis.commands.sortedset_combinations import put_sorted_set
from zonelab.cluster.sim.redis.geo_shapes import Box, Circle, Polygon, Shape
from zonelab.cluster.sim.redis.geohash import GeoPoint, GridCell, cells_around, place_of
from zonelab.cluster.sim.redis.numbers import double, integer
from zonelab.cluster.sim.redis.partial_sort import partly_sorted
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, NamingError, fail, text
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import SortedSet
from zonelab.engine.ports import Reply

_SHOWN = (b"WITHDIST", b"WITHHASH", b"WITHCOORD")


@dataclass(slots=True)
class _Found:
    member: bytes
    score: float
    place: GeoPoint
    distance_m: float


@dataclass
class _GeoSearch:
    """A command's wishes, read word by word.

    ``searching``: GEOSEARCH or, if ``storing``, GEOSEARCHSTORE. ``anchor``: the option that named the centre, which is
    unknown if there is no key.
    """

    searching: bool
    storing: bool
    entries: SortedSet | None
    centre: GeoPoint | None = None
    anchor: bytes = b""
    shape: Shape | None = None
    shown: list[bytes] = field(default_factory=list)
    any: bool = False
    order: bytes = b""
    count: int = 0
    target: bytes | None = None
    by_distance: bool = False
    may_store: bool = False

    def at_member(self, member: bytes) -> None:
        if self.entries is not None:
            score = self.entries.scores.get(member)
            self.centre = fail(f"ERR member {text(member)} does not exist") if score is None else place_of(score)

    def within_radius(self, words: Args) -> None:
        radius = double(words[0], "ERR need numeric radius")
        if radius < 0:
            fail("ERR radius cannot be negative")
        self.shape = Circle(radius, read_unit(words[1]))

    def within_box(self, words: Args) -> None:
        width = double(words[0], "ERR need numeric width")
        height = double(words[1], "ERR need numeric height")
        if width < 0 or height < 0:
            fail("ERR height or width cannot be negative")
        self.shape = Box(width, height, read_unit(words[2]))

    def within_polygon(self, words: Args) -> int:
        """Return the number of its words."""
        count = integer(words[0], "ERR invalid number of vertices")
        if not -(1 << 31) <= count < 1 << 31:
            fail("ERR invalid number of vertices")
        if not 3 <= count <= (len(words) - 1) // 2:
            fail("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices")
        corners = words[1 : 1 + 2 * count]
        polygon = Polygon(tuple(map(read_place, corners[::2], corners[1::2])))
        self.shape, self.centre, self.anchor = polygon, polygon.centre(), b"BYPOLYGON"
        return 1 + 2 * count

    def read(self, words: Args) -> None:
        at = 0
        while at < len(words):
            at += 1 + self._read(words[at].upper(), words[at + 1 :])

    def _read(self, option: bytes, rest: Args) -> int:
        """Take one option; the number of its further words."""
        if option in _SHOWN:
            self.shown.append(option)
        elif option == b"ANY":
            self.any = True
        elif option in (b"ASC", b"DESC"):
            self.order = option
        elif option == b"COUNT" and rest:
            self.count = integer(rest[0])
            if self.count <= 0:
                fail("ERR COUNT must be > 0")
            return 1
        elif option in (b"STORE", b"STOREDIST") and rest and self.may_store:
            self.target, self.by_distance = rest[0], option == b"STOREDIST"
            return 1
        elif self.searching:
            return self._read_search(option, rest)
        else:
            fail(SYNTAX)
        return 0

    def _read_search(self, option: bytes, rest: Args) -> int:
        if option == b"FROMMEMBER" and rest and self.anchor in (b"", option):
            self.at_member(rest[0])
            self.anchor = option
            return 1
        if option == b"FROMLONLAT" and len(rest) > 1 and self.anchor in (b"", option):
            self.centre = read_place(rest[0], rest[1])
            self.anchor = option
            return 2
        if option == b"BYRADIUS" and len(rest) > 1 and isinstance(self.shape, Circle | None):
            self.within_radius(rest)
            return 2
        if option == b"BYBOX" and len(rest) > 2 and isinstance(self.shape, Box | None):
            self.within_box(rest)
            return 3
        if option == b"BYPOLYGON" and len(rest) > 1 and isinstance(self.shape, Polygon | None):
            return self.within_polygon(rest) if self.anchor in (b"", option) else fail(SYNTAX)
        if option == b"STOREDIST" and self.storing:
            self.by_distance = True
            return 0
        return fail(SYNTAX)

    def check(self) -> None:
        """Fail if options do not go together, or one is missing."""
        if self.target is not None and self.shown:
            who = "GEOSEARCHSTORE" if self.storing else "STORE option in GEORADIUS"
            fail(f"ERR {who} is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
        if self.searching and not self.anchor:
            raise NamingError("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {}")
        if self.searching and self.shape is None:
            raise NamingError("ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for {}")
        if self.any and not self.count:
            fail("ERR the ANY argument requires COUNT argument")

    def found(self) -> list[_Found]:
        found = list(self._matching())
        order = self.order or (b"ASC" if self.count and not self.any else b"")
        if order:
            last = (self.count or len(found)) - 1
            found = partly_sorted(found, lambda each: each.distance_m, 0, last, reverse=order == b"DESC")
        return found[: self.count or None]

    def _matching(self) -> Iterator[_Found]:
        assert self.entries is not None
        assert self.shape is not None
        assert self.centre is not None
        centre = self.centre
        cells = cells_around(centre, self.shape.bounds(centre), reach_m=self.shape.reach_m(centre))
        last, count = 0, 0
        for number, cell in enumerate(cells):
            if cell is None or (last and cell == cells[last]):
                continue
            last = number
            for each in self._within(cell):
                yield each
                count += 1
                if self.any and count >= self.count:
                    return

    def _within(self, cell: GridCell) -> Iterator[_Found]:
        assert self.entries is not None
        assert self.shape is not None
        assert self.centre is not None
        low, high = cell.scores
        ranks = self.entries.first_from(low, exclusive=False), self.entries.first_from(high, exclusive=False)
        for score, member in self.entries.between(*ranks):
            place = place_of(score)
            distance = self.shape.distance_m(self.centre, place)
            if distance is not None:
                yield _Found(member, score, place, distance)


def _answer(store: Database, search: _GeoSearch) -> Reply:
    event = "geosearchstore" if search.storing else "georadiusstore"
    if search.entries is None:
        return [] if search.target is None else put_sorted_set(store, search.target, [], event=event)
    found = search.found()
    assert search.shape is not None
    unit_m = search.shape.unit_m
    if search.target is not None:
        scored = [(each.distance_m / unit_m if search.by_distance else each.score, each.member) for each in found]
        return put_sorted_set(store, search.target, sorted(scored), event=event)
    if not search.shown:
        return [each.member for each in found]
    return [_described(each, search.shown, unit_m) for each in found]


def _described(found: _Found, shown: list[bytes], unit_m: float) -> list[Reply]:
    described: list[Reply] = [found.member]
    if b"WITHDIST" in shown:
        described.append(written_distance(found.distance_m / unit_m))
    if b"WITHHASH" in shown:
        described.append(int(found.score))
    if b"WITHCOORD" in shown:
        described.append(written_place(found.place))
    return described


def _search(name: str, arity: int, *, storing: bool) -> None:
    def handler(store: Database, args: Args) -> Reply:
        words = args[1:] if storing else args
        search = _GeoSearch(searching=True, storing=storing, entries=store.get(words[0], SortedSet))
        search.target = args[0] if storing else None
        search.read(words[1:])
        search.check()
        return _answer(store, search)

    command(name, arity)(handler)


_search("geosearch", -7, storing=False)
_search("geosearchstore", -8, storing=True)

_Begin = Callable[[_GeoSearch, Args], int]


def _at_place(search: _GeoSearch, args: Args) -> int:
    search.centre = read_place(args[1], args[2])
    search.within_radius(args[3:5])
    return 5


def _at_member(search: _GeoSearch, args: Args) -> int:
    search.at_member(args[1])
    if search.entries is not None:
        search.within_radius(args[2:4])
    return 4


def _radius(name: str, arity: int, begin: _Begin, *, may_store: bool) -> None:
    def handler(store: Database, args: Args) -> Reply:
        entries = store.get(args[0], SortedSet)
        search = _GeoSearch(searching=False, storing=False, entries=entries, may_store=may_store)
        search.read(args[begin(search, args) :])
        search.check()
        return _answer(store, search)

    command(name, arity)(handler)


_radius("georadius", -6, _at_place, may_store=True)
_radius("georadius_ro", -6, _at_place, may_store=False)
_radius("georadiusbymember", -5, _at_member, may_store=True)
_radius("georadiusbymember_ro", -5, _at_member, may_store=False)
