"""Goal: a fenced log is trimmed behind its slowest group, and nobody misses what is gone, whatever happens to zones.

Method: groups on three simulated zones, judged by the checker of ordered messages; and a writer of one log alone.
"""

from dataclasses import replace

import pytest
from support.engine.fenced import ZONES, FencedBench, on
from support.engine.fenced_writers import WriterBench

from zonelab.cluster.zone import Restart
from zonelab.engine.common.pipelines import read
from zonelab.engine.fifo.fenced.cursor import GroupCursor
from zonelab.engine.fifo.fenced.log import PRODUCERS_MAX, LogState
from zonelab.engine.fifo.fenced.trimming import slowest_cursor
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import PartitionRecord

KEPT = 5


async def offsets(bench, zone):
    """What ``zone`` has of the first partition's log."""
    (names,) = await read(bench.cluster.direct(zone), [("HKEYS", bench.keys.log(bench.partitions[0]))])
    return sorted(map(int, names))


async def trimmed(bench, first):
    """Whether every zone's log begins there, soon."""
    for _ in range(200):
        found = [await offsets(bench, zone) for zone in ZONES]
        if all(each and each[0] == first for each in found) and found[0] == found[1] == found[2]:
            return True
        await bench.pause_ms(50)
    return False


async def writer_and_group(bench):
    """A store, a writer in office, and a group at the first record of its log."""
    store = bench.store("w", "a")
    writer, mails = bench.writer("w", "a"), GroupCursor(store, bench.partition, "mails")
    await store.admission.mend(bench.partition)
    assert await mails.take()
    await mails.adopt(begins=0)
    assert await writer.take()
    return store, writer, mails


async def fill(bench, writer):
    """Twenty records, which ``writer`` knows."""
    await bench.push_all(bench.producer("a"), range(20))
    while writer.end < 20:
        await writer.read(writer.end, 20)


@on(FencedBench, partitions=1, kept=KEPT)
async def test_a_log_is_trimmed_behind_the_slowest_group_and_a_group_that_begins_later_gets_the_rest(bench):
    await bench.begun("mails", "bills", messages=30)
    assert await trimmed(bench, 30 - KEPT)
    await bench.start("late-c", "c", group="late")
    await bench.push_all(bench.producer("a"), range(30, 33))
    await bench.until(lambda: len(bench.handled("late")) == KEPT + 3)
    assert bench.handled("late") == {f"k-{number}" for number in range(30 - KEPT, 33)}
    bench.assert_kept()


@on(FencedBench, partitions=1, kept=KEPT, groups=("mails", "bills"))
async def test_nothing_is_trimmed_before_each_group_that_is_known_beforehand_has_begun(bench):
    await bench.begun("mails", messages=30)
    assert not await trimmed(bench, 30 - KEPT)
    await bench.start("bills-c", "c", group="bills")
    assert await trimmed(bench, 30 - KEPT)
    assert len(bench.handled("bills")) == 30
    bench.assert_kept()


@pytest.mark.parametrize("restart", list(Restart))
@on(FencedBench, partitions=1, kept=KEPT)
async def test_a_zone_that_missed_a_trim_has_no_more_than_the_others_once_it_takes_part(bench, restart):
    await bench.begun("mails", messages=6)
    zone = bench.cluster.zones["c"]
    await zone.kill()
    await bench.push_all(bench.producer("a"), range(6, 30))
    await bench.until(lambda: len(bench.handled("mails")) == 30)
    await bench.pause_ms(5 * bench.settings.times_ms.member_scan)
    assert (await offsets(bench, "a"))[0] > 0
    await zone.restart(restart, warm_from=bench.cluster.zones["a"] if restart is Restart.WARM else None)
    await bench.pause_ms(2_000)
    assert await trimmed(bench, 30 - KEPT)
    bench.assert_kept()


def test_trimming_behind_the_fastest_group_loses_what_the_slowest_has_not_read(monkeypatch):
    def everybody_has_all(*, planted):
        with FencedBench(partitions=1, kept=KEPT) as bench, monkeypatch.context() as patched:
            if planted:
                patched.setattr("zonelab.engine.fifo.fenced.trimming.min", max, raising=False)

            async def course():
                await bench.begun("mails", "bills", messages=6)
                pause = bench.programs["bills-b"][1]
                pause.stop()
                await bench.push_all(bench.producer("a"), range(6, 30))
                await bench.until(lambda: len(bench.handled("mails")) == 30)
                await bench.pause_ms(5 * bench.settings.times_ms.member_scan)
                pause.go_on()
                return await bench.until(lambda: len(bench.handled("bills")) == 30, most_ms=10_000)

            return bench.run(course())

    assert everybody_has_all(planted=False)
    assert not everybody_has_all(planted=True)


