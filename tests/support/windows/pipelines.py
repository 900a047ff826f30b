"""What is different with V2: batches, payloads that belong to a shard, its handler, several shards behind one queue."""

from functools import partial

from support.windows.stage import LEASE_MS, Stage, X, death, dies, dies_within, fails, messages, said

from zonelab.cluster.zone import Restart
from zonelab.engine.dyno import RoundRobin
from zonelab.engine.ports import PortError

BATCH = "uv"


async def _states(stage: Stage) -> str:
    return ", ".join([f"{name}: {await stage.pipelined_state(name)}" for name in BATCH])


async def _after_the_lease(stage: Stage) -> str:
    await stage.lease_ends()
    queue = stage.pipelined()
    handled = said(await queue.process_unacks())
    return f"after the lease {handled}, pop: {said(await queue.pop(2))}"


async def push_cut(stage: Stage) -> str:
    await death(stage.pipelined(quorum=dies_within("HSET", applied=3)).push(messages(BATCH)))
    left = await _states(stage)
    await stage.pipelined().push(messages(BATCH))
    return f"{left}; the retry mends it: {await _states(stage)}"


async def pop_dies(stage: Stage, *, command: str) -> str:
    await stage.pipelined().push(messages(BATCH))
    await death(stage.pipelined(quorum=dies(command)).pop(2))
    left, popped = await _states(stage), said(await stage.pipelined().pop(2))
    return f"{left}; pop: {popped}; {await _after_the_lease(stage)}"


async def ack_after_leases_removed(stage: Stage) -> str:
    await stage.pipelined().push(messages(BATCH))
    assert said(await stage.pipelined().pop(2)) == "u v"
    await death(stage.pipelined(quorum=dies("ZREM")).ack_all(list(BATCH)))
    left = await _states(stage)
    acked = await stage.pipelined().ack_all(list(BATCH))
    return f"{left}; another's acks: {' '.join(map(said, acked))}; {await _after_the_lease(stage)}"


async def id_in_two_shards(stage: Stage) -> str:
    for shard in "ab":
        await stage.pipelined(shard=shard).push([X])
    told = []
    for zone in "ab":
        queue = stage.multi(zone)
        popped = await queue.pop(1)
        (acked,) = await queue.ack_messages([delivery.message for delivery in popped])
        told.append(f"pop in {zone}: {said(popped)}, ack: {said(acked)}")
    return f"{'; '.join(told)}; {await stage.pipelined_state('x')}"


async def remove_of_leased(stage: Stage) -> str:
    queue = stage.pipelined()
    await queue.push([X])
    assert said(await queue.pop(1)) == "x"
    return f"remove: {said(await queue.remove('x'))}, {await stage.pipelined_state('x')}"


async def remove_dies(stage: Stage) -> str:
    await stage.pipelined().push([X])
    await death(stage.pipelined(quorum=dies("ZREM", 2)).remove("x"))
    left = await stage.pipelined_state("x")
    again = said(await stage.pipelined().remove("x"))
    return f"{left}; again: {again}, {await stage.pipelined_state('x')}"


async def handler_after_an_outage(stage: Stage) -> str:
    queue = stage.pipelined()
    await queue.push([X])
    assert said(await queue.pop(1)) == "x"
    queue.unack_handler.start()
    await stage.kill("a")
    await stage.sleep(3000)
    await stage.come_back("a", Restart.WARM, warm_from="b")
    runs = queue.unack_handler.runs
    await stage.sleep(2 * LEASE_MS)
    goes_on = said(queue.unack_handler.runs > runs)
    redelivered = said(await queue.pop(1))
    await queue.close()
    return f"the handler goes on: {goes_on}; redelivered: {redelivered}"


async def push_one_shard_fails(stage: Stage) -> str:
    """Shard c cannot be reached at the first attempt; the turn begins with b."""
    names = "uvwxyz"
    queue = stage.multi(strategy=RoundRobin(), by_shard={"c": fails("HSET")})
    try:
        await queue.push(messages(names))
    except PortError:
        left = await queue.size()
        await queue.push(messages(names))
        return f"an error, with {left} of 6 pushed; after the retry {await queue.size()} wait"
    return f"no error; {await queue.size()} wait"


COURSES = {
    "v2_crash_push_within_its_pipeline": push_cut,
    "v2_crash_pop_after_leases": partial(pop_dies, command="ZADD"),
    "v2_crash_pop_after_removals": partial(pop_dies, command="ZREM"),
    "v2_crash_ack_after_leases_removed": ack_after_leases_removed,
    "v2_one_id_in_two_shards": id_in_two_shards,
    "v2_remove_of_leased": remove_of_leased,
    "v2_crash_remove_of_waiting": remove_dies,
    "v2_handler_after_an_outage": handler_after_an_outage,
    "multi_push_while_one_shard_fails": push_one_shard_fails,
}
