"""Goal: a lease is one consumer's until it ends, is lost or is given back. Method: three simulated zones, one situation
a test, each mechanism that keeps leases on and off.
"""

import pytest
from support.engine.dyno_bench import ids
from support.engine.hardened import leased, message

from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.dyno.hardened.context import HardenedCounters
from zonelab.engine.ports import Indeterminate


@pytest.mark.parametrize(("without", "refused"), [((), True), ((Hardening.DELIVERY_TOKENS,), False)])
async def test_an_ack_of_a_lost_lease_is_refused_and_says_so(lab, without, refused):
    first, second = lab.queue(without=without), lab.queue(without=without)
    late = await leased(first)
    await lab.sleep(230)
    (delivery,) = await second.pop(1)
    assert await first.ack(late) is not refused
    assert first.counters == HardenedCounters(refused=refused)
    assert await second.ack(delivery) is True
    assert await second.ack(delivery) is (not refused)


async def test_an_extension_of_a_lost_lease_is_refused_and_one_in_time_is_kept(lab):
    first, second = lab.queue(), lab.queue()
    await first.push([message("kept"), message("lost")])
    kept, lost = await first.pop(2)
    assert await first.extend(kept, lease_ms=1000) is True
    await lab.sleep(230)
    assert ids(await second.pop(2)) == ["lost"]
    assert await first.extend(lost, lease_ms=1000) is False
    assert await first.ack(kept) is True


@pytest.mark.parametrize(("without", "kept"), [((), True), ((Hardening.LEASE_HEARTBEAT,), False)])
async def test_work_may_outlast_its_lease_while_its_program_lives(lab, without, kept):
    async with lab.queue(without=without) as worker:
        other = lab.queue()
        delivery = await leased(worker)
        await lab.sleep(900)
        assert (await other.pop(1) == []) is kept
        assert await worker.ack(delivery) is kept
        assert (worker.counters.extended > 0) is kept
        assert worker.counters.refused == (not kept)


async def test_the_heartbeat_ends_with_its_program_and_at_its_limit(lab):
    other = lab.queue()
    async with lab.queue(hold_max_ms=300) as worker:
        await worker.push([message("a"), message("b")])
        await worker.pop(1)
        await lab.sleep(700)
        assert ids(await other.pop(1)) == ["a"]
        await worker.pop(1)
    await lab.sleep(230)
    assert "b" in ids(await other.pop(2))


async def test_a_lease_that_ended_needs_no_handler(lab):
    queue = lab.queue()
    await queue.push([message()])
    assert ids(await queue.pop(1)) == ["m"]
    await lab.sleep(215)
    assert await queue.pop(1) == []  # within the margin for clocks
    await lab.sleep(10)
    (again,) = await queue.pop(1)
    assert await queue.ack(again) is True


@pytest.mark.parametrize(("without", "free"), [((), True), ((Hardening.HEAD_OF_LINE_REPAIR,), False)])
async def test_a_lease_that_nobody_won_is_given_back_at_once(lab, without, free):
    """One zone is dead, and the second thinks that another consumer has the message."""
    queue = lab.queue("a", without=without)
    await queue.push([message()])
    await lab.sleep(20)
    await lab.take_elsewhere("b", "m", for_ms=40)
    await lab.cluster.zones["c"].kill()
    with pytest.raises(Indeterminate):
        await queue.pop(1)
    assert queue.counters == HardenedCounters(given_back=free)
    await lab.sleep(80)
    assert (ids(await queue.pop(1)) == ["m"]) is free


@pytest.mark.parametrize(("without", "free"), [((), True), ((Hardening.HEAD_OF_LINE_REPAIR,), False)])
@pytest.mark.parametrize("others_after_ms", [0, 10])
async def test_a_message_popped_before_two_zones_have_it_is_ready_again_when_they_do(
    lab, without, free, others_after_ms
):
    """The put is on its way to two zones; they get it before their records are compared, or after."""
    early = lab.queue("a", through=lambda _: lab.cluster.direct("b"))
    await early.push([message(shard="b")])
    consumer = lab.queue("b", without=without)
    assert await consumer.pop(1) == []
    await lab.sleep(others_after_ms)
    await lab.queue("a").push([message(shard="b")])
    await lab.sleep(20)
    assert (ids(await consumer.pop(1)) == ["m"]) is free
    assert consumer.counters.given_back == free


async def test_a_lease_that_the_vote_cannot_confirm_is_proven_by_two_zones(lab):
    """Three zones answer a batch in three ways; each message has its majority nevertheless."""
    queue = lab.queue("a")
    await queue.push([message("m1"), message("m2")])
    await lab.sleep(20)
    await lab.take_elsewhere("b", "m1", for_ms=100)
    await lab.take_elsewhere("c", "m2", for_ms=100)
    deliveries = await queue.pop(2)
    assert sorted(ids(deliveries)) == ["m1", "m2"]
    assert queue.counters == HardenedCounters(proven=2)
    assert await queue.ack_all(deliveries) == [True, True]


@pytest.mark.parametrize(("without", "overlaps"), [((), False), ((Hardening.CLOCK_MARGIN,), True)])
async def test_a_clock_that_is_ahead_within_the_margin_takes_no_lease(lab, without, overlaps):
    lab.cluster.clocks["b"].jump(15 * 1_000_000)
    first, second = lab.queue("a", without=without), lab.queue("b", without=without)
    await first.push([message()])
    await first.pop(1)
    await lab.sleep(190)
    assert bool(await second._popper._take_of("a", 1)) is overlaps


async def test_given_back_is_ready_at_once_and_removed_is_gone_even_while_leased(lab):
    queue = lab.queue()
    delivery = await leased(queue)
    await queue.give_back(delivery)
    await lab.sleep(1)  # versions are times: a newer lease ends later
    (again,) = await queue.pop(1)
    assert await queue.ack(delivery) is False
    assert await queue.remove_all(["m", "unknown"]) == [True, False]
    assert await queue.ack(again) is False
    await lab.sleep(250)
    assert await queue.pop(1) == []
    assert await queue.size() == 0


async def test_the_heartbeat_does_not_shorten_what_was_extended(lab):
    """A zone keeps the later end, so nobody else can have the message; its ack is no late one."""
    queue, told = lab.queue(), []
    queue.tell_extensions(lambda message_id, ends_ms: told.append(message_id))
    delivery = await leased(queue)
    assert await queue.extend(delivery, lease_ms=2000) is True
    await queue._beat()
    assert (told, queue.counters.extended) == ([], 0)
    await lab.sleep(1000)
    assert await lab.queue().pop(1) == []
    assert await queue.ack(delivery) is True
