"""The same windows, as far as there are such, for the hardened queue.

It has other commands: each operation is one script, so a client that dies between two commands of one operation dies
before or after it. A course here does what its namesake does, and ends with what three programs, one a zone, deliver
and acknowledge afterwards.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from support.engine.dyno import SHARDS
from support.windows import hardened_replicas, hardened_zones
from support.windows.hardened_stage import HardenedStage, consume, push
from support.windows.lags import PAYLOAD_MISSED, cut_off_with, under_each
from support.windows.stage import (
    LEASE_MS,
    X,
    death,
    dies,
    failure,
    loses_reply,
    meanwhile,
    messages,
    repeats,
    said,
)

from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import LocalOnly, RoundRobin
from zonelab.engine.message import Message

HardenedCourse = Callable[[HardenedStage], Coroutine[Any, Any, str]]


async def push_dies(stage: HardenedStage) -> str:
    await death(stage.hardened(wrap=dies("EVAL")).push([X]))
    await push(stage)
    return f"pushed by its one command, again by the retry; {await stage.drain()}"


async def batch_again(stage: HardenedStage) -> str:
    queue = stage.hardened(wrap=loses_reply("EVAL"), strategy=RoundRobin())
    told = await failure(queue.push(messages("uvw")))
    await queue.push(messages("uvw"))
    return f"{told}; {await stage.drain()}"


async def push_again(stage: HardenedStage) -> str:
    await push(stage)
    await stage.hardened("b").push([Message(id="x", payload="second")])
    consumer, (delivery,) = await stage.pop()
    assert await consumer.ack(delivery)
    return f"delivered with the {delivery.message.payload} payload; {await stage.drain()}"


async def push_while_leased(stage: HardenedStage) -> str:
    await push(stage)
    consumer, got = await stage.pop()
    await push(stage)
    _, popped = await stage.pop()
    return f"pop: {said(popped)}; ack: {said(await consumer.ack(got[0]))}; {await stage.drain()}"


async def pop_dies(stage: HardenedStage) -> str:
    await push(stage)
    await death(stage.hardened(wrap=dies("EVAL")).pop(1))
    _, popped = await stage.pop()
    return f"pop: {said(popped)}; {await stage.drain()}"


async def batch_push_dies(stage: HardenedStage) -> str:
    await death(stage.hardened(wrap=dies("EVAL")).push(messages("uv")))
    await stage.hardened().push(messages("uv"))
    return f"pushed by its one command, again by the retry; {await stage.drain()}"


async def batch_pop_dies(stage: HardenedStage) -> str:
    await stage.hardened().push(messages("uv"))
    await death(stage.hardened(wrap=dies("EVAL")).pop(2))
    _, popped = await stage.pop(count=2)
    return f"pop: {said(popped)}; {await stage.drain()}"


async def batch_ack_dies(stage: HardenedStage) -> str:
    await stage.hardened().push(messages("uv"))
    consumer = stage.hardened(wrap=dies("EVAL", 2))
    got = await consumer.pop(2)
    await death(consumer.ack_all(got))
    another = await stage.hardened().ack_all(got)
    return f"pop: {said(got)}; another's acks: {' '.join(map(said, another))}; {await stage.drain()}"


async def pop_reply_lost(stage: HardenedStage) -> str:
    await stage.hardened().push(messages("uvwx"))
    told = await failure(stage.hardened(wrap=loses_reply("EVAL")).pop(4))
    return f"the caller gets {told}; {await stage.drain()}"


async def ack_dies(stage: HardenedStage) -> str:
    await push(stage)
    consumer = stage.hardened(wrap=dies("EVAL", 2))
    (delivery,) = await consumer.pop(1)
    await death(consumer.ack(delivery))
    await push(stage)
    return f"pushed again; {await stage.drain()}"


async def ack_reply_lost(stage: HardenedStage) -> str:
    await push(stage)
    consumer = stage.hardened(wrap=loses_reply("EVAL", 2))
    (delivery,) = await consumer.pop(1)
    told = await failure(consumer.ack(delivery))
    return f"{told}; the retry: {said(await consumer.ack(delivery))}; {await stage.drain()}"


async def remove_dies(stage: HardenedStage) -> str:
    await push(stage)
    await death(stage.hardened(wrap=dies("EVAL")).remove_all(["x"]))
    (again,) = await stage.hardened().remove_all(["x"])
    return f"removed by its one command; again: {said(again)}; {await stage.drain()}"


async def remove_leased(stage: HardenedStage) -> str:
    await push(stage)
    consumer, got = await stage.pop()
    (removed,) = await stage.hardened("b").remove_all(["x"])
    return f"remove: {said(removed)}; the consumer's ack: {said(await consumer.ack(got[0]))}; {await stage.drain()}"


async def one_id_gone(stage: HardenedStage) -> str:
    await stage.hardened().push(messages("uvw"))
    popped = await stage.hardened(wrap=meanwhile("EVAL", partial(consume, stage))).pop(3)
    return f"pop: {said(popped)}; {await stage.drain()}"


async def two_pops(stage: HardenedStage) -> str:
    await push(stage)
    holders = []

    async def another_pops() -> None:
        holders.append(await stage.pop())

    slow = await stage.hardened(wrap=meanwhile("EVAL", another_pops)).pop(1)
    ((consumer, got),) = holders
    return f"the slower gets {said(slow)}; the other's ack: {said(await consumer.ack(got[0]))}; {await stage.drain()}"


async def pop_after_ack(stage: HardenedStage) -> str:
    await push(stage)
    slow = await stage.hardened(wrap=meanwhile("EVAL", partial(consume, stage))).pop(1)
    return f"pop: {said(slow)}; {await stage.drain()}"


async def late_ack(stage: HardenedStage) -> str:
    await push(stage)
    consumer, got = await stage.pop()
    await stage.sleep(2 * LEASE_MS)
    return f"ack: {said(await consumer.ack(got[0]))}; {await stage.drain()}"


async def late_ack_after_redelivery(stage: HardenedStage) -> str:
    await push(stage)
    first, got = await stage.pop()
    await stage.sleep(2 * LEASE_MS)
    second, again = await stage.pop()
    one = f"the first consumer's ack: {said(await first.ack(got[0]))}; the second's: "
    return f"{one}{said(await second.ack(again[0]))}; {await stage.drain()}"


async def extension(stage: HardenedStage) -> str:
    """Extended just before its end, while a pop that makes ended leases ready is under way."""
    await push(stage)
    consumer, got = await stage.pop()
    await stage.sleep(LEASE_MS - 10)
    extended = await consumer.extend(got[0], lease_ms=3 * LEASE_MS)
    await stage.sleep(2 * LEASE_MS)
    _, popped = await stage.pop()
    acked = await consumer.ack(got[0])
    return f"extension: {said(extended)}; pop: {said(popped)}; ack: {said(acked)}; {await stage.drain()}"


async def long_work(stage: HardenedStage) -> str:
    """Keepers run in every zone, and the consumer's heartbeat."""
    await push(stage)
    for zone in SHARDS:
        await stage.hardened(zone).start()
    consumer = stage.hardened()
    await consumer.start()
    (delivery,) = await consumer.pop(1)
    await stage.sleep(5 * LEASE_MS)
    _, popped = await stage.pop()
    return f"pop: {said(popped)}; ack after five leases: {said(await consumer.ack(delivery))}; {await stage.drain()}"


