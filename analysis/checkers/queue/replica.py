"""Zones compared at rest: ids that not every zone holds, payloads without an id, ids without a payload."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from zonelab.analysis.checkers.queue.events import PAYLOAD, PLACES, Ints, NameTable, States
from zonelab.analysis.checkers.queue.section import Divergence


@dataclass(frozen=True, slots=True)
class UnpairedMessages:
    """(message, zone) pairs of one partition that break the rule "payload if and only if listed"."""

    orphans: tuple[Ints, Ints]
    phantoms: tuple[Ints, Ints]


def unpaired(states: States) -> UnpairedMessages:
    """Orphans (payload, not listed in that zone) and phantoms (listed, no payload there), as (message, zone)."""
    if not len(states):
        return UnpairedMessages((states.message, states.message), (states.message, states.message))
    width = int(states.zone.max(initial=0)) + 1
    pair = states.message * width + states.zone
    payload, listed = pair[states.place == PAYLOAD], pair[states.place != PAYLOAD]
    orphans, phantoms = np.setdiff1d(payload, listed), np.setdiff1d(listed, payload)
    return UnpairedMessages((orphans // width, orphans % width), (phantoms // width, phantoms % width))


@dataclass(slots=True)
class DivergenceCounter:
    """Adds up divergence over partitions, for runs in which ``zones`` zones could be read."""

    zones: int
    held: Counter[tuple[int, int]] = field(default_factory=Counter)
    short: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, states: States) -> None:
        """Count the ids that ``states`` lists in some zones and not in all."""
        places = states.place.astype(np.int64), states.shard.astype(np.int64)
        for place, shard in {*zip(*(column.tolist() for column in places), strict=True)}:
            here = (states.place == place) & (states.shard == shard)
            width = int(states.zone.max(initial=0)) + 1
            copies = np.unique(states.message[here] * width + states.zone[here]) // width
            _, count = np.unique(copies, return_counts=True)
            self.held[place, shard] += len(count)
            self.short[place, shard] += int((count < self.zones).sum())

    def result(self, shards: NameTable) -> tuple[Divergence, ...]:
        """Return what was counted, by place and shard, in the order in which reports show it."""
        rows = [
            Divergence(place=PLACES[place], shard=shards[shard], ids=held, divergent=self.short[place, shard])
            for (place, shard), held in self.held.items()
        ]
        return tuple(sorted(rows, key=_reading_order))


def _reading_order(row: Divergence) -> tuple[int, str]:
    return PLACES.index(row.place), row.shard or ""
