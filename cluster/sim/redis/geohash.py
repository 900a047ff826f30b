"""Places on the earth as 52 bits, and distances: what scores of a geo key mean.

Source: ``geohash.c``, ``geohash_helper.c`` of Valkey 9 (https://github.com/valkey-io/valkey). Degrees, metres.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

LONGITUDE_MAX = 180.0
LATITUDE_MAX = 85.05112878
STEP_MAX = 26
_EARTH_RADIUS_M = 6372797.560856
_MERCATOR_MAX_M = 20037726.37
_DEGREE = math.pi / 180.0
_POLAR, _NEAR_POLE = 66, 80
_ALPHABET = b"0123456789bcdefghjkmnpqrstuvwxyz"
_TEXT_LENGTH = 11
_SAME_LONGITUDE = 1e-15
_MASK = (1 << 64) - 1
_TOO_LARGE = 1 << 63


class GeoPoint(NamedTuple):
    """A point in degrees."""

    longitude: float
    latitude: float


@dataclass(frozen=True, slots=True)
class GridCell:
    """A rectangle of the grid that has 2^``step`` columns and rows."""

    step: int
    column: int
    row: int

    @property
    def bits(self) -> int:
        return _spread(self.row) | _spread(self.column) << 1

    @property
    def scores(self) -> tuple[int, int]:
        """Return the first score within the cell, and the first one behind it."""
        shift = 52 - 2 * self.step
        return self.bits << shift, self.bits + 1 << shift

    def moved(self, columns: int, rows: int) -> "GridCell":
        """Return the cell that lies so many columns to the east and rows to the north; the grid has no border."""
        mask = (1 << self.step) - 1
        column = self.column + columns & mask if columns else self.column
        return GridCell(self.step, column, self.row + rows & mask if rows else self.row)

    @property
    def west(self) -> float:
        return _edge(self.column, self.step, LONGITUDE_MAX)

    @property
    def east(self) -> float:
        return _edge(self.column + 1, self.step, LONGITUDE_MAX)

    @property
    def south(self) -> float:
        return _edge(self.row, self.step, LATITUDE_MAX)

    @property
    def north(self) -> float:
        return _edge(self.row + 1, self.step, LATITUDE_MAX)


def _edge(index: int, step: int, bound: float) -> float:
    return -bound + index * 1.0 / (1 << step) * (bound - -bound)


def _spread(number: int) -> int:
    """Return ``number`` with a zero in front of each of its bits."""
    return int(f"{number:b}", 4)


def _gathered(bits: int) -> int:
    """Return every other bit, the lowest one included."""
    return int("0" + f"{bits:064b}"[1::2], 2)


def cell_at(place: GeoPoint, step: int, *, latitude_max: float = LATITUDE_MAX) -> GridCell:
    """Return the cell of a grid that ``place`` is in."""
    row = (place.latitude + latitude_max) / (latitude_max - -latitude_max) * (1 << step)
    column = (place.longitude + LONGITUDE_MAX) / (LONGITUDE_MAX - -LONGITUDE_MAX) * (1 << step)
    return GridCell(step, int(column) & 0xFFFFFFFF, int(row) & 0xFFFFFFFF)


def score_at(place: GeoPoint) -> int:
    """Return the score of a member at ``place``."""
    return cell_at(place, STEP_MAX).bits


def place_of(score: float) -> GeoPoint:
    """Return where a member with this score is: the middle of its cell."""
    if abs(score) < 2 * _TOO_LARGE and score >= -_TOO_LARGE:
        bits = int(score) & _MASK
    else:
        bits = 0 if score > 0 else _TOO_LARGE
    cell = GridCell(STEP_MAX, _gathered(bits >> 1), _gathered(bits))
    longitude, latitude = (cell.west + cell.east) / 2, (cell.south + cell.north) / 2
    return GeoPoint(_within(longitude, LONGITUDE_MAX), _within(latitude, LATITUDE_MAX))


def _within(value: float, bound: float) -> float:
    return max(-bound, min(bound, value))


def geohash_text(place: GeoPoint) -> bytes:
    """Return the usual geohash of 11 letters, whose grid goes to the poles."""
    bits = cell_at(place, STEP_MAX, latitude_max=90.0).bits
    letters = [bits >> 52 - 5 * number & 31 for number in range(1, _TEXT_LENGTH)]
    return bytes(_ALPHABET[letter] for letter in (*letters, 0))


def latitude_distance_m(one: float, other: float) -> float:
    return _EARTH_RADIUS_M * abs(other * _DEGREE - one * _DEGREE)


def distance_m(one: GeoPoint, other: GeoPoint) -> float:
    """Return the great-circle distance."""
    v = math.sin((other.longitude * _DEGREE - one.longitude * _DEGREE) / 2)
    if abs(v) <= _SAME_LONGITUDE:
        return latitude_distance_m(one.latitude, other.latitude)
    north, south = one.latitude * _DEGREE, other.latitude * _DEGREE
    u = math.sin((south - north) / 2)
    a = u * u + math.cos(north) * math.cos(south) * v * v
    return 2.0 * _EARTH_RADIUS_M * math.asin(math.sqrt(a))


class DegreeBounds(NamedTuple):
    """Edges of a rectangle in degrees."""

    west: float
    south: float
    east: float
    north: float


def bounds_around(centre: GeoPoint, *, width_m: float, height_m: float) -> DegreeBounds:
    """Return what lies within ``width_m`` to the west and east of ``centre``, ``height_m`` to the south and north."""
    up = height_m / _EARTH_RADIUS_M / _DEGREE
    nearer_pole = centre.latitude - up if centre.latitude < 0 else centre.latitude + up
    across = width_m / _EARTH_RADIUS_M / math.cos(nearer_pole * _DEGREE) / _DEGREE
    return DegreeBounds(
        centre.longitude - across, centre.latitude - up, centre.longitude + across, centre.latitude + up
    )


def cells_around(centre: GeoPoint, bounds: DegreeBounds, *, reach_m: float) -> list[GridCell | None]:
    """Return the cells that hold all within ``bounds``: that of ``centre`` first, then N, S, E, W, NE, NW, SE, SW.

    Those that need not be looked at are None. There is none at all if a polygon's centre lies beyond the grid.
    ``reach_m``: how far a search goes from its centre.
    """
    if abs(centre.latitude) > LATITUDE_MAX:
        return []
    step = _step_for(reach_m, centre.latitude)
    cell = cell_at(centre, step)
    too_small = (
        cell.moved(0, 1).north < bounds.north
        or cell.moved(0, -1).south > bounds.south
        or cell.moved(1, 0).east < bounds.east
        or cell.moved(-1, 0).west > bounds.west
    )
    if step > 1 and too_small:
        step -= 1
        cell = cell_at(centre, step)
    if step < 2:
        return [cell.moved(*way) for way in _WAYS]
    columns = {-1: cell.west < bounds.west, 1: cell.east > bounds.east}
    rows = {-1: cell.south < bounds.south, 1: cell.north > bounds.north}
    return [None if columns.get(way[0]) or rows.get(way[1]) else cell.moved(*way) for way in _WAYS]


_WAYS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))


def _step_for(radius_m: float, latitude: float) -> int:
    if radius_m == 0:
        return STEP_MAX
    step = 1
    while radius_m < _MERCATOR_MAX_M:
        radius_m *= 2
        step += 1
    step -= 2 + (abs(latitude) > _POLAR) + (abs(latitude) > _NEAR_POLE)
    return max(1, min(STEP_MAX, step))
