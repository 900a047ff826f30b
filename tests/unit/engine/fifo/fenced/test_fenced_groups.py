"""Goal: where partitions are fenced every group gets every message in order, whoever writes the log and what is lost.

Method: two groups on three simulated zones, judged by the checker of ordered messages.
"""

import pytest
from support.engine.fenced import ZONES, FencedBench, on
from support.engine.fenced_writers import WriterBench

from zonelab.cluster.zone import Restart
from zonelab.engine.common.pipelines import read
from zonelab.engine.fifo.fenced.copying import PartitionCopy
from zonelab.engine.fifo.fenced.final import waiting
from zonelab.engine.fifo.fenced.keys import group_register
from zonelab.engine.fifo.fenced.log import LogState
from zonelab.engine.fifo.fenced.views import RegisterView
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.settings import Begin, MessageModel

GROUPS = ("mails", "bills")


async def registers(bench, zone):
    """Of both groups in the first partition, as ``zone`` has them."""
    partition = bench.partitions[0]
    names = [group_register(group) for group in GROUPS]
    (found,) = await read(bench.cluster.direct(zone), [("HMGET", bench.keys.registers(partition), *names)])
    return [RegisterView.parse(raw) for raw in found]


def test_every_group_gets_every_message_in_order_and_its_members_share_them():
    with FencedBench() as bench:
        assert bench.work(messages=20, groups=GROUPS)
        for group in GROUPS:
            ends = [row["message_id"] for row in bench.rows("end") if row["group"] == group]
            assert sorted(ends) == sorted(bench.confirmed)
            owners = {(row["partition"], row["member"]) for row in bench.rows("end") if row["group"] == group}
            assert len(owners) == len({member for _, member in owners}) == 2
        bench.assert_kept("I3", "I4", "I9", "I14")


@pytest.mark.parametrize("stopped", GROUPS)
def test_a_takeover_in_one_group_leaves_the_other_in_order(stopped):
    """Of both: the one whose member gives offsets, and the one that reads what another group's member wrote."""
    with FencedBench(partitions=1) as bench:

        async def stands_still():
            owner = next(row["member"] for row in reversed(bench.rows("commit")) if row["group"] == stopped)
            bench.programs[owner][1].stop()
            await bench.pause_ms(3 * bench.settings.times_ms.lease)
            bench.programs[owner][1].go_on()
            await bench.pause_ms(bench.settings.times_ms.renew)

        assert bench.work(stands_still, messages=20, groups=GROUPS)
        took = {row["group"] for row in bench.rows("grant") if row["outcome"] == "ok" and row["token"] > 1}
        assert stopped in took
        bench.assert_kept("I3", "I4", "I7", "I9", "I14")


@pytest.mark.parametrize("restart", [Restart.WIPE, Restart.WARM])
def test_a_zone_that_is_admitted_has_the_cursors_of_all_groups(restart):
    with FencedBench(partitions=1) as bench:
        seen = []

        async def dies():
            await bench.until(lambda: all(bench.handled(group) for group in GROUPS))
            zone = bench.cluster.zones["c"]
            await zone.kill()
            before = max(await registers(bench, "a"), await registers(bench, "b"), key=lambda found: found[0].age)
            warm_from = bench.cluster.zones["a"] if restart is Restart.WARM else None
            await zone.restart(restart, warm_from=warm_from)
            while not await bench.admitted("c"):
                await bench.pause_ms(10)
            after = await registers(bench, "c")
            seen.extend(one.age >= other.age for one, other in zip(after, before, strict=True))
            assert all(one.state for one in after)

        assert bench.work(dies, messages=20, groups=GROUPS)
        assert seen == [True, True]
        bench.assert_kept("I3", "I4", "I9", "I14")


