"""One queue in every server: counts at its places, how far zones differ, and where a message is.

It is read past the coordinators, by a pipeline that ends with TIME: what the server counted was so at that time of its
own. All commands are reads whose cost does not grow with the queue; ids are compared only while they are few.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zonelab.app.monitor.readings import SHARED_S, WAIT_S, GaugeReading, Readings
from zonelab.engine.ports import Command, Connection, PortError, ServerError
from zonelab.scenarios.queues.places import LISTED_MAX, Place, PlaceKind

KEYS_MAX = 200
"""Most rows of single keys that a page gets."""

_FRESH_MS = 2_000
_TIMED = ("queue", "unack")


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """``entries`` of a place, of which ``due`` may be delivered now, or are leases that have ended; ``next_ms``: when
    the earliest falls due, or ends."""

    entries: int
    due: int
    next_ms: float | None = None


@dataclass(frozen=True, slots=True)
class ServerHolds:
    """``by_place``: in the order of the places, None where nothing can be counted. ``ids``: None if they are many."""

    server_ms: int
    by_place: tuple[PlaceCount | None, ...]
    ids: Mapping[tuple[str, str | None], frozenset[str]] | None


@dataclass
class WatchedQueue:
    """``servers``: by node. ``zone_of``: node → zone; a zone's figures are the sums over its nodes."""

    name: str
    engine: str
    places: Sequence[Place]
    servers: Mapping[str, Connection]
    zone_of: Mapping[str, str]
    _readings: Readings[ServerHolds] = field(init=False)
    _missing: frozenset[Any] = field(init=False, default=frozenset())
    _compared: dict[str, Any] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        sources = {node: self._reader(node) for node in self.servers}
        self._readings = Readings(sources, now_ns=time.monotonic_ns)

    async def look(self, *, within_s: float = WAIT_S, shared_s: float = SHARED_S) -> None:
        await self._readings.look(within_s=within_s, shared_s=shared_s)

    def close(self) -> None:
        self._readings.close()

    def shown(self) -> dict[str, Any]:
        """Figures of each zone, of each shard in a server, and of each key that is not empty everywhere."""
        answered = self._readings.latest
        latest = {node: answered[node] for node in self.servers if node in answered}  # not as they first answered
        zones = dict.fromkeys(self.zone_of.values())
        return {
            "queue": self.name,
            "engine": self.engine,
            "zones": [self._zone(zone, [latest.get(node) for node in self._nodes(zone)]) for zone in zones],
            "shards": self._shards(latest),
            "keys": (keys := list(self._keys(latest)))[:KEYS_MAX],
            "keys_left_out": max(0, len(keys) - KEYS_MAX),
            "ids": self._ids(latest),
        }

    async def find(self, message_id: str) -> list[dict[str, Any]]:
        """One entry for each node and place that has the message, or for a node that does not answer."""
        found: list[dict[str, Any]] = []
        for node, server in self.servers.items():
            try:
                found += await self._found(node, server, message_id)
            except (PortError, ServerError) as error:
                found.append({"zone": node, "read_ms": None, "error": str(error)})
        return found

    def _nodes(self, zone: str) -> list[str]:
        return [node for node, its in self.zone_of.items() if its == zone]

    def _reader(self, node: str) -> Any:
        server = self.servers[node]

        async def read() -> ServerHolds | None:
            try:
                return await self._read(server)
            except (PortError, ServerError):
                return None

        return read

    async def _read(self, server: Connection) -> ServerHolds:
        now_ms = time.time_ns() // 1_000_000
        parts = [place.counting(now_ms) for place in self.places]
        replies = await _asked(server, [command for part in parts for command in part])
        held, at = [], 0
        for place, part in zip(self.places, parts, strict=True):
            held.append(_held(place, replies[at : at + len(part)]) if part else None)
            at += len(part)
        entries = sum(one.entries for one in held if one is not None)
        ids = await self._listed(server) if entries <= LISTED_MAX else None
        return ServerHolds(_ms(replies[-1]), tuple(held), ids)

    async def _listed(self, server: Connection) -> Mapping[tuple[str, str | None], frozenset[str]]:
        listed = [(place, command) for place in self.places if (command := place.listing()) is not None]
        replies = await _asked(server, [command for _, command in listed])
        found: dict[tuple[str, str | None], frozenset[str]] = {}
        for (place, _), members in zip(listed, replies, strict=False):
            ids = frozenset(place.id_of(member.decode(errors="replace")) for member in members)
            where = place.holds, place.shard
            found[where] = found.get(where, frozenset()) | ids
        return found

    def _zone(self, zone: str, readings: Sequence[GaugeReading[ServerHolds] | None]) -> dict[str, Any]:
        """``due``, ``delayed``: of what waits; ``in_flight``: leased; None for what the engine does not distinguish."""
        known = [reading.value for reading in readings if reading is not None]
        if len(known) < len(readings):
            return {"zone": zone, "read_ms": None}
        figures: dict[str, int | None] = dict.fromkeys(("due", "delayed", "in_flight", "dead", "payloads"))
        names = {"unack": "in_flight", "dead": "dead", "payload": "payloads"}
        for holds in known:
            for place, held in zip(self.places, holds.by_place, strict=True):
                if held is None:
                    continue
                if place.holds != "queue":
                    name = names[place.holds]
                    figures[name] = (figures[name] or 0) + held.entries
                else:
                    figures["due"] = (figures["due"] or 0) + held.due
                    figures["delayed"] = (figures["delayed"] or 0) + held.entries - held.due
        return {"zone": zone, "read_ms": min(holds.server_ms for holds in known), **figures}

    def _shards(self, latest: Mapping[str, GaugeReading[ServerHolds]]) -> list[dict[str, Any]]:
        """Over all keys of a server that hold the same of one shard or topic."""
        found: dict[tuple[str, str, str | None], tuple[int, int | None, float | None]] = {}
        for node, reading in latest.items():
            for place, held in zip(self.places, reading.value.by_place, strict=True):
                if held is not None:
                    where = node, place.holds, place.shard
                    entries, due, next_ms = found.get(where, (0, None, None))
                    due = added(due, held.due if place.holds in _TIMED else None)
                    found[where] = entries + held.entries, due, earliest(next_ms, held.next_ms)
        return [
            {"zone": node, "holds": holds, "shard": shard, "entries": entries, "due": due, "next_ms": next_ms}
            for (node, holds, shard), (entries, due, next_ms) in found.items()
        ]

    def _keys(self, latest: Mapping[str, GaugeReading[ServerHolds]]) -> Iterator[dict[str, Any]]:
        for at, place in enumerate(self.places):
            of_nodes = {node: reading.value.by_place[at] for node, reading in latest.items()}
            if not any(held is not None and held.entries for held in of_nodes.values()):
                continue
            for node, held in of_nodes.items():
                if held is not None:
                    yield {
                        "key": place.key,
                        "holds": place.holds,
                        "shard": place.shard,
                        "zone": node,
                        "entries": held.entries,
                        "due": held.due if place.holds in _TIMED else None,
                        "next_ms": held.next_ms,
                        "read_ms": latest[node].value.server_ms,
                    }

    def _ids(self, latest: Mapping[str, GaugeReading[ServerHolds]]) -> dict[str, Any] | None:
        """``missing``: ids that a zone holds at a place and another does not; ``for_long``: in the reading before, too.

        None while there are many, or a zone has not answered of late.
        """
        zones = dict.fromkeys(self.zone_of.values())
        held: dict[str, set[Any]] = {zone: set() for zone in zones}
        read_ms = min((reading.value.server_ms for reading in latest.values()), default=0)
        if len(latest) < len(self.servers) or read_ms < time.time_ns() // 1_000_000 - _FRESH_MS:
            return None
        for node, reading in latest.items():
            if reading.value.ids is None:
                return None
            for where, ids in reading.value.ids.items():
                held[self.zone_of[node]] |= {(*where, one) for one in ids}
        if self._compared is not None and self._compared["read_ms"] == read_ms:
            return self._compared
        every = set[Any]().union(*held.values())
        missing = frozenset(every.difference(set.intersection(*held.values())))
        before, self._missing = self._missing, missing
        counts = {"ids": len(every), "missing": len(missing), "for_long": len(missing & before)}
        self._compared = {**counts, "read_ms": read_ms}
        return self._compared

    async def _found(self, node: str, server: Connection, message_id: str) -> list[dict[str, Any]]:
        asked = [(place, place.finding(message_id)) for place in self.places]
        replies = await _asked(server, [command for _, command in asked if command is not None])
        found = []
        for (place, _), reply in zip(asked, replies, strict=False):
            if not place.has(message_id, reply):
                continue
            scored = place.kind is PlaceKind.SORTED and not isinstance(reply, list)
            at_ms = place.time_ms(float(reply)) if scored else None
            fields = {"zone": node, "holds": place.holds, "shard": place.shard, "key": place.key, "at_ms": at_ms}
            found.append({**fields, "read_ms": _ms(replies[-1])})
        return found or [{"zone": node, "holds": None, "read_ms": _ms(replies[-1])}]


async def _asked(server: Connection, commands: Sequence[Command]) -> list[Any]:
    """The replies, and that of TIME behind them. Raises ``ServerError`` if any is one."""
    replies = await server.execute(*commands, ("TIME",))
    for reply in replies:
        if isinstance(reply, ServerError):
            raise reply
    return replies


def _held(place: Place, replies: Sequence[Any]) -> PlaceCount:
    if place.kind is not PlaceKind.SORTED:
        return PlaceCount(replies[0], replies[0])
    entries, due, first = replies
    return PlaceCount(entries, due, place.time_ms(float(first[1])) if first else None)


def added(one: int | None, other: int | None) -> int | None:
    """None is what nobody knows."""
    return one if other is None else (one or 0) + other


def earliest(one: float | None, other: float | None) -> float | None:
    """The smaller one; None is no time at all."""
    return min((each for each in (one, other) if each is not None), default=None)


def _ms(time_reply: Sequence[bytes]) -> int:
    seconds, microseconds = time_reply
    return int(seconds) * 1_000 + int(microseconds) // 1_000
