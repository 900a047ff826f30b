"""Goal: a confirmed push outlives what its copies go through between the inbox and the log, also if that is sealed.

Method: writers of one log on three simulated zones, with cuts and one loss at chosen moments.
"""

from dataclasses import replace

import pytest
from support.engine.fenced import ZONES, on
from support.engine.fenced_writers import WriterBench

from zonelab.engine.fifo.fenced.keys import ROUTE_REGISTER, SEAL_REGISTER, route_partition
from zonelab.engine.fifo.fenced.member.zones import FencedLogs
from zonelab.engine.fifo.fenced.resizing import FencedRoutes, SealedLogs, known_log
from zonelab.engine.fifo.log.partition_log import AppendResult, EndedWithout
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.topics.routes import RouteChanged
from zonelab.engine.ports import PortError


@on(WriterBench)
async def test_a_write_that_one_zone_took_and_nobody_decided_costs_no_copy_of_a_push(bench):
    """a and b have the push, b alone gives it an offset, the next writer does not know of that, and a is wiped."""
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
    assert await bench.placed(second, 0) == "k-0"


@on(WriterBench)
async def test_a_zone_that_lacks_records_of_the_newest_write_does_not_stop_the_log_if_another_has_them(bench):
    first, second = bench.writer("first", "a"), bench.writer("second", "b")
    assert await first.take()
    assert await bench.push(bench.producer("a"), "k", 0)
    assert await bench.placed(first, 0) == "k-0"
    await first.release()
    await bench.pause_ms(50)
    other = PartitionRecord(id="other", key="k", body="", producer="q", sequence=1).text()
    await bench.cluster.direct("a").execute(("HSET", bench.keys.log(bench.partition), 0, f"0 {other}"))
    await bench.cluster.direct("b").execute(("DEL", bench.keys.log(bench.partition)))
    assert await second.take()
    assert await bench.placed(second, 0) == "k-0"


@on(WriterBench)
async def test_what_has_an_offset_leaves_the_inboxes_with_the_next_write(bench):
    writer, producer = bench.writer("writer", "a"), bench.producer("a")
    assert await writer.take()
    for number in range(3):
        assert await bench.push(producer, "k", number)
        assert await bench.placed(writer, number) == f"k-{number}"
    await bench.pause_ms(50)
    inboxes = [
        await bench.cluster.direct(zone).execute(("ZRANGE", bench.keys.inbox(bench.partition), 0, -1)) for zone in ZONES
    ]
    assert [[PartitionRecord.parse(raw.decode()).id for raw in texts] for (texts,) in inboxes] == [["k-2"]] * 3


def record(message_id, producer):
    return PartitionRecord(id=message_id, key="k", body="", producer=producer, sequence=1)


@on(WriterBench)
async def test_a_sealed_log_ends_with_all_that_a_zone_had_and_tells_what_became_of_a_push_that_was_refused(bench):
    """One zone alone took x before the seal, so its push is refused and x is in the log. y came later."""
    writer, sealed = bench.writer("writer", "a"), SealedLogs(bench.store("admin", "b"), keys=bench.fifo_keys)
    assert await writer.take()
    assert await bench.push(bench.producer("a"), "k", 0)
    assert await bench.placed(writer, 0) == "k-0"
    assert await bench.alone("c", "push", 0, record("x", "px").text()) == b"ok"
    ends = bench.runtime.spawn(sealed.seal(bench.partition), name="seal")
    await bench.pause_ms(100)
    assert not ends.done()
    await writer.end_if_sealed()
    assert await ends.join() == 2
    logs = FencedLogs(wires=bench.wires("c", "late"), tenures=None, keys=bench.fifo_keys)
    assert await logs.append(bench.partition, record("x", "px")) == AppendResult(None, duplicate=True)
    with pytest.raises(EndedWithout):
        await logs.append(bench.partition, record("y", "py"))
    assert [entry.record.id for entry in await writer.read(0, 9)] == ["k-0", "x"]
    assert await bench.placed(writer, 2) is None


@on(WriterBench)
async def test_a_log_stands_still_rather_than_ends_without_the_record_before_one_that_a_zone_has(bench):
    writer, sealed = bench.writer("writer", "a"), SealedLogs(bench.store("admin", "b"), keys=bench.fifo_keys)
    assert await writer.take()
    second = replace(record("x", "px"), sequence=2)
    assert await bench.alone("c", "push", 0, second.text()) == b"ok"
    ends = bench.runtime.spawn(sealed.seal(bench.partition), name="seal")
    await bench.pause_ms(100)
    await writer.end_if_sealed()
    assert not (await known_log(writer.register.store.views, bench.partition)).ended
    assert not ends.done()


@on(WriterBench)
async def test_a_log_does_not_end_while_one_zone_alone_has_the_seal(bench):
    """The two others may still confirm a push."""
    writer = bench.writer("writer", "a")
    assert await writer.take()
    assert await bench.alone("a", "write", SEAL_REGISTER, 1, "admin", 0, 1, "sealed", 1, 0, 0) == b"ok"
    await writer.end_if_sealed()
    assert await bench.push(bench.producer("a"), "k", 0)
    assert not (await known_log(writer.register.store.views, bench.partition)).ended
    assert await bench.placed(writer, 0) == "k-0"


@on(WriterBench)
async def test_a_route_is_changed_by_whoever_knows_it_and_is_what_two_zones_show(bench):
    first, second = (
        FencedRoutes("t", zones=tuple(ZONES), store=bench.store(zone, zone), keys=bench.fifo_keys) for zone in "ab"
    )
    begun = await first.create(2)
    assert await second.create(5) == begun
    changed = await second.change(begun, replace(begun, sealing=4))
    with pytest.raises(RouteChanged):
        await first.change(begun, replace(begun, sealing=3))
    undecided = f"9 other 0 9 1 {replace(changed, sealing=3).text()}"
    registers = bench.keys.registers(route_partition("t", ZONES))
    await bench.cluster.direct("a").execute(("HSET", registers, ROUTE_REGISTER, undecided))
    assert await first.read() == changed
    await bench.cluster.direct("a").execute(("HDEL", registers, ROUTE_REGISTER))
    assert await first.read() == changed