async def consumer_dies_under_keepers(stage: HardenedStage) -> str:
    await push(stage)
    for zone in "ab":
        await stage.hardened(zone).start()
    _, got = await stage.pop()
    assert said(got) == "x"
    return await stage.drain()


async def push_thrice(stage: HardenedStage) -> str:
    producer = stage.hardened(strategy=RoundRobin())
    for _ in range(3):
        await producer.push([X])
    return await stage.drain()


async def lease_repeated(stage: HardenedStage) -> str:
    await push(stage)
    consumer = stage.hardened(wrap=repeats("EVAL"))
    popped = await consumer.pop(1)
    acked = [said(await consumer.ack(delivery)) for delivery in popped]
    return f"pop: {said(popped)}; ack: {' '.join(acked)}; {await stage.drain()}"


async def ack_repeated(stage: HardenedStage) -> str:
    await push(stage)
    consumer = stage.hardened(wrap=repeats("EVAL", 2))
    (delivery,) = await consumer.pop(1)
    return f"ack: {said(await consumer.ack(delivery))}; {await stage.drain()}"


async def push_repeated(stage: HardenedStage) -> str:
    await stage.hardened(wrap=repeats("EVAL"), strategy=RoundRobin()).push([X])
    return await stage.drain()


async def payload_missed(stage: HardenedStage, *, level: Level) -> str:
    stage.level = level
    stage.cut("a", "b")
    await stage.hardened("a", strategy=LocalOnly("b")).push([X])
    await stage.mend()
    return f"{await stage.state()}; {await stage.drain()}"


async def push_lost_with_its_zone(stage: HardenedStage) -> str:
    stage.level = Level.DC_ONE
    await cut_off_with(stage, push)
    return f"push: acknowledged; {await stage.drain()}"


async def ack_lost_with_its_zone(stage: HardenedStage) -> str:
    stage.level = Level.DC_ONE
    await push(stage)
    await stage.sleep(10)
    await cut_off_with(stage, consume)
    return f"acknowledged; {await stage.drain()}"


