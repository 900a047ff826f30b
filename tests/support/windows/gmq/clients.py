"""Pushes, pops and acks of gmq that die, that meet an error, or that others overtake."""

from support.windows.gmq.stage import (
    TTR_S,
    GmqCourse,
    GmqStage,
    S,
    confirmed,
    dies_after,
    loses_reply,
    meanwhile,
    refused,
)
from support.windows.lags import cut_off_with
from support.windows.stage import X, death, failure, said

from zonelab.cluster.votes.levels import Level
from zonelab.engine.gmq import GmqDispatcher


async def _ready(stage: GmqStage) -> GmqDispatcher:
    """x waits in its list."""
    dispatcher = await stage.dispatcher()
    await stage.push()
    return dispatcher


async def two_pushes_at_once(stage: GmqStage) -> str:
    await stage.dispatcher()
    told = []

    async def push_too() -> None:
        told.append(await failure(confirmed(stage.instance("b").push([X]))))

    wrap = meanwhile("HMSET" if stage.compat else "push", push_too)
    first = await failure(confirmed(stage.instance(wrap=wrap).push([X])))
    await stage.settle("R R" if stage.compat else "R")
    return f"pushes: {first}, {told[0]}; {await stage.state()}; {await stage.later()}"


async def push_dies_after_pool(stage: GmqStage) -> str:
    await stage.dispatcher()
    await death(stage.instance(wrap=dies_after("HMSET" if stage.compat else "push")).push([X]))
    again = await failure(confirmed(stage.instance().push([X])))
    return f"{await stage.state()}; the retry: {again}; {await stage.later()}"


async def _pop_dies_after(stage: GmqStage, step: str) -> str:
    await _ready(stage)
    await death(stage.instance(wrap=dies_after(step)).pop(1))
    return f"{await stage.state()}; {await stage.later()}"


async def pop_dies_after_taking(stage: GmqStage) -> str:
    return await _pop_dies_after(stage, "RPOP")


async def pop_dies_after_reserving(stage: GmqStage) -> str:
    return await _pop_dies_after(stage, "HGETALL" if stage.compat else "reserve")


async def pop_take_reply_lost(stage: GmqStage) -> str:
    await _ready(stage)
    told = await failure(stage.instance(wrap=loses_reply("RPOP")).pop(1))
    return f"pop: {told}; {await stage.state()}; {await stage.later()}"


async def pop_reserve_refused(stage: GmqStage) -> str:
    await _ready(stage)
    told = await failure(stage.instance(wrap=refused("HSET" if stage.compat else "reserve")).pop(1))
    return f"pop: {told}; {await stage.state()}; {await stage.later()}"


async def pop_count_refused(stage: GmqStage) -> str:
    await _ready(stage)
    told = await failure(stage.instance(wrap=refused("HINCRBY")).pop(1))
    await stage.settle()
    return f"pop: {told}; {await stage.state()}; {await stage.later()}"


async def _pop_reply_lost(stage: GmqStage, *, ttr_s: int) -> str:
    stage.set(ttr_s=ttr_s)
    await _ready(stage)
    await stage.has_taken()
    return f"{await stage.state()}; {await stage.later()}"


async def pop_reply_lost(stage: GmqStage) -> str:
    return await _pop_reply_lost(stage, ttr_s=TTR_S)


async def pop_reply_lost_ttr_0(stage: GmqStage) -> str:
    return await _pop_reply_lost(stage, ttr_s=0)


async def _client_leaves(stage: GmqStage, *, ttr_s: int) -> str:
    """What answers it goes on waiting for a job."""
    stage.set(ttr_s=ttr_s)
    await stage.dispatcher()
    stage.cluster.runtime.spawn(stage.instance().pop(1, wait_ms=10 * S), name="a pop whose client has left")
    await stage.push()
    await stage.sleep(S)
    return f"{await stage.state()}; {await stage.later()}"


async def client_leaves_during_pop(stage: GmqStage) -> str:
    return await _client_leaves(stage, ttr_s=TTR_S)


async def client_leaves_during_pop_ttr_0(stage: GmqStage) -> str:
    return await _client_leaves(stage, ttr_s=0)


