"""A client dies, or is told of an error, between two commands of an operation."""

from collections.abc import Awaitable, Callable
from functools import partial

from support.windows.stage import Stage, X, death, dies, failure, loses_reply, meanwhile, messages, said

from zonelab.engine.dyno import IdHash, RoundRobin
from zonelab.engine.message import Message


async def pushed(stage: Stage) -> None:
    await stage.queue().push([X])


async def leased(stage: Stage) -> None:
    await pushed(stage)
    assert said(await stage.queue().pop(1)) == "x"


async def redelivery(stage: Stage, zone: str = "a") -> str:
    """What a handler's run and a pop bring after the lease."""
    await stage.lease_ends()
    handled = said(await stage.queue(zone).process_unacks())
    return f"after the lease {handled}, pop: {said(await stage.queue(zone).pop(1))}"


async def push_after_payload(stage: Stage) -> str:
    await death(stage.queue(quorum=dies("HSET")).push([X]))
    left = await stage.state()
    await pushed(stage)
    return f"{left}; the retry mends it: {await stage.state()}"


async def orphan_for_existence_tests(stage: Stage) -> str:
    await death(stage.queue(quorum=dies("HSET")).push([X]))
    return await _tests_of_existence(stage)


async def phantom_for_existence_tests(stage: Stage) -> str:
    """The payload is gone, the id is not: as after `race_ack_during_requeue`."""
    await pushed(stage)
    await stage.connection("a", stage.level).execute(("HDEL", stage.keys.messages, "x"))
    return await _tests_of_existence(stage)


async def _tests_of_existence(stage: Stage) -> str:
    """As Conductor's `containsMessage` asks, by the payload, and as `ensure` does, by the sets."""
    queue = stage.queue()
    stored, size, state = await queue.get("x"), await queue.size(), await stage.state()
    return f"{state}; get: {said(stored is not None)}, size: {size}, ensure pushes it: {said(await queue.ensure(X))}"


async def batch_again(stage: Stage, *, strategy: type[RoundRobin] | type[IdHash]) -> str:
    queue = stage.queue(strategy=strategy(), quorum=loses_reply("ZADD", 2))
    await failure(queue.push(messages("uvw")))
    await queue.push(messages("uvw"))
    return ", ".join([f"{name}: {await stage.state(name)}" for name in "uvw"])


async def push_again_after_payload(stage: Stage) -> str:
    await pushed(stage)
    await death(stage.queue(quorum=dies("HSET")).push([Message(id="x", payload="second")]))
    (delivery,) = await stage.queue().pop(1)
    return f"delivered with the {delivery.message.payload} payload"


async def push_again_while_leased(stage: Stage) -> str:
    await leased(stage)
    await pushed(stage)
    left, popped = await stage.state(), said(await stage.queue().pop(1))
    await stage.queue().ack("x")
    return f"{left}; pop: {popped}; after the ack {await stage.state()}"


async def pop_after_range_read(stage: Stage) -> str:
    await pushed(stage)
    reader = stage.queue()
    await reader.peek(1)
    return f"{await stage.state()}; the next pop: {said(await stage.queue().pop(1))}"


async def pop_dies(stage: Stage, *, command: str) -> str:
    await pushed(stage)
    await death(stage.queue(quorum=dies(command)).pop(1))
    left, popped = await stage.state(), said(await stage.queue().pop(1))
    return f"{left}; pop: {popped}; {await redelivery(stage)}"


async def pop_error_at_third(stage: Stage) -> str:
    await stage.queue().push(messages("uvwx"))
    got = await failure(stage.queue(quorum=loses_reply("ZADD", 3)).pop(4))
    return f"the caller gets {got}; " + ", ".join([f"{name}: {await stage.state(name)}" for name in "uvwx"])


async def ack_after_lease_removed(stage: Stage) -> str:
    await leased(stage)
    await death(stage.queue(quorum=dies("ZREM")).ack("x"))
    left, acked = await stage.state(), await stage.queue().ack("x")
    ensured = await stage.queue().ensure(X)
    return f"{left}; another's ack: {said(acked)}; ensure: {said(ensured)}; pop: {said(await stage.queue().pop(1))}"


async def ack_reply_lost(stage: Stage) -> str:
    await leased(stage)
    queue = stage.queue(quorum=loses_reply("ZREM"))
    told = await failure(queue.ack("x"))
    return f"{told}, {await stage.state()}; the retry: {said(await queue.ack('x'))}, {await stage.state()}"