async def others_differ(stage: HardenedStage) -> str:
    stage.cut("a", "b")
    await push(stage)
    await stage.mend()
    stage.cut("a", "c")
    queue = stage.hardened()
    popped = await failure(queue.pop(1))
    await stage.mend()
    return f"pop: {popped}; when c is back {await stage.drain()}"


async def others_differ_safe(stage: HardenedStage) -> str:
    stage.level = Level.DC_SAFE_QUORUM
    return await others_differ(stage)


async def pop_during_pushes(stage: HardenedStage) -> str:
    """No fault: the pushes of a and of c have reached b, but not yet each other."""
    stage.level = Level.DC_SAFE_QUORUM
    for source, target in ("ac", "ca"):
        stage.set_lag(source, target, "constant:300ms")
    await stage.hardened("a", strategy=LocalOnly("b")).push([Message(id="x")])
    await stage.hardened("c", strategy=LocalOnly("b")).push([Message(id="y")])
    consumer = stage.hardened("b")
    popped = await consumer.pop(2)
    acked = await consumer.ack_all(popped)
    return f"pop: {said(popped)}; acks: {' '.join(map(said, acked))}; {await stage.drain()}"


async def ack_with_two_away(stage: HardenedStage) -> str:
    await push(stage)
    consumer, got = await stage.pop()
    stage.cut("a", "b")
    stage.cut("a", "c")
    told = await failure(consumer.ack(got[0]))
    await stage.mend()
    return f"ack: {told}; {await stage.drain()}"


async def push_missed_by_its_zone(stage: HardenedStage) -> str:
    stage.cut("a", "c")
    await stage.hardened("a", strategy=LocalOnly("c")).push([X])
    await stage.mend()
    return await stage.drain()


HARDENED_COURSES: dict[str, HardenedCourse] = {
    **hardened_replicas.COURSES,
    **hardened_zones.COURSES,
    "crash_push_after_payload": push_dies,
    "payload_without_id_and_tests_of_existence": push_dies,
    "crash_push_batch_retried_round_robin": batch_again,
    "crash_push_again_after_payload": push_again,
    "push_again_while_leased": push_while_leased,
    "crash_pop_after_lease": pop_dies,
    "crash_pop_after_removal": pop_dies,
    "crash_pop_after_payload_read": pop_dies,
    "error_in_pop_at_third_message": pop_reply_lost,
    "crash_ack_after_lease_removed": ack_dies,
    "error_in_ack_reply_lost": ack_reply_lost,
    "crash_remove_of_waiting": remove_dies,
    "crash_remove_of_leased": remove_leased,
    "error_in_bulk_pop_reply_lost": pop_reply_lost,
    "bulk_pop_of_an_id_that_is_gone": one_id_gone,
    "race_two_pops": two_pops,
    "race_pop_after_ack": pop_after_ack,
    "race_late_ack": late_ack,
    "race_late_ack_after_redelivery": late_ack_after_redelivery,
    "race_extension_during_requeue": extension,
    "race_two_handlers": long_work,
    "race_two_handlers_and_a_crash": consumer_dies_under_keepers,
    "race_remove_during_pop": remove_leased,
    "race_push_of_one_id_thrice": push_thrice,
    "race_push_of_one_id_twice_and_ack": push_thrice,
    "retry_of_lease_in_pop": lease_repeated,
    "retry_of_removal_in_ack": ack_repeated,
    "retry_of_bulk_pop": lease_repeated,
    "retry_of_commands_in_push": push_repeated,
    **under_each(PAYLOAD_MISSED, payload_missed),
    "lag_push_lost_with_its_zone": push_lost_with_its_zone,
    "lag_ack_lost_with_its_zone": ack_lost_with_its_zone,
    "vote_one_away_others_differ_quorum": others_differ,
    "vote_one_away_others_differ_safe_quorum": others_differ_safe,
    "vote_on_a_bulk_pop_while_pushes_arrive_safe_quorum": pop_during_pushes,
    "vote_failed_write_keeps_its_effect": ack_with_two_away,
    "vote_never_on_a_range_read": push_missed_by_its_zone,
    "v2_crash_push_within_its_pipeline": batch_push_dies,
    "v2_crash_pop_after_leases": batch_pop_dies,
    "v2_crash_pop_after_removals": batch_pop_dies,
    "v2_crash_ack_after_leases_removed": batch_ack_dies,
    "v2_one_id_in_two_shards": push_thrice,
    "v2_remove_of_leased": remove_leased,
    "v2_crash_remove_of_waiting": remove_dies,
    "multi_push_while_one_shard_fails": batch_again,
}
