"""Writers of the log of one fenced partition on three simulated zones, and what happens to zones."""

from itertools import count

from support.analysis.orders import MS
from support.engine.fenced import ZONES, FencedBench

from zonelab.cluster.links.link import Cut
from zonelab.cluster.zone import Restart
from zonelab.engine.fifo.fenced.log import OTHERS_EVERY, FencedLog
from zonelab.engine.fifo.fenced.scripts import run

LEASE_MS = 200
MARGIN_MS = 20


class WriterBench(FencedBench):
    """One partition, and whoever writes its log, one after the other."""

    def __init__(self):
        super().__init__(partitions=1)
        (self.partition,) = self.partitions

    def writer(self, name, zone):
        store = self.wires(zone, name).store(lease_ms=LEASE_MS, margin_ms=MARGIN_MS)
        return FencedLog(store, self.partition, near=zone)

    def store(self, name, zone):
        return self.wires(zone, name).store(lease_ms=LEASE_MS, margin_ms=MARGIN_MS)

    async def alone(self, zone, script, *words):
        """Only ``zone`` hears of it."""
        keys, store = self.keys, self.store("alone", zone)
        names = [name(self.partition) for name in (keys.meta, keys.registers)]
        names += [keys.inbox(self.partition)] if script == "push" else keys.all(self.partition)[2:]
        era = await store.admission.era(self.partition)
        (answer,) = await self.cluster.direct(zone).execute(run(script, names, era, *words))
        return answer

    def cut_off(self, zone):
        links = [link for pair, link in self.cluster.links.items() if zone in pair]
        for link in links:
            link.cut(Cut.DROP)
        return links

    async def mend(self, links):
        for link in links:
            link.mend()
        await self.pause_ms(100)

    async def wiped(self, zone, writer):
        """It comes back empty, and is let in."""
        server = self.cluster.zones[zone]
        await server.kill()
        await server.restart(Restart.WIPE)
        store = writer.register.store
        while sum(view.admitted for view in (await store.views.of(self.partition, ["log"])).values()) < len(ZONES):
            await self.pause_ms(50)
            await store.admission.mend(self.partition)

    async def placed(self, writer, offset, *, most_ms=0):
        """What stands at ``offset``; None if it is empty after ``most_ms`` and a look at every zone's inbox."""
        looks, ends_ns = count(), self.runtime.now_ns() + most_ms * MS
        while next(looks) < OTHERS_EVERY * (len(ZONES) + 1) or self.runtime.now_ns() < ends_ns:
            if entries := await writer.read(offset, 1):
                return entries[0].record.id
            await self.pause_ms(10)
        return None
