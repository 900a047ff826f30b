"""Two clients that live, and whose commands interleave."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from support.windows.crashes import leased, pushed, redelivery
from support.windows.stage import Stage, X, death, dies, fails, failure, meanwhile, messages, said

from zonelab.engine.dyno import DynoQueue, RoundRobin, UnackResult


async def two_poppers(stage: Stage) -> str:
    await pushed(stage)

    async def another_pops() -> None:
        assert said(await stage.queue().pop(1)) == "x"

    slow = stage.queue(quorum=meanwhile("ZADD", another_pops))
    return f"the slower gets {said(await slow.pop(1))}; {await stage.state()}"


async def pop_after_ack(stage: Stage) -> str:
    await pushed(stage)

    async def another_consumes() -> None:
        assert said(await stage.queue().pop(1)) == "x"
        assert await stage.queue().ack("x")

    popped = said(await stage.queue(quorum=meanwhile("ZADD", another_consumes)).pop(1))
    return f"pop: {popped}; {await stage.state()}; {await redelivery(stage)}, {await stage.state()}"


async def pop_after_half_ack(stage: Stage) -> str:
    await pushed(stage)

    async def another_dies_in_its_ack() -> None:
        assert said(await stage.queue().pop(1)) == "x"
        await death(stage.queue(quorum=dies("ZREM")).ack("x"))

    popped = said(await stage.queue(quorum=meanwhile("ZADD", another_dies_in_its_ack)).pop(1))
    return f"pop: {popped}; {await stage.state()}; {await redelivery(stage)}"


async def ack_during_requeue(stage: Stage) -> str:
    await leased(stage)
    await stage.lease_ends()

    async def it_is_acknowledged() -> None:
        assert await stage.queue().ack("x")

    await stage.queue(quorum=meanwhile("ZADD", it_is_acknowledged)).process_unacks()
    left, popped = await stage.state(), said(await stage.queue().pop(1))
    await stage.lease_ends()
    await stage.queue().process_unacks()
    return f"{left}; pop: {popped}; in the end {await stage.state()}"


async def late_ack(stage: Stage) -> str:
    await leased(stage)
    await stage.lease_ends()
    await stage.queue().process_unacks()
    acked = await stage.queue().ack("x")
    return f"ack: {said(acked)}; {await stage.state()}; pop: {said(await stage.queue().pop(1))}"


async def late_ack_after_redelivery(stage: Stage) -> str:
    await leased(stage)
    await redelivery(stage)
    acked = await stage.queue().ack("x")
    second = await stage.queue().ack("x")
    return f"the first consumer's ack: {said(acked)}, {await stage.state()}; the second's: {said(second)}"


async def extended_during_requeue(
    stage: Stage, *, command: str, run: Callable[[DynoQueue], Coroutine[Any, Any, UnackResult]]
) -> str:
    await leased(stage)
    await stage.lease_ends()

    async def it_is_extended() -> None:
        assert await stage.queue().set_unack_timeout("x", timeout_ms=60_000)

    await run(stage.queue(quorum=meanwhile(command, it_is_extended)))
    left, popped = await stage.state(), said(await stage.queue().pop(1))
    return f"{left}; pop: {popped}; the first consumer's ack: {said(await stage.queue().ack('x'))}"


async def extended_during_ack(stage: Stage) -> str:
    await leased(stage)

    async def it_is_acknowledged() -> None:
        assert await stage.queue().ack("x")

    moved = await stage.queue(quorum=meanwhile("ZADD", it_is_acknowledged)).set_unack_timeout("x", timeout_ms=1000)
    left = await stage.state()
    await stage.lease_ends()
    await stage.queue().process_unacks()
    return f"extension: {said(moved)}; {left}; after the lease {await stage.state()}"


async def requeued_during_extension(stage: Stage) -> str:
    await leased(stage)
    await stage.lease_ends()

    async def it_is_requeued() -> None:
        assert (await stage.queue().process_unacks()).requeued == 1

    moved = await stage.queue(quorum=meanwhile("ZADD", it_is_requeued)).set_unack_timeout("x", timeout_ms=1000)
    left, popped = await stage.state(), said(await stage.queue().pop(1))
    return f"extension: {said(moved)}; {left}; pop: {popped}; {await redelivery(stage)}"


async def two_handlers(stage: Stage) -> str:
    await leased(stage)
    await stage.lease_ends()

    async def the_other_requeues_and_a_consumer_pops() -> None:
        assert (await stage.queue().process_unacks()).requeued == 1
        assert said(await stage.queue().pop(1)) == "x"

    await stage.queue(quorum=meanwhile("ZADD", the_other_requeues_and_a_consumer_pops)).process_unacks()
    left = await stage.state()
    acked = await stage.queue().ack("x")
    return f"{left}; the consumer's ack: {said(acked)}; pop: {said(await stage.queue().pop(1))}"


async def two_handlers_and_a_crash(stage: Stage) -> str:
    """Both have listed it again; the first ends the old lease, a consumer takes a new one, the second ends that."""
    await leased(stage)
    await stage.lease_ends()

    async def the_other_requeues_and_a_consumer_pops_and_dies() -> None:
        await stage.queue().process_unacks()
        assert said(await stage.queue().pop(1)) == "x"

    second = stage.queue(quorum=meanwhile("ZREM", the_other_requeues_and_a_consumer_pops_and_dies))
    await second.process_unacks()
    return f"{await stage.state()}; {await redelivery(stage)}"


async def two_atomic_handlers(stage: Stage) -> str:
    await leased(stage)
    await stage.lease_ends()

    async def the_other_requeues_and_a_consumer_pops() -> None:
        await stage.queue().atomic_process_unacks()
        assert said(await stage.queue().pop(1)) == "x"

    await stage.queue(quorum=meanwhile("EVAL", the_other_requeues_and_a_consumer_pops)).atomic_process_unacks()
    left = await stage.state()
    return f"{left}; the consumer's ack: {said(await stage.queue().ack('x'))}"


async def set_timeout_against_consumption(stage: Stage) -> str:
    await pushed(stage)

    async def it_is_consumed() -> None:
        assert said(await stage.queue().pop(1)) == "x"
        assert await stage.queue().ack("x")

    moved = await stage.queue(quorum=meanwhile("HSET", it_is_consumed)).set_timeout("x", timeout_ms=0)
    return f"set_timeout: {said(moved)}; {await stage.state()}"


async def set_timeout_after_pop(stage: Stage) -> str:
    await pushed(stage)

    async def it_is_popped() -> None:
        assert said(await stage.queue().pop(1)) == "x"

    moved = await stage.queue(quorum=meanwhile("ZADD", it_is_popped)).set_timeout("x", timeout_ms=0)
    return f"set_timeout: {said(moved)}; {await stage.state()}"


async def remove_during_pop(stage: Stage) -> str:
    """The pop writes its lease between the two removals, and its own removal comes last and finds nothing."""
    await pushed(stage)

    async def a_pop_leases() -> None:
        await death(stage.queue(quorum=dies("ZADD")).pop(1))

    removed = await stage.queue(quorum=meanwhile("ZREM", a_pop_leases, nth=2)).remove("x")
    left = await stage.state()
    await stage.lease_ends()
    await stage.queue().process_unacks()
    return f"remove: {said(removed)}; {left}; after the lease {await stage.state()}"


async def ensure_during_requeue(stage: Stage) -> str:
    await leased(stage)
    await stage.lease_ends()

    async def it_is_requeued() -> None:
        assert (await stage.queue().process_unacks()).requeued == 1

    ensured = await stage.queue(serves="b", quorum=meanwhile("ZSCORE", it_is_requeued, nth=2)).ensure(X)
    return f"ensure: {said(ensured)}; {await stage.state()}"


async def pushed_three_times(stage: Stage) -> str:
    producer = stage.queue(strategy=RoundRobin())
    for _ in range(3):
        await producer.push([X])
    popped = [said(await stage.queue(zone).pop(1)) for zone in "abc"]
    acked = [said(await stage.queue().ack("x")) for _ in range(3)]
    return f"delivered by a, b and c: {', '.join(popped)}; acks: {', '.join(acked)}; {await stage.state()}"


async def doubled_and_acknowledged_once(stage: Stage) -> str:
    """The payload is one for all shards, so the first ack takes it from the other deliveries."""
    await stage.queue("a").push([X])
    await stage.queue("b").push([X])
    assert said(await stage.queue("a").pop(1)) == "x"
    acked = await stage.queue("a").ack("x")
    left, popped = await stage.state(), said(await stage.queue("b").pop(1))
    await stage.lease_ends()
    await stage.queue("b").process_unacks()
    return f"ack: {said(acked)}, {left}; pop in b: {popped}; after the lease {await stage.state()}"


async def postponed_after_range_read(stage: Stage) -> str:
    """A pop whose range read fails leaves its demand, so the next one reads an id too many, and keeps it."""
    consumer = stage.queue(local=fails("ZRANGEBYSCORE"))
    await failure(consumer.pop(1))
    await stage.queue().push(messages("ux"))
    assert said(await consumer.pop(1)) == "u"
    await stage.queue().set_timeout("x", timeout_ms=5000)
    return f"pop before it is due: {said(await consumer.pop(1))}"


COURSES = {
    "race_two_pops": two_poppers,
    "race_pop_after_ack": pop_after_ack,
    "race_pop_after_half_an_ack": pop_after_half_ack,
    "race_ack_during_requeue": ack_during_requeue,
    "race_late_ack": late_ack,
    "race_late_ack_after_redelivery": late_ack_after_redelivery,
    "race_extension_during_requeue": partial(
        extended_during_requeue, command="HGET", run=lambda queue: queue.process_unacks()
    ),
    "race_extension_during_atomic_requeue": partial(
        extended_during_requeue, command="EVAL", run=lambda queue: queue.atomic_process_unacks()
    ),
    "race_extension_during_ack": extended_during_ack,
    "race_requeue_during_extension": requeued_during_extension,
    "race_two_handlers": two_handlers,
    "race_two_handlers_and_a_crash": two_handlers_and_a_crash,
    "race_two_atomic_handlers": two_atomic_handlers,
    "race_set_timeout_against_consumption": set_timeout_against_consumption,
    "race_set_timeout_after_pop": set_timeout_after_pop,
    "race_remove_during_pop": remove_during_pop,
    "race_ensure_during_requeue": ensure_during_requeue,
    "race_push_of_one_id_thrice": pushed_three_times,
    "race_push_of_one_id_twice_and_ack": doubled_and_acknowledged_once,
    "race_postponed_after_range_read": postponed_after_range_read,
}
