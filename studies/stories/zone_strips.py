"""States of one message in each zone of a simulated run, from instant to instant: waiting, leased, payload only, gone.

Who looks on listens to the keys of the queue at each server, so a change is seen in whatever way it came: by a vote, a
hint, a repair, or from the disk. It is no part of the run, whose events are the same with it.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.sim.server import SimServer
from zonelab.scenarios.queues.places import Place, PlaceKind

ABSENT, GONE, DOWN, UNKNOWN = "absent", "gone", "no server", "unknown"

_WORDS = {"queue": "waiting", "unack": "leased", "dead": "dead letter"}
_PAYLOAD = "payload"


@dataclass(frozen=True, slots=True)
class Span:
    """A time, in ns of run time, in which a zone has a message in one ``state``."""

    begin_ns: int
    end_ns: int
    state: str


class ZoneStrips:
    """The states of ``message_id``, of a queue with these ``places``, in each zone of the cluster that is watched."""

    def __init__(self, message_id: str, places: Sequence[Place]) -> None:
        self._message_id = message_id
        self._places = places
        self._changes: dict[str, list[tuple[int, str]]] = {}

    def watch(self, cluster: SimCluster) -> None:
        """Listen to every server of ``cluster``, from its begin on."""
        keys = list(dict.fromkeys(map(self._key, self._places)))
        for name, zone in cluster.zones.items():
            self._changes[name] = [(0, DOWN)]
            zone.server.listen(keys, partial(self._changed, cluster, name, zone.server))

    def spans(self, *, end_ns: int) -> dict[str, tuple[Span, ...]]:
        """Return for each zone its states until ``end_ns``, in the order of time."""
        return {zone: spans_of(changes, end_ns=end_ns) for zone, changes in self._changes.items()}

    def _key(self, place: Place) -> bytes:
        return (place.key + (self._message_id if place.kind is PlaceKind.EACH else "")).encode()

    def _changed(self, cluster: SimCluster, zone: str, server: SimServer) -> None:
        changes = self._changes[zone]

        def state() -> str:
            if not server.listening:
                return DOWN
            return state_of(self._places, [one for one in self._places if self._is_in(server, one)], changes)

        note_state(changes, cluster.runtime.now_ns(), state)

    def _is_in(self, server: SimServer, place: Place) -> bool:
        command = place.finding(self._message_id)
        return command is not None and place.has(self._message_id, server.look(command))


def note_state(changes: list[tuple[int, str]], now_ns: int, state: Callable[[], str]) -> None:
    """Add a state to ``changes``; of several at one instant, as of a script, the last one counts."""
    if len(changes) > 1 and changes[-1][0] == now_ns:
        changes.pop()
    if (after := state()) != changes[-1][1]:
        changes.append((now_ns, after))


def spans_of(every: Sequence[tuple[int, str]], *, end_ns: int) -> tuple[Span, ...]:
    """Return the spans of states, each from the time at which it began, until ``end_ns``."""
    changes = [one for one in every if one[0] < end_ns]
    ends = [*(time_ns for time_ns, _ in changes[1:]), end_ns]
    return tuple(Span(time_ns, until_ns, state) for (time_ns, state), until_ns in zip(changes, ends, strict=True))


def state_of(places: Sequence[Place], held: Collection[Place], changes: Sequence[tuple[int, str]]) -> str:
    """Return the state of a message that is in ``held`` of a queue's ``places``, after ``changes``."""
    holds = {place.holds for place in held}
    listed = " and ".join(word for name, word in _WORDS.items() if name in holds)
    if not holds:
        return GONE if any(one not in (ABSENT, DOWN, UNKNOWN) for _, one in changes) else ABSENT
    if not listed:
        return "payload only"
    lacks = _PAYLOAD not in holds and any(place.holds == _PAYLOAD for place in places)
    return f"{listed}, no payload" if lacks else listed
