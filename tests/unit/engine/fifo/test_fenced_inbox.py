"""Goal: a confirmed push outlives what its copies go through between the inbox and the log.

Method: writers of one log on three simulated zones, with cuts and one loss at chosen moments.
"""

import pytest
from support.engine.fenced import ZONES, FencedBench

from cluster.links.link import Cut
from cluster.zone import Restart
from engine.fifo.fenced.log import OTHERS_EVERY, FencedLog
from engine.fifo.log.record import Record
from engine.ports import PortError

LEASE_MS = 200


class WriterBench(FencedBench):
    """One partition, and whoever writes its log, one after the other."""

    def __init__(self):
        super().__init__(partitions=1)
        (self.partition,) = self.partitions

    def writer(self, name, zone):
        store = self.wires(zone, name).store(lease_ms=LEASE_MS, margin_ms=20)
        return FencedLog(store, self.partition, near=zone)

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
        while not all(view.admitted for view in (await store.views.of(self.partition, ["log"])).values()):
            await self.pause_ms(50)
            await store.admission.mend(self.partition)

    async def placed(self, writer, offset):
        """What stands at ``offset``; None if it is empty after every zone's inbox was looked at."""
        for _ in range(OTHERS_EVERY * (len(ZONES) + 1)):
            if entries := await writer.read(offset, 1):
                return entries[0].record.id
            await self.pause_ms(10)
        return None


def test_a_write_that_one_zone_took_and_nobody_decided_costs_no_copy_of_a_push():
    """a and b have the push, b alone gives it an offset, the next writer does not know of that, and a is wiped."""
    with WriterBench() as bench:

        async def course():
            first, second = bench.writer("first", "b"), bench.writer("second", "c")
            assert await first.take()
            links = bench.cut_off("c")
            assert await bench.push(bench.producer("a"), "k", 0)
            await bench.mend(links)
            links = bench.cut_off("b")
            with pytest.raises(PortError):
                await first.read(0, 1)
            assert await second.take()
            await bench.mend(links)
            await bench.wiped("a", second)
            return await bench.placed(second, 0)

        assert bench.run(course()) == "k-0"


def test_a_zone_that_lacks_records_of_the_newest_write_does_not_stop_the_log_if_another_has_them():
    with WriterBench() as bench:

        async def course():
            first, second = bench.writer("first", "a"), bench.writer("second", "b")
            assert await first.take()
            assert await bench.push(bench.producer("a"), "k", 0)
            assert await bench.placed(first, 0) == "k-0"
            await first.release()
            await bench.pause_ms(50)
            other = Record(id="other", key="k", body="", producer="q", sequence=1).text()
            await bench.cluster.direct("a").execute(("HSET", bench.keys.log(bench.partition), 0, f"0 {other}"))
            await bench.cluster.direct("b").execute(("DEL", bench.keys.log(bench.partition)))
            assert await second.take()
            return await bench.placed(second, 0)

        assert bench.run(course()) == "k-0"


def test_what_has_an_offset_leaves_the_inboxes_with_the_next_write():
    with WriterBench() as bench:

        async def course():
            writer, producer = bench.writer("writer", "a"), bench.producer("a")
            assert await writer.take()
            for number in range(3):
                assert await bench.push(producer, "k", number)
                assert await bench.placed(writer, number) == f"k-{number}"
            await bench.pause_ms(50)
            inboxes = [
                await bench.cluster.direct(zone).execute(("ZRANGE", bench.keys.inbox(bench.partition), 0, -1))
                for zone in ZONES
            ]
            return [[Record.parse(raw.decode()).id for raw in texts] for (texts,) in inboxes]

        assert bench.run(course()) == [["k-2"]] * 3
