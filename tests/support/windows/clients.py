"""The client library repeats a command that was carried out, because its reply was lost."""

from support.windows.crashes import leased, pushed, redelivery
from support.windows.stage import Stage, X, messages, repeats, said

from zonelab.engine.dyno import RoundRobin


async def lease_repeated(stage: Stage) -> str:
    await pushed(stage)
    popped = said(await stage.queue(quorum=repeats("ZADD")).pop(1))
    return f"pop: {popped}; {await stage.state()}; {await redelivery(stage)}"


async def removal_repeated(stage: Stage) -> str:
    await pushed(stage)
    popped = said(await stage.queue(quorum=repeats("ZREM")).pop(1))
    return f"pop: {popped}; {await stage.state()}; {await redelivery(stage)}"


async def ack_repeated(stage: Stage) -> str:
    await leased(stage)
    acked = await stage.queue(quorum=repeats("ZREM")).ack("x")
    return f"ack: {said(acked)}; {await stage.state()}"


async def bulk_pop_repeated(stage: Stage) -> str:
    await stage.queue().push(messages("uv"))
    popped = said(await stage.queue(quorum=repeats("EVAL")).bulk_pop(2))
    left = f"u: {await stage.state('u')}, v: {await stage.state('v')}"
    await stage.lease_ends()
    await stage.queue().process_unacks()
    return f"bulk pop: {popped}; {left}; after the lease {said(await stage.queue().pop(2))} are delivered"


async def push_repeated(stage: Stage) -> str:
    for command in ("HSET", "ZADD"):
        await stage.queue(quorum=repeats(command), strategy=RoundRobin()).push([X])
    return await stage.state()


COURSES = {
    "retry_of_lease_in_pop": lease_repeated,
    "retry_of_removal_in_pop": removal_repeated,
    "retry_of_removal_in_ack": ack_repeated,
    "retry_of_bulk_pop": bulk_pop_repeated,
    "retry_of_commands_in_push": push_repeated,
}
