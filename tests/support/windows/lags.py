"""Replicas that are behind, and what DC_ONE promises of them."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from support.windows.crashes import redelivery
from support.windows.stage import LEASE_MS, AnyStage, Stage, X, failure, meanwhile, said

from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Restart
from zonelab.engine.dyno import LocalOnly

LATE = "constant:300ms"
LATER_THAN_TIME_OUT = "constant:3s"

CONSUMED_STILL_SHOWN = {
    "lag_consumed_still_shown_quorum": {"level": Level.DC_QUORUM},
    "lag_consumed_still_shown_dc_one": {"level": Level.DC_ONE},
}
ACK_NOT_THERE_YET = {
    "lag_ack_not_there_yet_dc_one": {"level": Level.DC_ONE, "lag": LATE},
    "lag_ack_not_there_yet_quorum": {"level": Level.DC_QUORUM, "lag": LATE},
    "lag_ack_beyond_the_time_out_quorum": {"level": Level.DC_QUORUM, "lag": LATER_THAN_TIME_OUT},
    "lag_ack_beyond_the_time_out_safe_quorum": {"level": Level.DC_SAFE_QUORUM, "lag": LATER_THAN_TIME_OUT},
}
PAYLOAD_MISSED = {
    "lag_payload_missed_dc_one": {"level": Level.DC_ONE},
    "lag_payload_missed_quorum": {"level": Level.DC_QUORUM},
}


def under_each(
    cases: Mapping[str, Mapping[str, Any]], course: Callable[..., Coroutine[Any, Any, str]]
) -> dict[str, Callable[..., Coroutine[Any, Any, str]]]:
    """``course`` under the circumstances of every one of ``cases``, by its name."""
    return {name: partial(course, **circumstances) for name, circumstances in cases.items()}


async def new_message_not_there_yet(stage: Stage) -> str:
    stage.level = Level.DC_ONE
    stage.set_lag("a", "b", LATE)
    await stage.queue("a", strategy=LocalOnly("b")).push([X])
    at_once = said(await stage.queue("b").pop(1))
    await stage.sleep(400)
    return f"pop at once: {at_once}; 0.4 s later: {said(await stage.queue('b').pop(1))}"


async def consumed_still_shown(stage: Stage, *, level: Level) -> str:
    """Zone c is behind zone b and pops from its shard, as an unsafe pop or a fail-over does."""
    stage.level = level
    await stage.queue("b").push([X])
    await stage.sleep(10)
    stage.set_lag("b", "c", LATE)
    assert said(await stage.queue("b").pop(1)) == "x"
    assert await stage.queue("b").ack("x")
    popped = said(await stage.queue("c", serves="b").pop(1))
    await stage.sleep(1000)
    return f"pop in c of what was consumed: {popped}; {await stage.state()}"


async def lease_on_two_sides_dc_one(stage: Stage) -> str:
    stage.level = Level.DC_ONE
    await stage.queue("b").push([X])
    await stage.sleep(10)
    stage.set_lag("b", "c", LATE)
    first = said(await stage.queue("b").pop(1))
    second = said(await stage.queue("c", serves="b").pop(1))
    return f"pop in b: {first}; pop in c: {second}"


async def old_lease_end(stage: Stage) -> str:
    """The lease is extended through zone a; the handler in b does not know."""
    await stage.queue("b").push([X])
    assert said(await stage.queue("b").pop(1)) == "x"
    stage.set_lag("a", "b", LATE)
    await stage.sleep(LEASE_MS - 100)
    assert await stage.queue("a").set_unack_timeout("x", timeout_ms=60_000)
    await stage.sleep(150)
    await stage.queue("b").process_unacks()
    return f"pop while the first consumer works: {said(await stage.queue('b').pop(1))}"


async def payload_follows_id(stage: Stage) -> str:
    """Lag alone: the payload is sent before the id, on the same link, so it cannot come after it."""
    stage.level = Level.DC_ONE
    stage.set_lag("a", "b", "exponential:300ms")
    producer, consumer = stage.queue("a", strategy=LocalOnly("b")), stage.queue("b")
    await producer.push([X])
    seen = 0
    while not seen:
        await stage.sleep(1)
        seen = await consumer.size()
    delivered = said(await consumer.pop(1))
    return f"as soon as b lists it: {delivered}, misses {consumer.counters.misses}"


async def payload_missed(stage: Stage, *, level: Level) -> str:
    """Zone b cannot be reached while the payload is written, and can when the id is."""
    stage.level = level
    stage.cut("a", "b")
    await stage.queue("a", strategy=LocalOnly("b"), quorum=meanwhile("ZADD", stage.mend)).push([X])
    await stage.sleep(10)
    pushed, popped = await stage.state(), said(await stage.queue("b").pop(1))
    await stage.lease_ends()
    await stage.queue("b").process_unacks()
    await stage.sleep(10)
    return f"{pushed}; pop in b: {popped}; after the lease {await stage.state()}"


async def ack_not_there_yet(stage: Stage, *, level: Level, lag: str) -> str:
    """Acknowledged through zone a just before the lease ends; the handler in b does not know."""
    stage.level = level
    await stage.queue("b").push([X])
    assert said(await stage.queue("b").pop(1)) == "x"
    await stage.sleep(10)
    stage.set_lag("a", "b", lag)
    await stage.sleep(LEASE_MS - 100)
    assert await stage.queue("a").ack("x")
    await stage.sleep(150)
    handled = await failure(stage.queue("b").process_unacks())
    return f"handler: {handled}; pop of what was acknowledged: {await failure(stage.queue('b').pop(1))}"


async def push_not_replicated(stage: Stage) -> str:
    stage.level = Level.DC_ONE
    await cut_off_with(stage, _push)
    return f"push: acknowledged; {await stage.state()}"


async def ack_not_replicated(stage: Stage) -> str:
    stage.level = Level.DC_ONE
    await stage.queue().push([X])
    await stage.sleep(10)
    await cut_off_with(stage, _consume)
    return f"acknowledged; {await stage.state()}; {await redelivery(stage)}"


async def cut_off_with(stage: AnyStage, action: Callable[[AnyStage], Awaitable[object]]) -> None:
    """``action`` reaches the server of a, which is lost, with its network, before anything reaches the others."""
    for other in "bc":
        stage.set_lag("a", other, LATE)
    await action(stage)
    for other in "bc":
        stage.cut("a", other)
    await stage.kill("a")
    for other in "bc":
        stage.set_lag("a", other, "0")
        for link in (("a", other), (other, "a")):
            stage.cluster.links[link].mend()
    await stage.come_back("a", Restart.WARM, warm_from="b")


async def _push(stage: Stage) -> None:
    await stage.queue().push([X])


async def _consume(stage: Stage) -> None:
    assert said(await stage.queue().pop(1)) == "x"
    assert await stage.queue().ack("x")


COURSES = {
    "lag_new_message_not_there_yet": new_message_not_there_yet,
    **under_each(CONSUMED_STILL_SHOWN, consumed_still_shown),
    "lag_lease_on_two_sides_dc_one": lease_on_two_sides_dc_one,
    "lag_extension_not_there_yet": old_lease_end,
    "lag_alone_keeps_payload_before_id": payload_follows_id,
    **under_each(PAYLOAD_MISSED, payload_missed),
    **under_each(ACK_NOT_THERE_YET, ack_not_there_yet),
    "lag_push_lost_with_its_zone": push_not_replicated,
    "lag_ack_lost_with_its_zone": ack_not_replicated,
}
