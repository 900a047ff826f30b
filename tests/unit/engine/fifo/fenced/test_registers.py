"""Goal: one register has one owner, and a process that may have lost something decides nothing.

Method: a register on three simulated zones, and something that happens just before a chosen question.
"""

from dataclasses import replace

import pytest
from support.coroutines import coroutine
from support.engine.dyno import Interceptor
from support.engine.fenced import FencedBench

from zonelab.cluster.links.link import Cut
from zonelab.cluster.zone import Restart
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.fenced.cursor import CursorState, GroupCursor
from zonelab.engine.fifo.fenced.keys import LOG_REGISTER, group_register
from zonelab.engine.fifo.fenced.log import FencedLog
from zonelab.engine.fifo.fenced.member.tenures import Tenures
from zonelab.engine.fifo.fenced.member.zones import FencedLogs
from zonelab.engine.fifo.fenced.register import Fenced, Register
from zonelab.engine.fifo.fenced.scripts import run
from zonelab.engine.fifo.fenced.views import Views
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.settings import Begin


@pytest.fixture
def bench():
    with FencedBench(partitions=1) as started:
        yield started


@pytest.fixture(name="run")
def carry_out(bench):
    return bench.run


def register(bench, session, before_claim=None, *, zone="a"):
    """The register of a log; ``before_claim`` happens before the first script of ``session``, a program of ``zone``."""
    wires = bench.wires(zone, session)
    if before_claim is not None:
        wires = replace(wires, safe=Interceptor(wires.safe, "EVAL", before_claim))
    return Register(store=wires.store(lease_ms=1_000, margin_ms=0), partition=bench.partitions[0], name=LOG_REGISTER)


async def dies(bench, zone, restart):
    await bench.cluster.zones[zone].kill()
    await bench.cluster.zones[zone].restart(restart)
    await bench.cluster.network.connected()


def test_a_token_that_another_had_and_gave_up_meanwhile_is_promised_to_nobody_else(bench):
    first = register(bench, "first")

    async def comes_first():
        assert await first.claim() is not None
        await first.write("state")
        await first.give_up()

    async def both():
        await first.store.admission.look(bench.partitions[0])
        return await register(bench, "second", comes_first).claim()

    assert bench.run(both()) is None
    assert bench.run(register(bench, "second").claim()).state == "state"


@coroutine
async def test_a_process_that_started_again_with_its_data_is_no_second_vote(bench):
    owner = register(bench, "owner")
    await owner.claim()
    await owner.write("before")
    await dies(bench, "c", Restart.KEEP)
    await bench.cluster.zones["b"].kill()
    with pytest.raises(COMMAND_FAILURES):
        await owner.write("after")


def test_a_partition_is_not_begun_with_a_process_that_started_again_between_the_two_looks(bench):
    wires = bench.wires("a", "session")
    again = Interceptor(wires.zones["b"], "HMGET", lambda: dies(bench, "b", Restart.WIPE), nth=2)
    admission = replace(wires, zones={**wires.zones, "b": again}).store(lease_ms=1_000, margin_ms=0).admission
    assert bench.run(admission.look(bench.partitions[0])) is None
    assert bench.run(admission.look(bench.partitions[0])).startswith("1-")


async def held_in(bench, zone, name=LOG_REGISTER):
    """What ``zone`` has of the partition, and of the register ``name``."""
    views = Views(zones={zone: bench.cluster.direct(zone)}, keys=bench.keys, runtime=bench.runtime)
    return (await views.of(bench.partitions[0], [name]))[zone]


@coroutine
async def test_a_zone_that_lost_its_data_is_admitted_with_what_either_of_the_others_has(bench):
    owner = register(bench, "owner", zone="b")
    await owner.claim()
    await owner.write("before")
    for pair in (("b", "a"), ("a", "b")):
        bench.cluster.links[pair].cut(Cut.DROP)
    await owner.write("decided by b and c")
    for pair in (("b", "a"), ("a", "b")):
        bench.cluster.links[pair].mend()
    await dies(bench, "c", Restart.WIPE)
    await owner.store.admission.mend(bench.partitions[0])
    found = await held_in(bench, "c")
    assert (found.admitted, found.registers[0].state) == (True, "decided by b and c")


class HeardByOne:
    """Only ``zone`` hears of the first command."""

    def __init__(self, bench, inner, zone):
        self._inner, self._next = inner, bench.cluster.direct(zone)

    async def execute(self, *commands):
        connection, self._next = self._next, self._inner
        return await connection.execute(*commands)


