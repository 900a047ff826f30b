"""Goal: fenced partitions give delayed records their offsets when they are due, those of a producer in the order of
(due, number) among all that it sends, also where zones miss records, owners change and a topic is resized.

Method: writers of one log on three simulated zones, with cuts and losses at chosen moments; then members.
"""

from support.engine.fenced import ZONES, FencedBench, on
from support.engine.fenced_writers import MARGIN_MS, WriterBench

from zonelab.engine.fifo.fenced.resizing import SealedLogs
from zonelab.engine.fifo.log.due_order import DueOrder
from zonelab.engine.fifo.log.record import PartitionRecord

DELAY_MS = 300


def fronts(*sent):
    """When each of (now, delay) is due, and behind which number."""
    order = DueOrder(0)
    return [order.place(number, now_ms=now, delay_ms=delay) for number, (now, delay) in enumerate(sent, 1)]


def test_a_record_is_told_which_is_due_last_before_it():
    told = fronts((100, 0), (100, 50), (110, 10), (130, 0), (130, 30), (160, 0))
    assert told == [(100, 0), (150, 1), (120, 1), (130, 3), (160, 2), (160, 5)]


def test_what_is_sent_later_is_not_due_earlier_though_the_clock_went_back():
    assert fronts((100, 0), (90, 0), (80, 15), (80, 0)) == [(100, 0), (100, 1), (115, 2), (100, 2)]


def test_a_record_keeps_when_it_is_due_and_behind_which():
    record = PartitionRecord(id="m", key="k", body="", producer="p", sequence=7, due_ms=5, front=3)
    assert PartitionRecord.parse(record.text()) == record
    assert PartitionRecord(id="m", key="k", body="", producer="p", sequence=7).front == 6


async def logged(bench, writer, count):
    """Ids of the first ``count`` records, as soon as they have offsets, and when the last one had."""
    names = [await bench.placed(writer, offset, most_ms=3_000) for offset in range(count)]
    return names, bench.cluster.clock("a").now_ms()


async def pushes(bench, producer, *delays_ms):
    for number, delay_ms in enumerate(delays_ms):
        assert await bench.push(producer, "k", number, delay_ms)


@on(WriterBench)
async def test_offsets_are_given_when_records_are_due_and_in_that_order(bench):
    writer = bench.writer("writer", "a")
    assert await writer.take()
    begun_ms = bench.cluster.clock("c").now_ms()
    await pushes(bench, bench.producer("c"), 900, DELAY_MS, 0, 600)
    names, now_ms = await logged(bench, writer, 4)
    names, took_ms = names, now_ms - begun_ms
    assert names == ["k-2", "k-1", "k-3", "k-0"]
    assert took_ms >= 900 + MARGIN_MS


@on(WriterBench)
async def test_what_one_zone_lacks_goes_in_before_what_is_due_later(bench):
    """a, whose inbox the writer looks at, has the first and not the second, which is due earlier; then both are."""
    writer, producer = bench.writer("writer", "a"), bench.producer("c")
    assert await writer.take()
    assert await bench.push(producer, "k", 0, 500)
    links = bench.cut_off("a")
    assert await bench.push(producer, "k", 1, 200)
    await bench.mend(links)
    await bench.pause_ms(500)
    assert (await logged(bench, writer, 2))[0] == ["k-1", "k-0"]


@on(WriterBench)
async def test_what_is_sent_after_a_delayed_record_was_due_waits_for_it(bench):
    """a lacks the first, which was due when the second was sent."""
    writer, producer = bench.writer("writer", "a"), bench.producer("c")
    assert await writer.take()
    links = bench.cut_off("a")
    assert await bench.push(producer, "k", 0, 20)
    await bench.mend(links)
    await bench.pause_ms(50)
    assert await bench.push(producer, "k", 1)
    assert (await logged(bench, writer, 2))[0] == ["k-0", "k-1"]


@on(WriterBench)
async def test_a_delayed_record_outlives_its_owner_and_the_loss_of_each_zone_that_had_it(bench):
    """c misses the push; the two that have it are wiped and let in, one after the other; another session goes on."""
    first, second = bench.writer("first", "b"), bench.writer("second", "c")
    assert await first.take()
    links = bench.cut_off("c")
    producer = bench.producer("a")
    await pushes(bench, producer, 2_000, 0)
    await bench.mend(links)
    assert await bench.placed(first, 0) == "k-1"
    await first.release()
    assert await second.take()
    for zone in "ab":
        await bench.wiped(zone, second)
    assert (await logged(bench, second, 2))[0] == ["k-1", "k-0"]


