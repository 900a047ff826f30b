"""Goal: hardened gmq keeps gmq's contract, with leases that nobody else can end and nothing in nobody's hands.

Method: three simulated zones, instances in each, and a clock that only passes when a test lets it.
"""

import pytest
from support.engine.hardened import MS, ZONES, GmqLab, hardened_lab

from zonelab.engine.dyno.hardened.records.keys import HardenedKeys
from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate, ServerError


@pytest.fixture
def lab():
    with hardened_lab() as made:
        yield GmqLab(made.cluster)


async def popped(queue, count=5):
    return [delivery.message.id for delivery in await queue.pop(count)]


async def test_an_id_that_is_there_is_refused_and_so_it_is_after_its_ack(lab):
    queue, other = lab.instance(), lab.instance("b")
    await queue.push([Message(id="m", payload="first")])
    for delay_ms in (0, 1_000):
        with pytest.raises(ServerError, match="has exist"):
            await other.push([Message(id="m", payload="second", timeout_ms=delay_ms)])
    with pytest.raises(Indeterminate, match="has exist"):
        await other.push([Message(id="new"), Message(id="m")])
    (delivery,) = await queue.pop(1)
    assert delivery.message.payload == "first"
    assert await queue.ack(delivery)
    with pytest.raises(ServerError, match="has exist"):
        await queue.push([Message(id="m")])
    assert await popped(other) == ["new"]


async def test_topics_are_popped_in_strict_order_and_unknown_ones_refused(lab):
    queue = lab.instance()
    await queue.push([Message(id=f"{topic}-{n}", topic=topic) for n in (1, 2) for topic in reversed(GmqLab.topics)])
    assert [await popped(queue, 1) for _ in range(4)] == [["fast-1"], ["fast-2"], ["slow-1"], ["slow-2"]]
    with pytest.raises(ValueError, match="topic must be one of fast, slow, got 'none'"):
        await queue.push([Message(id="m", topic="fast"), Message(id="n", topic="none")])
    assert await popped(queue) == []


@pytest.mark.parametrize(("of_queue", "lease_ms"), [(True, None), (False, 0)])
async def test_without_a_lease_a_job_is_delivered_once_even_if_its_consumer_dies(lab, of_queue, lease_ms):
    queue = lab.instance(at_most_once=of_queue)
    await queue.push([Message(id="once", lease_ms=lease_ms), Message(id="leased", lease_ms=100)])
    first = await queue.pop(5)
    assert {delivery.message.id for delivery in first} == {"once", "leased"}
    assert [await queue.ack(delivery) for delivery in first if delivery.message.id == "once"] == [False]
    await lab.sleep(500)
    assert await popped(queue) == ["leased"]


async def test_a_job_may_have_a_lease_of_its_own(lab):
    queue = lab.instance()
    await queue.push([Message(id="short", lease_ms=50), Message(id="usual")])
    assert sorted(await popped(queue)) == ["short", "usual"]
    await lab.sleep(100)
    assert await popped(queue) == ["short"]
    await lab.sleep(200)
    assert sorted(await popped(queue)) == ["short", "usual"]


async def test_the_ack_of_a_lease_that_ended_is_refused_and_the_job_stays_with_its_next_consumer(lab):
    slow, quick = lab.instance(), lab.instance()
    await slow.push([Message(id="m")])
    (late,) = await slow.pop(1)
    await lab.sleep(300)
    (delivery,) = await quick.pop(1)
    assert not await slow.ack(late)
    assert not await slow.ack(delivery)  # whose token this instance does not know
    assert await quick.ack(delivery)
    await lab.sleep(300)
    assert await popped(slow) == []


async def test_an_ack_is_refused_by_its_token_where_the_clock_of_its_holder_is_behind(lab):
    behind, other = lab.instance("a"), lab.instance("a")
    await behind.push([Message(id="m")])
    (late,) = await behind.pop(1)
    await lab.sleep(300)
    (delivery,) = await other.pop(1)
    lab.cluster.clock("a").jump(-300 * MS)
    assert not await behind.ack(late)
    assert await other.ack(delivery)


async def test_what_nobody_acknowledges_is_not_held_for_ever(lab):
    queue = lab.instance()
    await queue.push([Message(id="m")])
    (delivery,) = await queue.pop(1)
    held = queue._topics["fast"]
    assert held.holds(delivery)
    await lab.sleep(300)
    assert await popped(queue) == ["m"]
    assert not held.holds(delivery)


async def test_what_was_delivered_in_vain_so_often_is_set_aside(lab):
    queue = lab.instance(deliveries_max=2)
    await queue.push([Message(id="poison")])
    for expected in (["poison"], ["poison"], []):
        assert await popped(queue) == expected
        await lab.sleep(300)
    assert [letter.id for letter in await queue.dead_letters("fast", 5)] == ["poison"]


async def test_a_dispatcher_names_what_nobody_listed_and_lists_it(lab):
    queue, keys = lab.instance(), HardenedKeys(prefix="test", queue="slow")
    async with lab.dispatcher("b") as dispatcher:
        for zone in ZONES:
            await lab.ask(zone, "HSET", keys.messages, "orphan", b'{"id":"orphan","timeout":0,"priority":0}')
        await lab.sleep(2_000)
        assert dispatcher.adopted == {"fast": [], "slow": ["orphan"]}
    assert "orphan" in [*await popped(queue), *await popped(lab.instance("b"))]


async def test_a_dispatcher_brings_a_zone_what_it_missed_whichever_zone_serves_it(lab):
    queue, keys = lab.instance("c"), HardenedKeys(prefix="test", queue="fast")
    await queue.push([Message(id="m")])
    await lab.ask("c", "HDEL", keys.records, "m")
    await lab.ask("c", "HDEL", keys.messages, "m")
    await lab.ask("c", "ZREM", keys.ready("c"), "m")
    async with lab.dispatcher("a"):
        await lab.sleep(120)  # before the first page of all records
    assert await popped(queue) == ["m"]
