"""Places where an engine keeps a queue's messages in a server, for looking at a queue without using it."""

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from zonelab.engine.ports import Command, Reply
from zonelab.scenarios.spec.engines import shipped
from zonelab.scenarios.spec.queue_settings import QueueSettings

LISTED_MAX = 1_000
"""Entries listed by one command, which blocks the server for less than a millisecond."""


class PlaceKind(StrEnum):
    """The type of a key."""

    SORTED = "sorted set"
    LIST = "list"
    HASH = "hash"
    EACH = "a key a message"


def same(member: str) -> str:
    return member


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """``holds``: as in an end state, ``queue`` (waiting or delayed), ``unack`` (leased), ``dead`` or ``payload``.

    ``key`` is what the key of each message begins with, if each has one. ``unit_ms``: the step of a sorted set's
    scores, which are times; 0 if they are none. ``id_of``: the id of the message that is this member.
    """

    holds: str
    key: str
    kind: PlaceKind
    shard: str | None = None
    unit_ms: int = 0
    id_of: Callable[[str], str] = same

    def counting(self, now_ms: int) -> tuple[Command, ...]:
        """Commands whose replies ``Held.of`` understands; none if nothing can be counted here."""
        if self.kind is PlaceKind.SORTED:
            until = now_ms // self.unit_ms if self.unit_ms else "+inf"
            due: Command = ("ZCOUNT", self.key, "-inf", until)
            return ("ZCARD", self.key), due, ("ZRANGE", self.key, 0, 0, "WITHSCORES")
        return {PlaceKind.LIST: (("LLEN", self.key),), PlaceKind.HASH: (("HLEN", self.key),)}.get(self.kind, ())

    def listing(self) -> Command | None:
        """The first ``LISTED_MAX`` members, of a hash all of them: to be asked of a small one."""
        commands: dict[PlaceKind, Command] = {
            PlaceKind.SORTED: ("ZRANGE", self.key, 0, LISTED_MAX - 1),
            PlaceKind.LIST: ("LRANGE", self.key, 0, LISTED_MAX - 1),
            PlaceKind.HASH: ("HKEYS", self.key),
        }
        return commands.get(self.kind)

    def finding(self, message_id: str) -> Command | None:
        """Return what ``has`` understands the reply to: a look for the message, or a listing if only that shows it."""
        if self.id_of is not same:
            return self.listing()
        commands: dict[PlaceKind, Command] = {
            PlaceKind.SORTED: ("ZSCORE", self.key, message_id),
            PlaceKind.LIST: ("LPOS", self.key, message_id),
            PlaceKind.HASH: ("HEXISTS", self.key, message_id),
            PlaceKind.EACH: ("EXISTS", self.key + message_id),
        }
        return commands[self.kind]

    def has(self, message_id: str, reply: Reply) -> bool:
        """Return whether the message is here, by the ``reply`` to ``finding``."""
        if isinstance(reply, list):
            return message_id in {self.id_of(one.decode(errors="replace")) for one in reply if isinstance(one, bytes)}
        return reply is not None and (reply != 0 or self.kind is PlaceKind.LIST)

    def time_ms(self, score: float) -> float | None:
        """Return what a score means, by the clock of those who use the queue."""
        return score * self.unit_ms if self.unit_ms else None


class HasPlaces(Protocol):
    """An adapter that knows where its queue is. ``name`` and ``prefix`` take the place of its own."""

    @staticmethod
    def places(
        queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
    ) -> Sequence[Place]: ...


def places_of(
    queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
) -> Sequence[Place]:
    """Return the places of the engine that ``queue`` names, or of the user's own if it offers ``places``; else none."""
    adapter = pkgutil.resolve_name(queue.factory or shipped(queue).make)
    places = getattr(adapter, "places", None)
    return places(queue, zones, name=name, prefix=prefix) if places is not None else ()
