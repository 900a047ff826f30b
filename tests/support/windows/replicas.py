"""Votes of replicas that do not hold the same."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from support.windows.crashes import redelivery
from support.windows.stage import AnyStage, Stage, X, failure, messages, said

from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import DynoQueue
from zonelab.engine.message import Delivery, Message


async def one_down_others_differ_safe(stage: Stage) -> str:
    return await _one_down_others_differ(stage, Level.DC_SAFE_QUORUM)


async def one_down_others_differ_quorum(stage: Stage) -> str:
    return await _one_down_others_differ(stage, Level.DC_QUORUM)


async def _one_down_others_differ(stage: Stage, level: Level) -> str:
    """Zone b missed the push; then zone c is away. Of two answers the own one comes first."""
    stage.level = level
    stage.cut("a", "b")
    await stage.queue().push([X])
    await stage.mend()
    stage.cut("a", "c")
    stage.set_lag("a", "b", "constant:100ms")
    popped = await failure(stage.queue().pop(1))
    return f"pop: {popped}; {await stage.state()}"


async def one_down_others_agree_safe(stage: Stage) -> str:
    stage.level = Level.DC_SAFE_QUORUM
    await stage.queue().push([X])
    stage.cut("a", "c")
    popped = await failure(stage.queue().pop(1))
    return f"pop: {popped}; ack: {await failure(stage.queue().ack('x'))}; {await stage.state()}"


TIES = {
    "vote_tie_of_two_pops_quorum": (Level.DC_QUORUM, True),
    "vote_tie_of_two_pops_safe_quorum": (Level.DC_SAFE_QUORUM, True),
    "vote_of_three_on_two_pops_quorum": (Level.DC_QUORUM, False),
}
"""By course: the level, and whether zone c is away, so that the other two may tie."""


def ties(
    push: Callable[[AnyStage], Awaitable[object]],
    pop: Callable[[AnyStage, str], Coroutine[Any, Any, list[Delivery]]],
    after: Callable[[AnyStage], Awaitable[str]],
) -> dict[str, Callable[[AnyStage], Coroutine[Any, Any, str]]]:
    """Courses in which consumers in a and b take from one shard at the same time, each on its own replica first."""

    def course(level: Level, away: bool) -> Callable[[AnyStage], Coroutine[Any, Any, str]]:
        async def played(stage: AnyStage) -> str:
            stage.level = level
            await push(stage)
            if away:
                stage.cut("a", "c")
                stage.cut("b", "c")
            for source, target in ("ab", "ba", "ac"):
                stage.set_lag(source, target, "constant:10ms")
            stage.set_lag("b", "c", "constant:15ms")
            tasks = [stage.cluster.runtime.spawn(failure(pop(stage, zone)), name="pop") for zone in "ab"]
            got = [await task.join() for task in tasks]
            return f"pop in a: {got[0]}; pop in b: {got[1]}{await after(stage)}"

        return played

    return {name: course(*case) for name, case in TIES.items()}


async def _nothing(stage: Stage) -> str:
    return ""


async def minority_keeps_an_old_lease(stage: Stage) -> str:
    """The zone that serves the shard missed a requeue, and so the vote of the next lease goes 1, 1, 0."""
    await stage.queue().push([X])
    assert said(await stage.queue().pop(1)) == "x"
    stage.cut("a", "b")
    await stage.lease_ends()
    await stage.queue("b", serves="a").process_unacks()
    await stage.mend()
    first = said(await stage.queue("b", serves="a").pop(1))
    requeued = (await stage.queue().process_unacks()).requeued
    return f"pop in b: {first}; the handler in a requeues {requeued}; pop in a: {said(await stage.queue().pop(1))}"


async def script_on_diverged_replicas(stage: Stage) -> str:
    """Zone c, which serves the shard, missed the first of two messages."""
    producer = stage.queue("a", serves="c")
    stage.cut("a", "c")
    await producer.push([Message(id="x")])
    await stage.mend()
    await producer.push([Message(id="y")])
    popped = await stage.queue("c").pop_msg_with_predicate("id")
    left, next_pop = await stage.state("y"), said(await stage.queue("c").pop(1))
    await stage.lease_ends()
    await stage.queue("c").process_unacks()
    late = said(await stage.queue("c").pop(2))
    return f"pop by pattern: {popped and popped.message.id}; y: {left}; pop: {next_pop}; after the lease: {late}"


async def bulk_pop_during_pushes_quorum(stage: Stage) -> str:
    return await _pop_during_pushes(stage, Level.DC_QUORUM, lambda queue: queue.bulk_pop(2))


async def bulk_pop_during_pushes_safe(stage: Stage) -> str:
    return await _pop_during_pushes(stage, Level.DC_SAFE_QUORUM, lambda queue: queue.bulk_pop(2))


async def pop_during_pushes_safe(stage: Stage) -> str:
    return await _pop_during_pushes(stage, Level.DC_SAFE_QUORUM, lambda queue: queue.pop(2))


async def _pop_during_pushes(
    stage: Stage, level: Level, pop: Callable[[DynoQueue], Coroutine[Any, Any, list[Delivery]]]
) -> str:
    """No fault: the pushes of a and of c have reached b, but not yet each other."""
    stage.level = level
    for source, target in ("ac", "ca"):
        stage.set_lag(source, target, "constant:300ms")
    await stage.queue("a", serves="b").push([Message(id="x")])
    await stage.queue("c", serves="b").push([Message(id="y")])
    popped = await failure(pop(stage.queue("b")))
    await stage.sleep(500)
    return f"pop: {popped}; x: {await stage.state('x')}; y: {await stage.state('y')}"


async def failed_write_keeps_its_effect(stage: Stage) -> str:
    stage.level = Level.DC_SAFE_QUORUM
    await stage.queue().push([X])
    assert said(await stage.queue().pop(1)) == "x"
    stage.cut("a", "b")
    stage.cut("a", "c")
    acked = await failure(stage.queue().ack("x"))
    left = await stage.state()
    await stage.mend()
    return f"ack: {acked}; {left}; {await redelivery(stage)}"


async def whole_hash_is_read_locally(stage: Stage) -> str:
    stage.cut("a", "c")
    await stage.queue().push([X])
    await stage.mend()
    all_in_c = " ".join(message.id for message in await stage.queue("c").get_all_messages()) or "nothing"
    found = await stage.queue("c").get("x")
    return f"get in c: {found and found.id}; all messages in c: {all_in_c}"


async def range_read_is_local(stage: Stage) -> str:
    """The serving zone missed a push that two others acknowledged."""
    stage.cut("a", "c")
    await stage.queue("a", serves="c").push(messages("x"))
    await stage.mend()
    consumer = stage.queue("c")
    sizes = f"size in a: {await stage.queue().size()}, in c: {await consumer.size()}"
    return f"{sizes}; pop in c: {said(await consumer.pop(1))}"


COURSES = {
    "vote_one_away_others_differ_safe_quorum": one_down_others_differ_safe,
    "vote_one_away_others_differ_quorum": one_down_others_differ_quorum,
    "vote_one_away_others_agree_safe_quorum": one_down_others_agree_safe,
    **ties(
        lambda stage: stage.queue().push([X]), lambda stage, zone: stage.queue(zone, serves="a").pop(1), after=_nothing
    ),
    "vote_minority_keeps_an_old_lease": minority_keeps_an_old_lease,
    "vote_on_a_script_of_diverged_replicas": script_on_diverged_replicas,
    "vote_on_a_bulk_pop_while_pushes_arrive_quorum": bulk_pop_during_pushes_quorum,
    "vote_on_a_bulk_pop_while_pushes_arrive_safe_quorum": bulk_pop_during_pushes_safe,
    "vote_on_a_pop_while_pushes_arrive_safe_quorum": pop_during_pushes_safe,
    "vote_failed_write_keeps_its_effect": failed_write_keeps_its_effect,
    "vote_never_on_a_whole_hash": whole_hash_is_read_locally,
    "vote_never_on_a_range_read": range_read_is_local,
}
