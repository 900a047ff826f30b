"""The same windows, as far as there are such, for hardened gmq.

Each of its operations is one script, so a course does what its namesake does rather than the same commands. It ends
with what three programs, one a zone, deliver and acknowledge afterwards.
"""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from support.engine.dyno import SHARDS
from support.windows.gmq.stage import Killed, S, confirmed
from support.windows.hardened_stage import DRAIN_MS, ROUND_MS, HardenedStage
from support.windows.lags import cut_off_with
from support.windows.stage import (
    LEASE_MS,
    NAME,
    AtNth,
    Wrap,
    X,
    death,
    dies,
    fails,
    failure,
    loses_reply,
    meanwhile,
    said,
)

from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.gmq.hardened import HardenedDispatcher, HardenedGmqQueue
from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Command, Connection, Reply


class HardenedGmqStage(HardenedStage):
    def __init__(self, *, without: tuple[Hardening, ...] = ()) -> None:
        super().__init__(without=(Hardening.LEASE_HEARTBEAT, *without))
        self._at_most_once = False

    def at_most_once(self) -> None:
        """From now on programs are made with a TTR of 0."""
        self._at_most_once = True

    def site(self, zone: str, wrap: Wrap) -> dict[str, Any]:
        given = super().site(zone, wrap)
        return {**given, "settings": replace(given["settings"], payloads_compared=True)}

    def gmq(self, zone: str = "a", *, wrap: Wrap = lambda connection: connection) -> HardenedGmqQueue:
        return HardenedGmqQueue(
            {NAME: self.hardened(zone, wrap=wrap)}, runtime=self.cluster.runtime, at_most_once=self._at_most_once
        )

    async def dispatcher(self, zone: str = "a", *, wrap: Wrap = lambda connection: connection) -> HardenedDispatcher:
        """One that runs."""
        context = HardenedContext.of(NAME, **self.site(zone, wrap))
        dispatcher = HardenedDispatcher(f"dispatcher-{zone}", {NAME: context})
        await dispatcher.start()
        return dispatcher

    async def push(self, zone: str = "a", *, delay_s: int = 0) -> None:
        await self.gmq(zone).push([Message(id="x", payload="first", timeout_ms=delay_s * S)])

    async def take(self, zone: str = "a") -> tuple[HardenedGmqQueue, Delivery]:
        """What a program of its own popped, and the program."""
        queue = self.gmq(zone)
        (delivery,) = await queue.pop(1)
        return queue, delivery

    async def drain(self, *zones: str) -> str:
        queues = [self.gmq(zone) for zone in zones or SHARDS]
        running = [*queues, *[await self.dispatcher(zone) for zone in zones or SHARDS]]
        for queue in queues:
            await queue.start()
        delivered = await self._consumed(queues)
        for program in running:
            await program.close()
        return f"then delivered: {' '.join(sorted(delivered)) or 'nothing'}"

    async def _consumed(self, queues: list[HardenedGmqQueue]) -> list[str]:
        delivered: list[str] = []
        for _ in range(DRAIN_MS // ROUND_MS):
            for queue in queues:
                got = await queue.pop(9)
                delivered += [delivery.message.id for delivery in got]
                for delivery in got:
                    await queue.ack(delivery)
            await self.sleep(ROUND_MS)
        return delivered


class _DiesAtFirst(AtNth):
    """The dispatcher ends just before its first script."""

    def __init__(self, inner: Connection) -> None:
        super().__init__(inner, "EVAL")

    async def instead(self, *commands: Command) -> list[Reply]:
        raise Killed


HardenedGmqCourse = Callable[[HardenedGmqStage], Coroutine[Any, Any, str]]


async def two_pushes(stage: HardenedGmqStage) -> str:
    told = []

    async def push_too() -> None:
        told.append(await failure(confirmed(stage.gmq("b").push([X]))))

    first = await failure(confirmed(stage.gmq(wrap=meanwhile("EVAL", push_too)).push([X])))
    return f"pushes: {first}, {told[0]}; {await stage.drain()}"


async def push_dies(stage: HardenedGmqStage) -> str:
    await death(stage.gmq(wrap=dies("EVAL")).push([X]))
    again = await failure(confirmed(stage.gmq().push([X])))
    return f"the retry: {again}; {await stage.drain()}"


async def pop_dies(stage: HardenedGmqStage) -> str:
    await stage.push()
    await death(stage.gmq(wrap=dies("EVAL")).pop(1))
    return await stage.drain()


async def pop_reply_of_script_lost(stage: HardenedGmqStage) -> str:
    await stage.push()
    told = await failure(stage.gmq(wrap=loses_reply("EVAL")).pop(1))
    return f"pop: {told}; {await stage.drain()}"


async def pop_refused(stage: HardenedGmqStage) -> str:
    await stage.push()
    told = await failure(stage.gmq(wrap=fails("EVAL")).pop(1))
    return f"pop: {told}; {await stage.drain()}"


async def pop_reply_lost(stage: HardenedGmqStage) -> str:
    await stage.push()
    await stage.take()
    return await stage.drain()


async def pop_reply_lost_ttr_0(stage: HardenedGmqStage) -> str:
    stage.at_most_once()
    return await pop_reply_lost(stage)


async def client_leaves(stage: HardenedGmqStage) -> str:
    queue = stage.gmq()
    await queue.start()
    stage.cluster.runtime.spawn(queue.pop(1, wait_ms=10 * S), name="a pop whose client has left")
    await stage.push()
    await stage.sleep(S // 2)
    await queue.close()
    return await stage.drain()


async def client_leaves_ttr_0(stage: HardenedGmqStage) -> str:
    stage.at_most_once()
    return await client_leaves(stage)


async def ack_as_the_lease_ends(stage: HardenedGmqStage) -> str:
    """While another asks for what is due."""
    await stage.push()
    queue, delivery = await stage.take()
    await stage.sleep(LEASE_MS + 200)
    acks = []

    async def ack() -> None:
        acks.append(await queue.ack(delivery))

    got = await stage.gmq("a", wrap=meanwhile("EVAL", ack)).pop(1)
    return f"ack: {said(acks[0])}; pop: {said(got)}; {await stage.drain()}"


async def ack_after_redelivery(stage: HardenedGmqStage) -> str:
    await stage.push()
    first, second = await stage.take(), None
    for _ in range(20):
        await stage.sleep(LEASE_MS // 4)
        queue = stage.gmq()
        if got := await queue.pop(1):
            second = queue, got[0]
            break
    assert second is not None
    acks = [said(await queue.ack(delivery)) for queue, delivery in (first, second)]
    return f"the first consumer's ack: {acks[0]}, the second's: {acks[1]}; {await stage.drain()}"


async def id_used_again(stage: HardenedGmqStage) -> str:
    await stage.push()
    queue, delivery = await stage.take()
    await queue.ack(delivery)
    again = await failure(confirmed(stage.gmq().push([Message(id="x", timeout_ms=5 * S)])))
    return f"the next push: {again}; {await stage.drain()}"


async def zone_lost(stage: HardenedGmqStage) -> str:
    stage.level = Level.DC_ONE
    await cut_off_with(stage, HardenedGmqStage.push)
    return f"push: confirmed; {await stage.drain()}"


async def no_dispatcher(stage: HardenedGmqStage) -> str:
    """It was killed before the push, and none takes its place while two consumers work."""
    await stage.push()
    queue = stage.gmq()
    got = await queue.pop(1)
    return f"without a dispatcher pop: {said(got)}; ack: {said(await queue.ack(got[0]))}"


async def no_dispatcher_for_a_delayed_job(stage: HardenedGmqStage) -> str:
    await stage.push(delay_s=2)
    await stage.sleep(2 * S + 10)
    queue = stage.gmq()
    got = await queue.pop(1)
    return f"without a dispatcher pop: {said(got)}; ack: {said(await queue.ack(got[0]))}"


async def _round_meets(stage: HardenedGmqStage, wrap: Wrap) -> str:
    """b missed the push, so that the dispatcher has something to write."""
    stage.cut("a", "b")
    await stage.push()
    await stage.mend()
    await stage.dispatcher(wrap=wrap)
    await stage.sleep(2 * S)
    return await stage.drain()


async def dispatcher_refused(stage: HardenedGmqStage) -> str:
    return await _round_meets(stage, fails("EVAL"))


async def dispatcher_dies(stage: HardenedGmqStage) -> str:
    return await _round_meets(stage, _DiesAtFirst)


async def dispatcher_hears_nothing(stage: HardenedGmqStage) -> str:
    return await _round_meets(stage, loses_reply("EVAL"))


async def stopped_with_a_push_in_flight(stage: HardenedGmqStage) -> str:
    dispatcher = await stage.dispatcher()
    told = await failure(confirmed(stage.gmq(wrap=meanwhile("EVAL", dispatcher.close)).push([X])))
    return f"push: {told}; {await stage.drain()}"


async def stopped_with_a_pop_in_flight(stage: HardenedGmqStage) -> str:
    dispatcher = await stage.dispatcher()
    await stage.push()
    told = await failure(stage.gmq(wrap=meanwhile("EVAL", dispatcher.close)).pop(1))
    return f"pop: {told}; {await stage.drain()}"


async def vast_delay(stage: HardenedGmqStage) -> str:
    try:
        await stage.gmq().push([Message(id="v", timeout_ms=10**18)])
        told = "confirmed"
    except ValueError:
        told = "refused"
    await stage.push(delay_s=2)
    return f"push with a delay of 10^15 s: {told}; {await stage.drain()}"


async def nul_byte(stage: HardenedGmqStage) -> str:
    await stage.gmq().push([Message(id="x\0y", timeout_ms=2 * S)])
    return (await stage.drain()).replace("\0", "\\0")


async def _two(stage: HardenedGmqStage, *, first_ends: bool) -> str:
    first, second = await stage.dispatcher(), await stage.dispatcher("b")
    await stage.push(delay_s=5)
    if first_ends:
        await first.close()
    told = await stage.drain()
    await second.close()
    await first.close()
    return told


async def two_dispatchers(stage: HardenedGmqStage) -> str:
    return await _two(stage, first_ends=False)


async def two_dispatchers_and_one_ends(stage: HardenedGmqStage) -> str:
    return await _two(stage, first_ends=True)


COURSES: dict[str, HardenedGmqCourse] = {
    "two_pushes_at_once": two_pushes,
    "push_dies_after_pool": push_dies,
    "pop_dies_after_taking": pop_dies,
    "pop_take_reply_lost": pop_reply_of_script_lost,
    "pop_reserve_refused": pop_refused,
    "pop_reply_lost": pop_reply_lost,
    "pop_reply_lost_ttr_0": pop_reply_lost_ttr_0,
    "client_leaves_during_pop": client_leaves,
    "client_leaves_during_pop_ttr_0": client_leaves_ttr_0,
    "ack_while_it_is_made_ready": ack_as_the_lease_ends,
    "ack_after_redelivery": ack_after_redelivery,
    "id_used_again": id_used_again,
    "zone_lost_before_replication": zone_lost,
    "killed_before_it_lists": no_dispatcher,
    "killed_during_a_scan": dispatcher_dies,
    "scan_reply_lost": dispatcher_hears_nothing,
    "killed_before_it_puts_into_a_bucket": no_dispatcher_for_a_delayed_job,
    "stopped_with_a_push_in_flight": stopped_with_a_push_in_flight,
    "stopped_with_a_pop_in_flight": stopped_with_a_pop_in_flight,
    "scan_of_an_idle_bucket_fails": dispatcher_refused,
    "vast_delay_at_the_head": vast_delay,
    "id_with_a_nul_byte": nul_byte,
    "two_dispatchers": two_dispatchers,
    "two_dispatchers_and_one_ends": two_dispatchers_and_one_ends,
}