def test_an_admission_that_brings_one_groups_register_only_is_caught(monkeypatch):
    """Two zones are wiped, one after the other, and get the registers but for one; then the third is down."""

    async def without_bills(self, zone, scan, key, original=PartitionCopy._scanned):
        async for pairs in original(self, zone, scan, key):
            if pairs is not None and key.endswith(":registers"):
                kept_pairs = zip(pairs[::2], pairs[1::2], strict=True)
                yield [word for pair in kept_pairs if pair[0] != b"group:bills" for word in pair]
            else:
                yield pairs

    def broken(*, planted):
        with FencedBench(partitions=1) as bench, monkeypatch.context() as patched:
            if planted:
                patched.setattr(PartitionCopy, "_scanned", without_bills)

            async def course():
                for group in GROUPS:
                    await bench.start(f"{group}-a", "a", group=group)
                producer = bench.producer("a")
                await bench.push_all(producer, range(12))
                await bench.until(lambda: all(len(bench.handled(group)) == 12 for group in GROUPS))
                await bench.kill("bills-a")
                for name in "ca":
                    await bench.cluster.zones[name].kill()
                    await bench.cluster.zones[name].restart(Restart.WIPE)
                    await bench.pause_ms(4 * bench.settings.times_ms.renew)
                await bench.cluster.zones["b"].kill()
                await bench.start("bills-c", "c", group="bills")
                await bench.pause_ms(3 * bench.settings.times_ms.lease)
                await bench.cluster.zones["b"].restart(Restart.KEEP)
                await bench.pause_ms(2_000)

            bench.run(course())
            return bench.verdict().shown

    assert not {"I3", "I4", "I9"} & set(broken(planted=False))
    assert "I9" in broken(planted=True)


@on(FencedBench, partitions=1)
async def test_what_waits_is_what_the_slowest_group_has_in_front_of_it(bench):
    await bench.begun("mails", messages=5)
    zones = [bench.cluster.direct(zone) for zone in ZONES]
    assert [
        await waiting(zones, bench.keys, bench.partitions[0], groups) for groups in (("mails",), ("bills",), GROUPS)
    ] == [0, 5, 5]


@on(FencedBench, partitions=1)
async def test_a_group_that_begins_at_the_end_does_so_though_another_writes_the_log(bench):
    await bench.begun("mails", messages=5)
    await bench.start("bills-b", "b", group="bills", begins=Begin.LAST)
    await bench.until(lambda: any(row["group"] == "bills" for row in bench.rows("grant")))
    await bench.pause_ms(bench.settings.times_ms.renew)
    await bench.push(bench.producer("a"), "k", 5)
    await bench.until(lambda: bench.handled("bills"))
    assert bench.handled("bills") == {"k-5"}


@pytest.mark.parametrize("ends", ["killed", "stands still"])
@on(FencedBench, partitions=1, sharing=MessageModel.BROADCASTING)
async def test_broadcasting_gives_every_member_everything_and_its_next_life_goes_on_where_it_was(bench, ends):
    """Also where the life before stands still and goes on later: it has lost its register."""
    for zone in "ab":
        await bench.start(f"m{zone}", zone)
    producer = bench.producer("c")
    await bench.push_all(producer, range(5))
    await bench.until(lambda: all(len(bench.handled(f"group/m{zone}")) == 5 for zone in "ab"))
    pause = bench.programs["ma"][1]
    if ends == "killed":
        await bench.kill("ma")
    else:
        pause.stop()
    await bench.start("ma", "a")
    await bench.push_all(producer, range(5, 10))
    await bench.until(lambda: all(len(bench.handled(f"group/m{zone}")) == 10 for zone in "ab"))
    if ends == "stands still":
        pause.go_on()
    await bench.pause_ms(2 * bench.settings.times_ms.lease)
    for zone in "ab":
        ends_of = [row["message_id"] for row in bench.rows("end") if row["group"] == f"group/m{zone}"]
        assert ends_of == [f"k-{number}" for number in range(10)]
    bench.assert_kept("I3", "I4", "I7", "I9", "I14")


@on(WriterBench)
async def test_a_reader_takes_nothing_that_an_admission_brought_to_a_second_zone_but_nobody_decided(bench):
    """One zone has a write of a writer before; the zone that comes back empty gets its record, too."""
    before, writer = bench.writer("before", "a"), bench.writer("w", "b")
    await writer.register.store.admission.mend(bench.partition)
    assert await before.take()
    await before.release()
    record = PartitionRecord(id="m", key="k", body="", producer="p", sequence=1)
    state = LogState().with_records([(0, record)]).text()
    words = ("log", 1, "before", 0, 9, state, 1, 1, 0, 0, record.text())
    assert await bench.alone("a", "write", *words) == b"ok"
    links = bench.cut_off("a")
    assert await writer.take()
    assert writer.end == 0
    await bench.mend(links)
    await bench.wiped("c", writer)
    await writer.register.renew()
    assert await bench.writer("r", "a").read(0, 10) == []
