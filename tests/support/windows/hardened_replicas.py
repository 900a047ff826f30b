"""Replicas that are behind or of another opinion, under the hardened queue.

A program that takes another zone's shard does what it does once it has taken the shard over.
"""

from support.windows.hardened_stage import HardenedStage
from support.windows.lags import ACK_NOT_THERE_YET, CONSUMED_STILL_SHOWN, LATE, under_each
from support.windows.replicas import ties
from support.windows.stage import LEASE_MS, X, failure, said

from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import LocalOnly
from zonelab.engine.dyno.hardened import HardenedQueue
from zonelab.engine.message import Delivery


async def taken(queue: HardenedQueue, shard: str) -> list[Delivery]:
    """A pop of ``queue`` from another zone's shard, which it took over."""
    return await queue._popper._take_of(shard, 1)


async def new_message_not_there_yet(stage: HardenedStage) -> str:
    stage.level = Level.DC_ONE
    stage.set_lag("a", "b", LATE)
    await stage.hardened("a", strategy=LocalOnly("b")).push([X])
    _, at_once = await stage.pop("b")
    await stage.sleep(400)
    consumer, later = await stage.pop("b")
    acked = [said(await consumer.ack(delivery)) for delivery in later]
    return f"pop at once: {said(at_once)}; 0.4 s later: {said(later)}; ack: {' '.join(acked)}; {await stage.drain()}"


async def consumed_still_shown(stage: HardenedStage, *, level: Level) -> str:
    stage.level = level
    await stage.hardened("b").push([X])
    await stage.sleep(10)
    stage.set_lag("b", "c", LATE)
    consumer, (delivery,) = await stage.pop("b")
    assert await consumer.ack(delivery)
    popped = await taken(stage.hardened("c"), "b")
    return f"pop in c of what was consumed: {said(popped)}; {await stage.drain()}"


async def lease_on_two_sides(stage: HardenedStage) -> str:
    stage.level = Level.DC_ONE
    await stage.hardened("b").push([X])
    await stage.sleep(10)
    stage.set_lag("b", "c", LATE)
    consumer, first = await stage.pop("b")
    second = await taken(stage.hardened("c"), "b")
    acked = [said(await consumer.ack(delivery)) for delivery in first]
    return f"pop in b: {said(first)}; pop in c: {said(second)}; b's ack: {' '.join(acked)}; {await stage.drain()}"


async def extension_not_there_yet(stage: HardenedStage) -> str:
    """A consumer in a has a message of b's shard and extends its lease; b does not know."""
    await stage.hardened("b").push([X])
    consumer = stage.hardened("a")
    (delivery,) = await taken(consumer, "b")
    stage.set_lag("a", "b", LATE)
    await stage.sleep(LEASE_MS - 100)
    assert await consumer.extend(delivery, lease_ms=5 * LEASE_MS)
    await stage.sleep(250)
    _, popped = await stage.pop("b")
    acked = said(await consumer.ack(delivery))
    return f"pop while the first consumer works: {said(popped)}; its ack: {acked}; {await stage.drain()}"


async def ack_not_there_yet(stage: HardenedStage, *, level: Level, lag: str) -> str:
    """Acknowledged through a just before the lease ends; b, whose shard it is, does not know."""
    stage.level = level
    await stage.hardened("b").push([X])
    consumer = stage.hardened("a")
    (delivery,) = await taken(consumer, "b")
    await stage.sleep(10)
    stage.set_lag("a", "b", lag)
    await stage.sleep(LEASE_MS - 100)
    assert await consumer.ack(delivery)
    await stage.sleep(200)
    popped = await failure(stage.hardened("b").pop(1))
    stage.set_lag("a", "b", "0")
    await stage.sleep(3000)  # what is on its way arrives
    return f"pop of what was acknowledged: {popped}; {await stage.drain()}"


async def _drained(stage: HardenedStage) -> str:
    await stage.mend()
    return f"; {await stage.drain()}"


async def others_agree(stage: HardenedStage) -> str:
    stage.level = Level.DC_SAFE_QUORUM
    await stage.hardened().push([X])
    stage.cut("a", "c")
    consumer, got = await stage.pop()
    acked = [said(await consumer.ack(delivery)) for delivery in got]
    await stage.mend()
    return f"pop: {said(got)}; ack: {' '.join(acked)}; {await stage.drain()}"


async def minority_keeps_an_old_lease(stage: HardenedStage) -> str:
    """Zone a, whose shard it is, missed the end of a lease and the next one, which b took."""
    await stage.hardened().push([X])
    _, first = await stage.pop()
    assert said(first) == "x"
    stage.cut("a", "b")
    stage.cut("a", "c")
    await stage.sleep(2 * LEASE_MS)
    consumer = stage.hardened("b")
    got = await taken(consumer, "a")
    await stage.mend()
    _, popped = await stage.pop()
    acked = [said(await consumer.ack(delivery)) for delivery in got]
    return f"pop in b: {said(got)}; pop in a: {said(popped)}; b's ack: {' '.join(acked)}; {await stage.drain()}"


COURSES = {
    "lag_new_message_not_there_yet": new_message_not_there_yet,
    **under_each(CONSUMED_STILL_SHOWN, consumed_still_shown),
    "lag_lease_on_two_sides_dc_one": lease_on_two_sides,
    "lag_extension_not_there_yet": extension_not_there_yet,
    **under_each(ACK_NOT_THERE_YET, ack_not_there_yet),
    **ties(
        lambda stage: stage.hardened().push([X]), lambda stage, zone: taken(stage.hardened(zone), "a"), after=_drained
    ),
    "vote_one_away_others_agree_safe_quorum": others_agree,
    "vote_minority_keeps_an_old_lease": minority_keeps_an_old_lease,
}