async def set_timeout_after_score(stage: Stage) -> str:
    await pushed(stage)
    await death(stage.queue(quorum=dies("ZADD")).set_timeout("x", timeout_ms=500))
    early = said(await stage.queue().pop(1))
    await stage.sleep(500)
    (delivery,) = await stage.queue().pop(1)
    return f"pop: {early}; delivered when due, with the delay {delivery.message.timeout_ms}"


async def remove_dies(stage: Stage, *, prepare: Callable[[Stage], Awaitable[None]], removal: int) -> str:
    await prepare(stage)
    await death(stage.queue(quorum=dies("ZREM", removal)).remove("x"))
    left, again = await stage.state(), await stage.queue().remove("x")
    return f"{left}; again: {said(again)}, {await stage.state()}"


async def ensure_after_payload(stage: Stage) -> str:
    await death(stage.queue(quorum=dies("HSET")).ensure(X))
    left, again = await stage.state(), await stage.queue().ensure(X)
    return f"{left}; again: {said(again)}, {await stage.state()}"


async def requeue_after_listing(stage: Stage) -> str:
    await leased(stage)
    await stage.lease_ends()
    await death(stage.queue(quorum=dies("ZADD")).process_unacks())
    left, popped = await stage.state(), said(await stage.queue().pop(1))
    await stage.queue().process_unacks()
    return f"{left}; pop: {popped}; the next run mends it: {await stage.state()}"


async def clear_after_sets(stage: Stage) -> str:
    await stage.queue().push(messages("uv"))
    await death(stage.queue(quorum=dies("DEL", 6)).clear())
    left = f"u: {await stage.state('u')}, v: {await stage.state('v')}"
    await stage.queue().clear()
    return f"{left}; a second clear: {await stage.state('u')}"


async def bulk_pop_reply_lost(stage: Stage) -> str:
    await stage.queue().push(messages("uv"))
    told = await failure(stage.queue(quorum=loses_reply("EVAL")).bulk_pop(2))
    left = f"u: {await stage.state('u')}, v: {await stage.state('v')}"
    await stage.lease_ends()
    await stage.queue().process_unacks()
    return f"{told}; {left}; after the lease {said(await stage.queue().bulk_pop(2))} are delivered"


async def bulk_pop_one_id_gone(stage: Stage) -> str:
    await stage.queue().push(messages("uvw"))

    async def another_consumes_v() -> None:
        assert await stage.queue().pop_with_id("v") is not None
        assert await stage.queue().ack("v")

    popped = said(await stage.queue(quorum=meanwhile("EVAL", another_consumes_v)).bulk_pop(3))
    return f"bulk pop: {popped}; u: {await stage.state('u')}, w: {await stage.state('w')}"


COURSES = {
    "crash_push_after_payload": push_after_payload,
    "payload_without_id_and_tests_of_existence": orphan_for_existence_tests,
    "id_without_payload_and_tests_of_existence": phantom_for_existence_tests,
    "crash_push_batch_retried_round_robin": partial(batch_again, strategy=RoundRobin),
    "crash_push_batch_retried_id_hash": partial(batch_again, strategy=IdHash),
    "crash_push_again_after_payload": push_again_after_payload,
    "push_again_while_leased": push_again_while_leased,
    "crash_pop_after_range_read": pop_after_range_read,
    "crash_pop_after_lease": partial(pop_dies, command="ZADD"),
    "crash_pop_after_removal": partial(pop_dies, command="ZREM"),
    "crash_pop_after_payload_read": partial(pop_dies, command="HGET"),
    "error_in_pop_at_third_message": pop_error_at_third,
    "crash_ack_after_lease_removed": ack_after_lease_removed,
    "error_in_ack_reply_lost": ack_reply_lost,
    "crash_set_timeout_after_score": set_timeout_after_score,
    "crash_remove_of_leased": partial(remove_dies, prepare=leased, removal=1),
    "crash_remove_of_waiting": partial(remove_dies, prepare=pushed, removal=2),
    "crash_ensure_after_payload": ensure_after_payload,
    "crash_requeue_after_listing": requeue_after_listing,
    "crash_clear_after_sets": clear_after_sets,
    "error_in_bulk_pop_reply_lost": bulk_pop_reply_lost,
    "bulk_pop_of_an_id_that_is_gone": bulk_pop_one_id_gone,
}