@coroutine
async def test_a_zone_that_did_not_hear_of_the_new_era_does_not_admit_another_to_it(bench):
    await register(bench, "owner").claim()
    await dies(bench, "c", Restart.WIPE)
    wires = bench.wires("a", "session")
    deaf = replace(wires, safe=HeardByOne(bench, wires.safe, "b"))
    await deaf.store(lease_ms=1_000, margin_ms=0).admission.mend(bench.partitions[0])
    assert not (await held_in(bench, "c")).admitted


@coroutine
async def test_what_a_new_owner_goes_on_from_is_decided_by_then(bench):
    """The last write of the owner before reached zone a alone."""
    first, second = (
        GroupCursor(bench.wires(zone, zone).store(lease_ms=200, margin_ms=0), bench.partitions[0], "g") for zone in "ab"
    )
    assert await first.take()
    await first.adopt(begins=0)
    for zone in "bc":
        bench.cluster.links["a", zone].cut(Cut.DROP)
    with pytest.raises(COMMAND_FAILURES):
        await first.commit(Progress(5))
    for zone in "bc":
        bench.cluster.links["a", zone].mend()
    await bench.cluster.network.connected()
    assert await second.take()
    await second.adopt(begins=0)
    states = [(await held_in(bench, zone, group_register("g"))).registers[0].state for zone in "abc"]
    assert [CursorState.parse(state).progress.cursor for state in states] == [5, 5, 5]


@coroutine
async def test_a_new_writer_gives_every_zone_the_records_of_the_last_write(bench):
    """Zone a alone has it, of a writer that is gone."""
    (partition,) = bench.partitions
    first, second = (
        FencedLog(bench.wires(zone, zone).store(lease_ms=200, margin_ms=0), partition, near=zone) for zone in "ab"
    )
    assert await first.take()
    assert await bench.push(bench.producer("a"), "k", 0)
    await bench.pause_ms(50)
    for zone in "bc":
        bench.cluster.links["a", zone].cut(Cut.DROP)
    with pytest.raises(COMMAND_FAILURES):
        await first.read(0, 1)
    for zone in "bc":
        bench.cluster.links["a", zone].mend()
    await bench.cluster.network.connected()
    assert await second.take()
    await bench.pause_ms(50)
    look = ("HLEN", bench.keys.log(partition))
    assert [await bench.cluster.direct(zone).execute(look) for zone in "abc"] == [[1]] * 3


def test_records_of_a_producer_get_offsets_in_its_order_and_each_one_once(bench):
    (partition,) = bench.partitions
    writer = FencedLog(bench.wires("a", "w").store(lease_ms=60_000, margin_ms=0), partition, near="a")
    logs, found = FencedLogs(wires=bench.wires("a", "p"), tenures=None, keys=bench.fifo_keys), []

    async def sends(*sequences):
        records = [PartitionRecord(id=f"m{each}", key="k", body="", producer="p", sequence=each) for each in sequences]
        await logs.append_all(partition, records)
        for _ in range(5):
            await bench.pause_ms(20)
            found.extend(entry.record.id for entry in await writer.read(len(found), 10))
        return list(found)

    async def course():
        assert await writer.take()
        read = [await sends(2), await sends(1), await sends(1, 2, 3), await sends(1, 4)]
        (left,) = await bench.cluster.direct("a").execute(("ZRANGE", bench.keys.inbox(partition), 0, -1))
        return read, [PartitionRecord.parse(raw.decode()).id for raw in left]

    read, left = bench.run(course())
    assert read == [[], ["m1", "m2"], ["m1", "m2", "m3"], ["m1", "m2", "m3", "m4"]]
    assert left == ["m4"]  # until the next write; what was sent again is gone


@coroutine
async def test_whoever_is_not_the_writer_reads_what_two_zones_show_alike(bench):
    (partition,) = bench.partitions
    text = PartitionRecord(id="m", key="k", body="", producer="p", sequence=1).text()
    assert await register(bench, "writer").claim()
    reader = FencedLog(bench.wires("b", "r").store(lease_ms=60_000, margin_ms=0), partition, near="b")
    found = []
    for zone in "bc":
        written = ("HSET", bench.keys.registers(partition), LOG_REGISTER, f"1 writer {10**15} 1 1 [1,0,{{}}]")
        record = ("HSET", bench.keys.log(partition), 0, f"1 {text}")
        await bench.cluster.direct(zone).execute(written, record)
        found.append([entry.record.id for entry in await reader.read(0, 1)])
    assert found == [[], ["m"]]


