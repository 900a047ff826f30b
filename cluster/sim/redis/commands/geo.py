"""Commands on places: sorted sets whose scores are geohashes. Searches are in ``geo_search``."""

import numpy as np

from zonelab.cluster.sim.redis.commands.sortedsets import parse_addition, zadd
from zonelab.cluster.sim.redis.geohash import (
    LATITUDE_MAX,
    LONGITUDE_MAX,
    GeoPoint,
    distance_m,
    geohash_text,
    place_of,
    score_at,
)
from zonelab.cluster.sim.redis.numbers import double, format_long_double
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import SortedSet
from zonelab.engine.ports import Reply

_FLAGS = (b"NX", b"XX", b"CH")
_METRES = {b"M": 1.0, b"KM": 1000.0, b"FT": 0.3048, b"MI": 1609.34}


def read_place(longitude: bytes, latitude: bytes) -> GeoPoint:
    """Return the place that two words name, or fail."""
    place = GeoPoint(double(longitude), double(latitude))
    if abs(place.longitude) <= LONGITUDE_MAX and abs(place.latitude) <= LATITUDE_MAX:
        return place
    return fail(f"ERR invalid longitude,latitude pair {place.longitude:f},{place.latitude:f}")


def read_unit(word: bytes) -> float:
    """Return the metres of a unit, or fail."""
    return _METRES.get(word.upper()) or fail("ERR unsupported unit provided. please use M, KM, FT, MI")


def written_distance(distance: float) -> bytes:
    """Return a distance with four decimals, as the server rounds it."""
    whole, fraction = divmod(round(distance * 10_000), 10_000)
    return b"%d.%04d" % (whole, fraction)


def written_place(place: GeoPoint) -> list[Reply]:
    """Return longitude and latitude as they are shown."""
    return [format_long_double(np.longdouble(degrees)) for degrees in place]


@command("geoadd", -5)
def geoadd(store: Database, args: Args) -> Reply:
    at = 1
    while at < len(args) and args[at].upper() in _FLAGS:
        at += 1
    flags, words = [word.upper() for word in args[1:at]], args[at:]
    if len(words) % 3 or (b"NX" in flags and b"XX" in flags):
        fail(SYNTAX)
    added: Args = []
    for longitude, latitude, member in zip(words[::3], words[1::3], words[2::3], strict=True):
        added += [b"%d" % score_at(read_place(longitude, latitude)), member]
    return zadd(store, parse_addition([args[0], *flags, *added]))


def _places(store: Database, args: Args) -> list[GeoPoint | None]:
    entries = store.get(args[0], SortedSet)
    scores = [None if entries is None else entries.scores.get(member) for member in args[1:]]
    return [None if score is None else place_of(score) for score in scores]


@command("geodist", -4)
def geodist(store: Database, args: Args) -> Reply:
    if len(args) > 4:
        fail(SYNTAX)
    metres = read_unit(args[3]) if len(args) == 4 else 1.0
    one, other = _places(store, args[:3])
    return None if one is None or other is None else written_distance(distance_m(one, other) / metres)


@command("geohash", -2)
def geohash(store: Database, args: Args) -> Reply:
    return [None if place is None else geohash_text(place) for place in _places(store, args)]


@command("geopos", -2)
def geopos(store: Database, args: Args) -> Reply:
    return [None if place is None else written_place(place) for place in _places(store, args)]
