"""Admission of zones to votes: a server that may have lost data votes only after it has got the two others' data.

A zone takes part in an *era*, a generation and a word that is unlike in each attempt to raise it, and refuses
questions of another. Its mark is the ``run_id`` of the server's process: one that has started again, with whatever
data, or a copy of another zone, is not the process that was admitted. To admit it, both others first go over to a new
era, so nothing of the old one can be decided any more, not even by an answer from before the loss; then all that they
have is merged into it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha1
from itertools import count

from zonelab.engine.fifo.fenced.copying import PartitionCopy, send
from zonelab.engine.fifo.fenced.keys import LOG_REGISTER, FencedKeys
from zonelab.engine.fifo.fenced.scripts import run
from zonelab.engine.fifo.fenced.views import Views, ZoneView, generation_of
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Connection

ALWAYS = ""
"""The era of everybody where nobody has to be admitted."""


class Admission:
    """``session``: a name that no other program has or had. ``sends``: a connection whose writes go to every zone.

    ``checks``: off, every zone votes whatever happened to it.
    """

    def __init__(self, session: str, *, views: Views, sends: Connection, keys: FencedKeys, checks: bool = True) -> None:
        self._session, self._views, self._sends, self._keys, self._checks = session, views, sends, keys, checks
        self._copying = PartitionCopy(views=views, sends=sends, keys=keys)
        self._eras: dict[Partition, str] = {}
        self._generations: dict[Partition, int] = {}
        self._attempts = count(1)
        self.admitted = 0
        """Zones that this object admitted again."""

    def known(self, partition: Partition) -> str | None:
        """Return the era of most zones at the last look; None before it."""
        return self._eras.get(partition) if self._checks else ALWAYS

    def forget(self, partition: Partition) -> None:
        """Zones did not do what was asked: look before the next question."""
        self._eras.pop(partition, None)

    def generation(self, partition: Partition) -> int:
        """Return the generation of the last era that most zones were in; 0 if there was none."""
        return self._generations.get(partition, 0)

    async def era(self, partition: Partition) -> str | None:
        """Return ``known``, after a look if nothing is known. None: too few zones take part."""
        known = self.known(partition)
        return known if known is not None else await self.look(partition)

    async def look(self, partition: Partition) -> str | None:
        """The era that most zones are in now. A partition of which no zone has anything is begun."""
        if not self._checks:
            return ALWAYS
        views = await self._look(partition)
        if self._all_new(views):
            views = await self._found(partition, views)
        return self._noted(partition, views)

    async def mend(self, partition: Partition) -> str | None:
        """Look, and admit zones that do not take part as far as that can be done now.

        Commands that fail are given up; whoever calls again goes on.
        """
        if not self._checks:
            return ALWAYS
        views = await self._look(partition)
        if self._all_new(views):
            views = await self._found(partition, views)
        era = self._noted(partition, views)
        admitted = {zone: view for zone, view in views.items() if view.admitted}
        if len(admitted) < self._views.majority or all(view.admitted and view.era == era for view in views.values()):
            return era
        behind = [view for view in admitted.values() if view.era != era]
        if era is not None and len(admitted) == len(views) and _newest(behind) < generation_of(era):
            await send(self._sends, run("raise", self._of(partition), era))  # one only has not heard of it
            return self._noted(partition, await self._look(partition))
        return await self._raised(partition, views)

    async def _raised(self, partition: Partition, views: Mapping[str, ZoneView]) -> str | None:
        admitted = {zone: view for zone, view in views.items() if view.admitted}
        era = f"{_newest(admitted.values()) + 1}-{self._session}.{next(self._attempts)}"
        await send(self._sends, run("raise", self._of(partition), era))
        views = await self._look(partition)
        sources = [zone for zone, view in views.items() if view.admitted and view.era == era]
        if len(sources) < self._views.majority:
            return self._noted(partition, views)
        self._noted(partition, views)
        if any(not view.admitted for view in views.values()):
            pages = await self._copying.copy(partition, era, sources)
            if pages is not None:
                keys = [*self._of(partition), self._keys.filled(partition)]
                await send(self._sends, run("admit", keys, era, pages))
                now = await self._look(partition)
                self.admitted += sum(now[zone].admitted for zone in now if zone in views and not views[zone].admitted)
        return era

    async def _found(self, partition: Partition, views: Mapping[str, ZoneView]) -> dict[str, ZoneView]:
        """Begin the partition, if all zones still have nothing of it and are the processes that had nothing before.

        The second look comes after the first has heard of every process: whatever was decided before, one of two zones
        that did not die meanwhile would show.
        """
        again = await self._look(partition)
        runs = [view.run for _, view in sorted(views.items())]
        if not self._all_new(again) or [view.run for _, view in sorted(again.items())] != runs:
            return again
        era = f"1-{sha1(' '.join(runs).encode(), usedforsecurity=False).hexdigest()[:12]}"
        await send(self._sends, run("found", self._keys.all(partition), era, *runs))
        return await self._look(partition)

    def _all_new(self, views: Mapping[str, ZoneView]) -> bool:
        return len(views) == len(self._views.zones) and not any(view.era for view in views.values())

    def _noted(self, partition: Partition, views: Mapping[str, ZoneView]) -> str | None:
        counts = Counter(view.era for view in views.values() if view.admitted)
        era = next((era for era, number in counts.items() if number >= self._views.majority), None)
        if era is None:
            self._eras.pop(partition, None)
        else:
            self._eras[partition] = era
            self._generations[partition] = generation_of(era)
        return era

    async def _look(self, partition: Partition) -> dict[str, ZoneView]:
        return await self._views.of(partition, [LOG_REGISTER])

    def _of(self, partition: Partition) -> list[str]:
        return [self._keys.meta(partition), self._keys.registers(partition)]


def _newest(views: Iterable[ZoneView]) -> int:
    return max(view.generation for view in views)
