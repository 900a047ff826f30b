"""Whereabouts of messages that a run's programs have not finished, and what is left of those that they have."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from zonelab.analysis.events.format import ACCEPTED, END
from zonelab.analysis.events.operations import SHARD
from zonelab.analysis.events.reading import EventLog
from zonelab.analysis.number_text import counted
from zonelab.engine.ports import Connection, PortError, ServerError
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.programs.id_finder import IdFinder
from zonelab.scenarios.programs.stored_messages import SearchBounds, StoredMessage, ZoneSearch, search_zone
from zonelab.scenarios.queues.end_state import state_row

PROOF_IDS = 200
"""Messages that one look during the run looks for."""

_PROOF_BOUNDS = SearchBounds(keys=5_000, bytes=8 * 1024 * 1024)
_TOLD_MAX = 1_000
_PLACES_TOLD = 20


def unfinished_in(log: EventLog) -> list[str]:
    """Return the ids of messages that were accepted and have not ended, in the order in which they were first named."""
    accepted, ended = (np.unique(log.id[log.op == op]) for op in (ACCEPTED, END))
    return [log.ids[number].as_py() for number in np.setdiff1d(accepted, ended).tolist()]


def finished_in(log: EventLog) -> list[str]:
    """Return the ids of messages that have ended, in the order in which they were first named."""
    return [log.ids[number].as_py() for number in np.unique(log.id[log.op == END]).tolist()]


class UnfinishedSearch:
    """Search of all keys of ``zones`` for messages; ``direct`` returns a connection to a zone's own server.

    That a message is nowhere counts only if the same search has found some message of this queue, during the run or at
    its end: who stores ids in a way that it does not know would else lose all of them.
    """

    def __init__(self, direct: Callable[[str], Connection], *, zones: Sequence[str]) -> None:
        self._direct = direct
        self._zones = zones
        self._ids: Collection[str] = ()
        self._finished: frozenset[str] = frozenset()
        self._results: dict[str, ZoneSearch] = {}
        self._proof: tuple[str, StoredMessage] | None = None
        self._searched = False
        self.unread: list[str] = []
        """Zones that did not answer, or hold more than is searched."""

    @property
    def proved(self) -> bool:
        """Return whether it has found any message of this queue where workers find it."""
        return self._proof is not None

    @property
    def known(self) -> bool:
        """Return whether what it did not find at the end is nowhere."""
        return self._searched and (self.proved or not self._ids)

    @property
    def judges_orphans(self) -> bool:
        """Return whether it would have found what is left of a finished message."""
        whole = all(zone in self._results and self._results[zone].complete for zone in self._zones)
        return (whole and self.proved) or any(map(self._left, self._results.values()))

    @property
    def unproved(self) -> str:
        """Return why nothing is concluded, in words."""
        open_ones = counted(len(self._ids), "accepted message has", "accepted messages have")
        return (
            f"{open_ones} not ended; whether any is still stored is"
            " unknown, as the search of all keys never found a message of this queue by its id"
        )

    async def prove(self, zone: str, ids: Sequence[str]) -> None:
        """Look in ``zone`` for any of ``ids``, which are open; a zone that does not answer proves nothing."""
        if not ids:
            return
        try:
            found = await search_zone(self._direct(zone), IdFinder(ids), _PROOF_BOUNDS)
        except (PortError, ServerError):
            return
        self._take_proof(zone, found)

    async def rows(self, ids: Sequence[str], *, finished: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Search every zone at the end for ``ids``, and for what is left of ``finished``; return the end state."""
        self._ids, self._finished = ids, frozenset(finished)
        finder = IdFinder([*ids, *finished])
        unread = self.unread if ids else []  # of a run that has finished all, nothing depends on it
        for zone in self._zones if ids or finished else ():
            try:
                self._results[zone] = await search_zone(self._direct(zone), finder)
            except (PortError, ServerError) as error:
                LOGGER.warning("zone %s could not be searched: %s", zone, error)
                unread.append(zone)
                continue
            self._take_proof(zone, self._results[zone])
            if not self._results[zone].complete:
                LOGGER.warning("zone %s holds more than is searched, or a kind of key that cannot be", zone)
                unread.append(zone)
        self._searched = True
        return list(self._rows())

    def told(self) -> dict[str, object]:
        """Return what was found, for a file."""
        stored = [
            {"id": one.message_id, "zone": zone, "place": one.place, "where": str(one)}
            for zone, result in self._results.items()
            for one in result.stored
            if one.message_id not in self._finished
        ]
        left = [one for result in self._results.values() for one in self._left(result)]
        where = Counter(str(one).replace(one.message_id, "ID") for one in left)
        somewhere = {one["id"] for one in stored if one["place"] != "payload"}
        nowhere = [one for one in self._ids if one not in somewhere]
        return {
            "unfinished": len(self._ids),
            "nowhere": len(nowhere) if self.known and not self.unread else None,
            "nowhere_ids": nowhere[:_TOLD_MAX] if self.known and not self.unread else [],
            "stored": stored[:_TOLD_MAX],
            "finished": len(self._finished),
            "orphans": len({one.message_id for one in left}),
            "orphans_where": dict(where.most_common(_PLACES_TOLD)),
            "proof": None
            if self._proof is None
            else f"{self._proof[1].message_id} in zone {self._proof[0]}: {self._proof[1]}",
            "searched": {
                zone: {"keys": result.keys, "bytes": result.bytes, "complete": result.complete}
                for zone, result in self._results.items()
            },
        }

    def _take_proof(self, zone: str, result: ZoneSearch) -> None:
        for one in result.stored:
            if self._proof is None and one.place != "payload" and one.message_id not in self._finished:
                self._proof = zone, one

    def _left(self, result: ZoneSearch) -> list[StoredMessage]:
        """Return what a zone keeps of finished messages that it lists nowhere: neither results that expire, nor jobs
        in a list of finished ones. A zone that was not read whole may list them in what was not read.
        """
        if not result.complete:
            return []
        listed = {one.message_id for one in result.stored if one.place != "payload"}
        stays = [one for one in result.stored if one.stays and one.message_id not in listed]
        return [one for one in stays if one.message_id in self._finished]

    def _rows(self) -> Iterator[dict[str, Any]]:
        for zone, result in self._results.items():
            places: dict[tuple[str, str], float | None] = {}
            unfinished = [one for one in result.stored if one.message_id not in self._finished]
            for one in (*unfinished, *self._left(result)):
                if one.place != "payload" or one.stays:
                    places.setdefault((one.message_id, one.place), one.score)
            for (message_id, place), score in places.items():
                shard = SHARD if place == "queue" else None
                yield state_row(zone, place, message_id, shard=shard, score=score, serving=place == "queue")
