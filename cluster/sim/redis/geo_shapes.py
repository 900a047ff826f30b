"""Shapes of a search among places: circles, boxes and polygons, as ``geohash_helper.c`` of Valkey 9 has them."""

import math
from dataclasses import dataclass
from typing import Protocol

from zonelab.cluster.sim.redis.geohash import DegreeBounds, GeoPoint, bounds_around, distance_m, latitude_distance_m


class Shape(Protocol):
    """A shape around a place. ``unit_m``: metres of the unit in which distances are shown."""

    @property
    def unit_m(self) -> float: ...

    def bounds(self, centre: GeoPoint) -> DegreeBounds: ...

    def reach_m(self, centre: GeoPoint) -> float:
        """Return how far the shape goes from its centre."""
        ...

    def distance_m(self, centre: GeoPoint, place: GeoPoint) -> float | None:
        """Return how far ``place`` is from the centre; None if it lies outside."""
        ...


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle whose ``radius`` is in units."""

    radius: float
    unit_m: float

    def bounds(self, centre: GeoPoint) -> DegreeBounds:
        return bounds_around(centre, width_m=self.reach_m(centre), height_m=self.reach_m(centre))

    def reach_m(self, centre: GeoPoint) -> float:
        return self.radius * self.unit_m

    def distance_m(self, centre: GeoPoint, place: GeoPoint) -> float | None:
        distance = distance_m(centre, place)
        return distance if distance <= self.reach_m(centre) else None


@dataclass(frozen=True, slots=True)
class Box:
    """A box whose sides are in units."""

    width: float
    height: float
    unit_m: float

    def bounds(self, centre: GeoPoint) -> DegreeBounds:
        return bounds_around(centre, width_m=self.unit_m * self.width / 2, height_m=self.unit_m * self.height / 2)

    def reach_m(self, centre: GeoPoint) -> float:
        half_width, half_height = self.width / 2, self.height / 2
        return math.sqrt(half_width * half_width + half_height * half_height) * self.unit_m

    def distance_m(self, centre: GeoPoint, place: GeoPoint) -> float | None:
        if latitude_distance_m(place.latitude, centre.latitude) > self.height * self.unit_m / 2:
            return None
        if distance_m(place, GeoPoint(centre.longitude, place.latitude)) > self.width * self.unit_m / 2:
            return None
        return distance_m(centre, place)


@dataclass(frozen=True, slots=True)
class Polygon:
    """A polygon of these corners; its distances are in metres."""

    corners: tuple[GeoPoint, ...]
    unit_m: float = 1.0

    def centre(self) -> GeoPoint:
        """Return the middle of the corners, on the globe."""
        x = y = z = 0.0
        for corner in self.corners:
            longitude, latitude = math.radians(corner.longitude), math.radians(corner.latitude)
            x += math.cos(latitude) * math.cos(longitude)
            y += math.cos(latitude) * math.sin(longitude)
            z += math.sin(latitude)
        return GeoPoint(math.degrees(math.atan2(y, x)), math.degrees(math.atan2(z, math.sqrt(x * x + y * y))))

    def bounds(self, centre: GeoPoint) -> DegreeBounds:
        longitudes = [corner.longitude for corner in self.corners]
        latitudes = [corner.latitude for corner in self.corners]
        return DegreeBounds(min(longitudes), min(latitudes), max(longitudes), max(latitudes))

    def reach_m(self, centre: GeoPoint) -> float:
        west, south, east, north = self.bounds(centre)
        return max(
            distance_m(centre, GeoPoint(*corner))
            for corner in ((west, north), (east, north), (west, south), (east, south))
        )

    def distance_m(self, centre: GeoPoint, place: GeoPoint) -> float | None:
        """Return as the others do; a ray to the east of ``place`` shows whether that lies inside."""
        inside = False
        before = self.corners[-1]
        for corner in self.corners:
            if (corner.latitude > place.latitude) != (before.latitude > place.latitude):
                run, rise = before.longitude - corner.longitude, before.latitude - corner.latitude
                inside ^= place.longitude < run * (place.latitude - corner.latitude) / rise + corner.longitude
            before = corner
        return distance_m(centre, place) if inside else None