async def inboxes(bench):
    """What each zone has that was delayed and waits."""
    read = ("ZRANGE", bench.keys.delayed(bench.partition), 0, -1)
    found = [(await bench.cluster.direct(zone).execute(read))[0] for zone in ZONES]
    return [[PartitionRecord.parse(raw.decode()).id for raw in texts] for texts in found]


@on(WriterBench)
async def test_behind_a_record_that_lacks_the_one_in_front_of_it_nothing_of_its_producer_goes_in(bench):
    """The second is due first, and the third next; no zone that was looked at has the second yet."""
    writer, now_ms = bench.writer("writer", "a"), bench.cluster.clock("a").now_ms()
    assert await writer.take()
    due = {1: (now_ms - 60, 0), 2: (now_ms - 80, 0), 3: (now_ms - 70, 2)}
    inbox = bench.keys.delayed(bench.partition)

    async def put(number):
        due_ms, front = due[number]
        parts = {"id": str(number), "key": "k", "body": "", "producer": "p", "sequence": number}
        text = PartitionRecord(**parts, due_ms=due_ms, front=front).text()
        for zone in ZONES:
            await bench.cluster.direct(zone).execute(("ZADD", inbox, due_ms, text))

    for number in (1, 3):
        await put(number)
    early = await bench.placed(writer, 0, most_ms=500)
    await put(2)
    assert early is None
    assert (await logged(bench, writer, 3))[0] == ["2", "3", "1"]


@on(WriterBench)
async def test_a_copy_that_stayed_in_an_inbox_gets_no_second_offset(bench):
    writer = bench.writer("writer", "a")
    assert await writer.take()
    producer = bench.producer("c")
    await pushes(bench, producer, 3_000, 200, 0)
    assert (await logged(bench, writer, 2))[0] == ["k-2", "k-1"]
    copy = (await writer.read(1, 1))[0].record
    inbox = bench.keys.delayed(bench.partition)
    await bench.cluster.direct("b").execute(("ZADD", inbox, copy.due_ms, copy.text()))
    assert await bench.placed(writer, 2, most_ms=1_000) is None
    assert await bench.push(producer, "k", 3)
    assert await bench.placed(writer, 2) == "k-3"
    await bench.pause_ms(50)
    assert await inboxes(bench) == [["k-0"]] * 3
    await writer.release()
    second = bench.writer("second", "b")
    assert await second.take()
    await bench.cluster.direct("b").execute(("ZADD", inbox, copy.due_ms, copy.text()))
    assert (await logged(bench, second, 4))[0] == ["k-2", "k-1", "k-3", "k-0"]
    assert await bench.placed(second, 4, most_ms=1_000) is None


@on(WriterBench)
async def test_a_sealed_log_ends_when_all_that_was_delayed_is_in_it(bench):
    writer, sealed = bench.writer("writer", "a"), SealedLogs(bench.store("admin", "b"), keys=bench.fifo_keys)
    assert await writer.take()
    await pushes(bench, bench.producer("c"), 1_000, 0)
    ends = bench.runtime.spawn(sealed.seal(bench.partition), name="seal")
    await bench.pause_ms(200)
    await writer.end_if_sealed()
    await bench.pause_ms(100)
    begun = ends.done()
    while not ends.done():
        await writer.register.renew()
        await writer.end_if_sealed()
        await bench.pause_ms(50)
    assert not begun
    assert await ends.join() == 2
    assert [entry.record.id for entry in await writer.read(0, 9)] == ["k-1", "k-0"]


@on(FencedBench, partitions=1)
async def test_members_get_a_key_in_the_order_of_due_times_while_owners_die(bench):
    for zone in "ab":
        await bench.start(f"m{zone}", zone)
    producer = bench.producer("c")
    await pushes(bench, producer, *(DELAY_MS * ((7 * number) % 5) for number in range(10)))
    await bench.pause_ms(DELAY_MS)
    for name in [name for name, (member, *_) in bench.programs.items() if member._context.queues][:1]:
        await bench.kill(name)
    assert await bench.until(lambda: len(bench.handled()) == 10)
    bench.assert_kept("I1")
    rows = {row["message_id"]: row["until_ns"] or row["invoke_ns"] for row in bench.rows("produce")}
    began = list(dict.fromkeys(row["message_id"] for row in bench.rows("start")))
    assert began == sorted(rows, key=rows.__getitem__)