class CutOffAfter:
    """Zone a is alone once the first command has its answer."""

    def __init__(self, bench, inner):
        self._bench, self._inner = bench, inner

    async def execute(self, *commands):
        try:
            return await self._inner.execute(*commands)
        finally:
            for zone in "bc":
                self._bench.cluster.links["a", zone].cut(Cut.DROP)


@coroutine
async def test_a_claim_that_can_read_one_zone_only_is_none(bench):
    await register(bench, "before").store.admission.look(bench.partitions[0])
    wires = bench.wires("a", "session")
    alone = replace(wires, safe=CutOffAfter(bench, wires.safe)).store(lease_ms=1_000, margin_ms=0)
    assert await Register(store=alone, partition=bench.partitions[0], name=LOG_REGISTER).claim() is None


def test_a_promise_that_one_zone_alone_made_is_given_back_at_once(bench):
    partition, keys = bench.partitions[0], bench.keys

    async def others_promise():
        now_ms, era = bench.cluster.clock("a").now_ms(), late.store.admission.known(partition)
        words = (era, LOG_REGISTER, 1, "early", now_ms, now_ms + 1_000, 0)
        for zone in "bc":
            claim = run("claim", [keys.meta(partition), keys.registers(partition)], *words)
            await bench.cluster.direct(zone).execute(claim)

    async def comes_late():
        await register(bench, "before").store.admission.look(partition)
        claimed = await late.claim()
        await bench.pause_ms(50)
        return claimed, (await held_in(bench, "a")).registers[0].ends_ms

    late = register(bench, "late", others_promise)
    assert bench.run(comes_late()) == (None, 0)


@coroutine
async def test_an_owner_that_was_refused_knows_that_it_is_none_any_more(bench):
    owner, next_one = register(bench, "owner"), register(bench, "next")
    await owner.claim()
    await owner.write("state")
    await bench.pause_ms(1_100)
    assert await next_one.claim() is not None
    with pytest.raises(Fenced):
        await owner.write("late")
    assert owner.token == 0
    assert next_one.token == 2


@coroutine
async def test_failures_add_up_over_owners_and_a_result_counts_under_the_token_it_was_worked_for_only(bench):
    (partition,) = bench.partitions
    owners = [
        Tenures(bench.wires(zone, zone).store(lease_ms=1_000, margin_ms=0), "g", near=zone, begins=Begin.FIRST)
        for zone in "ab"
    ]
    for each in owners:
        tenure = await each.take(partition)
        await tenure.cursor.fail([7], rests_until_ms=0)
        assert each.of(partition, tenure.token) is tenure
        assert each.of(partition, tenure.token - 1) is None
        await each.release(tenure)
    assert tenure.cursor.state.failed == {7: 2}


@pytest.mark.parametrize(
    ("ahead_ms", "after_ms", "over"), [(0, 10, False), (0, 30, True), (15, 0, False), (-15, 40, True)]
)
def test_a_rest_of_the_owner_before_lasts_a_margin_longer_for_the_next_one(bench, ahead_ms, after_ms, over):
    """Its end is a time of the owner before, whose clock may be up to the margin, 20 ms, ahead of this one."""
    (partition,) = bench.partitions

    async def course():
        owner, tenures = (
            Tenures(bench.wires(zone, zone).store(lease_ms=5_000, margin_ms=20), "g", near=zone, begins=Begin.FIRST)
            for zone in "ab"
        )
        await bench.push(bench.producer("a"), "k", 1)
        tenure = await owner.take(partition)
        ends_ms = bench.cluster.clock("a").now_ms() + 500
        await tenure.cursor.fail([0], rests_until_ms=ends_ms)
        await owner.release(tenure)
        await tenures.take(partition)
        logs = FencedLogs(wires=bench.wires("b", "b"), tenures=tenures, keys=bench.fifo_keys)
        bench.cluster.clock("b").jump(ahead_ms * 1_000_000)
        await bench.pause_ms(ends_ms + after_ms - bench.cluster.clock("a").now_ms())
        return await logs.page(partition, offset=0, count=5)

    assert bool(bench.run(course()).entries) is over
