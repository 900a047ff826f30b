"""End state of the zones: how much of it was read, and where it has a message."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zonelab.analysis.checkers.queue.events import PLACES, Bools, States


@dataclass(frozen=True, kw_only=True, slots=True)
class EndState:
    """End state of the zones, as far as it can prove anything.

    ``drained``: the drain phase came to its end, so what is still listed is stuck. ``complete``: every zone was read.
    ``unread_shards``: codes of shards whose serving zone was not read. ``zones``: zone names by code. ``drained_ms``:
    the wall clock at the end of the drain, if there was one, and ``drained_ns`` the run time. ``zones_read``: how many
    zones there are, if all were read, else 0.
    """

    drained: bool
    complete: bool
    unread_shards: tuple[int, ...]
    zones: tuple[str, ...]
    drained_ms: int | None
    drained_ns: int | None
    zones_read: int

    def whereabouts(self, states: States, chosen: Bools) -> list[str]:
        """Return where each ``chosen`` message sits, zone by zone, in the order of their numbers."""
        found = defaultdict[int, dict[str, list[str]]](dict)
        rows = np.flatnonzero(chosen[states.message])
        for row in rows[np.lexsort((states.place[rows], states.zone[rows]))].tolist():
            zones = found[int(states.message[row])]
            zones.setdefault(self.zones[states.zone[row]], []).append(PLACES[states.place[row]])
        return [_in_words(found[message]) for message in np.flatnonzero(chosen).tolist()]


def _in_words(places: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{zone}: {', '.join(places[zone])}" for zone in sorted(places))