async def pop_of_a_job_that_is_gone(stage: GmqStage) -> str:
    """Only somebody else's DEL takes a ready job out of the pool."""
    await _ready(stage)
    await stage.redis("DEL", stage.gmq_keys.job("x"))
    told = await failure(stage.instance().pop(1))
    return f"pop: {told}; the pool: {await stage.fields()}"


async def ack_during_the_scan(stage: GmqStage) -> str:
    """After the script that takes it out of the bucket, before the job is read."""
    return await _ack_meanwhile(stage, "HGETALL" if stage.compat else "HMGET")


async def ack_while_it_is_made_ready(stage: GmqStage) -> str:
    """After the job is read, before the script that lists it."""
    return await _ack_meanwhile(stage, "ready")


async def _ack_meanwhile(stage: GmqStage, step: str) -> str:
    """At the end of its lease; the dispatcher that pushed it has been replaced."""
    dispatcher = await _ready(stage)
    delivery = await stage.has_taken()
    await dispatcher.close()
    acks = []

    async def ack() -> None:
        acks.append(await stage.instance().ack(delivery))

    await stage.dispatcher(wrap=meanwhile(step, ack))
    await stage.sleep((TTR_S + 5) * S)
    return f"ack: {said(acks[0])}; {await stage.state()}; pop: {await failure(stage.instance().pop(1))}"


async def ack_after_it_is_ready_again(stage: GmqStage) -> str:
    await _ready(stage)
    delivery = await stage.has_taken()
    await stage.sleep((TTR_S + 5) * S)
    return f"ack: {said(await stage.instance().ack(delivery))}; {await stage.state()}; {await stage.later()}"


async def ack_after_redelivery(stage: GmqStage) -> str:
    await _ready(stage)
    first = await stage.has_taken()
    await stage.sleep((TTR_S + 5) * S)
    second = await stage.has_taken("b")
    acks = [said(await stage.instance().ack(delivery)) for delivery in (first, second)]
    return f"the first consumer's ack: {acks[0]}, the second's: {acks[1]}; {await stage.later()}"


async def ack_before_the_delivery_is_counted(stage: GmqStage) -> str:
    """By the first consumer, while a second one pops."""
    await _ready(stage)
    first = await stage.has_taken()
    await stage.sleep((TTR_S + 5) * S)
    acks = []

    async def ack() -> None:
        acks.append(await stage.instance().ack(first))

    wrap = meanwhile("HINCRBY", ack) if stage.compat else meanwhile("reserve", ack, after=True)
    await stage.instance(wrap=wrap).pop(1)
    return f"the first consumer's ack: {said(acks[0])}; the pool: {await stage.fields()}"


async def lease_over_an_old_entry(stage: GmqStage) -> str:
    """The first life of x leaves its entry in the only TTR bucket; the consumer of the second dies."""
    stage.set(ttr_buckets=1, ttr_s=20)
    await stage.dispatcher()
    for acked in (True, False):
        await stage.push(delay_s=1)
        await stage.sleep(4 * S)
        delivery = await stage.has_taken()
        if acked:
            await stage.instance().ack(delivery)
    before = await stage.state()
    return f"leased: {before}; {await stage.later()}; {await stage.state()}"


async def id_used_again(stage: GmqStage) -> str:
    await _ready(stage)
    await stage.instance().ack(await stage.has_taken())
    await stage.push(delay_s=60)
    return f"in 30 s: {await stage.later(30)}"


async def zone_lost_before_replication(stage: GmqStage) -> str:
    stage.level = Level.DC_ONE
    await stage.dispatcher()
    await cut_off_with(stage, GmqStage.push)
    return f"push: confirmed; {await stage.state()}"


COURSES: dict[str, GmqCourse] = {
    course.__name__: course
    for course in (
        two_pushes_at_once,
        push_dies_after_pool,
        pop_dies_after_taking,
        pop_dies_after_reserving,
        pop_take_reply_lost,
        pop_reserve_refused,
        pop_count_refused,
        pop_reply_lost,
        pop_reply_lost_ttr_0,
        client_leaves_during_pop,
        client_leaves_during_pop_ttr_0,
        pop_of_a_job_that_is_gone,
        ack_during_the_scan,
        ack_while_it_is_made_ready,
        ack_after_it_is_ready_again,
        ack_after_redelivery,
        ack_before_the_delivery_is_counted,
        lease_over_an_old_entry,
        id_used_again,
        zone_lost_before_replication,
    )
}