@on(WriterBench)
async def test_nothing_is_trimmed_while_a_group_is_about_to_begin(bench):
    """It has asked for its register, and may have looked at where the log begins."""
    store, writer, mails = await writer_and_group(bench)
    await fill(bench, writer)
    await mails.commit(Progress(10))
    first_round = await writer.trim(kept=0), await writer.floor()
    bills = GroupCursor(bench.store("b", "b"), bench.partition, "bills")
    assert await bills.take()
    while_it_begins = await writer.trim(kept=0), await slowest_cursor(store.views, bench.partition)
    await bills.adopt(begins=await writer.floor())
    await mails.commit(Progress(20))
    rounds = [await writer.trim(kept=0) for _ in range(3)]
    assert first_round == (0, 10)
    assert while_it_begins == (0, None)
    assert bills.state.progress.cursor == 10
    assert rounds == [10, 0, 0]


@on(WriterBench)
async def test_a_repair_brings_nothing_that_was_trimmed_since_it_was_missed(bench):
    """A zone missed records that all groups had; they were trimmed while the writer compared zones."""
    _, writer, mails = await writer_and_group(bench)
    links = bench.cut_off("c")
    await fill(bench, writer)
    await bench.mend(links)
    await mails.commit(Progress(10))
    assert await writer.trim(kept=0) == 0
    compare = writer._missed

    async def compare_and_trim():
        missing = await compare()
        assert [entry.offset for entry in missing] == list(range(20))
        assert await writer.trim(kept=0) == 10
        return missing

    writer._missed = compare_and_trim
    await writer.repair()
    assert [await offsets(bench, zone) for zone in ZONES] == [list(range(10, 20))] * 3


@pytest.mark.parametrize("first", [4, 3_000_000], ids=["near", "far behind what the zone has"])
@on(WriterBench)
async def test_a_copy_brings_nothing_that_was_trimmed(bench, first):
    writer, zone = bench.writer("w", "a"), bench.cluster.zones["c"]
    await writer.register.store.admission.mend(bench.partition)
    await zone.kill()
    await zone.restart(Restart.WIPE)
    await bench.pause_ms(2_000)
    await bench.alone("c", "fill", 1, "log", 2, "1 b", 3, "1 c", first + 1, "1 e")
    await bench.alone("c", "fill", 2, "registers", "log", f"1 w 0 1 5 [{first + 5},9,{{}},0,{first},6]")
    await bench.alone("c", "fill", 3, "log", first - 1, "1 c", first, "1 d")
    assert await offsets(bench, "c") == [first, first + 1]


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (LogState(end=3, since=1, last={"p": (3, 2)}), '[3,1,{"p":[3,2]}]'),
        (LogState(end=3, since=3, ended=True), "[3,3,{},1]"),
        (LogState(end=9, since=9, last={"p": (3, 2, 1)}, first=4, floor=6), '[9,9,{"p":[3,2,1]},0,4,6]'),
    ],
)
def test_a_log_that_was_never_trimmed_is_written_as_before(state, text):
    assert state.text() == text
    assert LogState.parse(text) == state


def test_a_record_keeps_its_number_when_the_log_in_front_of_it_is_gone():
    """A push that comes again finds the newest number of its producer, also if that record was trimmed."""
    state = LogState().with_records([(0, PartitionRecord(id="m", key="k", body="", producer="p", sequence=1))])
    state = state.trimmed(first=1, floor=1)
    assert state.has("p", 1)
    assert (state.first, state.since, state.end) == (1, 1, 1)


@on(WriterBench)
async def test_a_state_does_not_count_as_decided_where_a_zone_promised_its_register_to_somebody_since(bench):
    """A zone is let in with what one zone has, before that hears of the owner that two zones promised the register."""
    store = bench.store("w", "a")
    await store.admission.mend(bench.partition)
    write = ("group:g", 1, "w", 0, 1, "[7,[],{},0,[]]", 1, 0, 0)
    for zone in "ac":
        assert await bench.alone(zone, "write", *write) == b"ok"
    shown = await slowest_cursor(store.views, bench.partition)
    assert await bench.alone("c", "claim", "group:g", 2, "x", 10, 100, 0) == b"ok"
    assert shown == 7
    assert await slowest_cursor(store.views, bench.partition) is None


def test_the_producers_of_the_latest_records_are_remembered_whatever_their_names():
    """One that is forgotten is in doubt: the end of the log does not say that its record is missing."""

    def record(number):
        name = f"p{number * 7919 % 10_007}"  # in no alphabetical order
        return PartitionRecord(id=f"m{number}", key="k", body="", producer=name, sequence=1)

    state = LogState()
    for number in range(PRODUCERS_MAX):
        state = state.with_records([(number, record(number))])
    assert len(state.last) == PRODUCERS_MAX
    assert state.holds(record(0))
    state = state.with_records([(PRODUCERS_MAX, record(PRODUCERS_MAX))])
    ended = replace(state, ended=True)
    assert (ended.holds(record(0)), ended.holds(record(1)), ended.holds(record(PRODUCERS_MAX))) == (None, True, True)
    again = ended.with_records([(PRODUCERS_MAX + 1, replace(record(1), sequence=2))])
    later = again.with_records([(PRODUCERS_MAX + 2, record(PRODUCERS_MAX + 1))])
    assert (later.holds(record(2)), later.holds(record(1))) == (None, True)
