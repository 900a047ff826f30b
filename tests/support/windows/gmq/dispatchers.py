"""Dispatchers of gmq that die, stop, meet an error or fall asleep, and two on one Redis."""

from support.engine.gmq import Refusing
from support.windows.gmq.stage import (
    GmqCourse,
    GmqStage,
    S,
    confirmed,
    killed_before,
    loses_reply,
    meanwhile,
    refused,
)
from support.windows.stage import Wrap, X, failure

from zonelab.engine.gmq import DispatchedCard, GmqDispatcher, GoChannel
from zonelab.engine.message import Message
from zonelab.engine.ports import Connection, ServerError

VAST_DELAY_S = 10**15


async def _pushed(stage: GmqStage, wrap: Wrap, *, delay_s: int = 0) -> str:
    """To the dispatcher with that connection."""
    await stage.dispatcher(wrap=wrap)
    message = Message(id="x", timeout_ms=delay_s * S)
    told = await failure(confirmed(stage.instance().push([message])))
    await stage.settle()
    return f"push: {told}; {await stage.state()}; {await stage.later()}"


async def killed_before_it_lists(stage: GmqStage) -> str:
    return await _pushed(stage, killed_before("ready"))


async def killed_before_it_puts_into_a_bucket(stage: GmqStage) -> str:
    return await _pushed(stage, killed_before("add"), delay_s=2)


async def listing_refused(stage: GmqStage) -> str:
    return await _pushed(stage, refused("ready"))


async def bucket_refused(stage: GmqStage) -> str:
    return await _pushed(stage, refused("add"), delay_s=2)


async def _scanned(stage: GmqStage, wrap: Wrap) -> str:
    """Three jobs fall due in the one bucket that there is."""
    stage.set(buckets=1, ttr_buckets=1)
    await stage.dispatcher(wrap=wrap)
    await stage.push(*"uvw", delay_s=2)
    await stage.sleep(6 * S)
    states = ", ".join([f"{name}: {await stage.state(name)}" for name in "uvw"])
    return f"{states}; {await stage.later()}"


async def killed_during_a_scan(stage: GmqStage) -> str:
    return await _scanned(stage, killed_before("ready", 2))


async def scan_reply_lost(stage: GmqStage) -> str:
    return await _scanned(stage, loses_reply("due", times=12))


async def listing_of_a_scan_refused(stage: GmqStage) -> str:
    return await _scanned(stage, refused("ready"))


async def stopped_during_a_scan(stage: GmqStage) -> str:
    """SIGTERM, when one id of three is still to be listed."""
    made: list[GmqDispatcher] = []

    async def stop() -> None:
        stage.cluster.runtime.spawn(made[0].close(), name="stop")

    stage.set(buckets=1)
    made.append(await stage.dispatcher(wrap=meanwhile("ready", stop)))
    await stage.push(*"uvw", delay_s=2)
    await stage.sleep(6 * S)
    states = ", ".join([f"{name}: {await stage.state(name)}" for name in "uvw"])
    return f"{states}; {await stage.later()}"


async def _leased(stage: GmqStage, wrap: Wrap) -> str:
    """The consumer has its answer, and dies, too."""
    await stage.dispatcher(wrap=wrap)
    await stage.push()
    got = await failure(stage.instance().pop(1))
    await stage.settle()
    return f"pop: {got}; {await stage.state()}; {await stage.later()}"


async def killed_before_it_writes_a_lease(stage: GmqStage) -> str:
    return await _leased(stage, killed_before("add"))


async def lease_refused(stage: GmqStage) -> str:
    return await _leased(stage, refused("add"))


async def stopped_while_a_sleeping_bucket_writes(stage: GmqStage) -> str:
    made: list[GmqDispatcher] = []
    ended: list[bool] = []

    async def close() -> None:
        await made[0].close()
        ended.append(True)

    async def stop() -> None:
        stage.cluster.runtime.spawn(close(), name="stop")

    stage.set(buckets=1)
    made.append(await stage.dispatcher(wrap=meanwhile("add", stop)))
    await stage.sleep(3 * S)
    await stage.push(delay_s=2)
    await stage.sleep(20 * S)
    return f"the stop {'ends' if ended else 'hangs'}; {await stage.state()}; {await stage.later()}"


async def stopped_with_a_push_in_flight(stage: GmqStage) -> str:
    dispatcher = await stage.dispatcher()
    wrap = meanwhile("HMSET" if stage.compat else "push", dispatcher.close, after=True)
    told = await failure(confirmed(stage.instance(wrap=wrap).push([X])))
    return f"push: {told}; {await stage.state()}; {await stage.later()}"


async def stopped_with_a_pop_in_flight(stage: GmqStage) -> str:
    """x is a push that was confirmed long before."""
    dispatcher = await stage.dispatcher()
    await stage.push()
    wrap = meanwhile("RPOP", dispatcher.close, after=True)
    told = await failure(stage.instance(wrap=wrap).pop(1))
    return f"pop: {told}; {await stage.state()}; {await stage.later()}"


async def scan_of_an_idle_bucket_fails(stage: GmqStage) -> str:
    """As when Redis is restarted. What is pushed later is confirmed all the same."""
    made: list[Refusing] = []

    def failing(connection: Connection) -> Connection:
        made.append(Refusing(connection, "due", ServerError("LOADING"), times=0))
        return made[0]

    stage.set(buckets=1)
    await stage.dispatcher(wrap=failing)
    await stage.sleep(3 * S)
    await stage.push(delay_s=1)
    made[0].times = 3
    await stage.sleep(5 * S)
    told = await failure(confirmed(stage.instance().push([Message(id="y", timeout_ms=S)])))
    return f"later push: {told}; {await stage.later()}; y: {await stage.state('y')}"


async def vast_delay_at_the_head(stage: GmqStage) -> str:
    stage.set(buckets=1)
    await stage.dispatcher()
    try:
        await stage.push("v", delay_s=VAST_DELAY_S)
        told = "confirmed"
    except ValueError:
        told = "refused"
    await stage.push(delay_s=2)
    return f"push with a delay of 10^15 s: {told}; {await stage.later()}; x: {await stage.state()}"


async def id_with_a_nul_byte(stage: GmqStage) -> str:
    await stage.dispatcher()
    await stage.push("x\0y", delay_s=2)
    said = (await stage.later()).replace("\0", "\\0")
    return f"{said}; {await stage.state(chr(0).join('xy'))}"


async def _two(stage: GmqStage, *, first_dies: bool) -> str:
    """What the first stored falls due when the second, of zone b, has been idle for a while."""
    cards = GoChannel[DispatchedCard](stage.cluster.runtime)
    first = await stage.dispatcher()
    await stage.dispatcher("b", cards=cards)
    await stage.sleep(3 * S)
    await stage.push(*"uvwx", delay_s=5)
    if first_dies:
        await first.close()
    return await stage.later(cards=cards)


async def two_dispatchers(stage: GmqStage) -> str:
    return await _two(stage, first_dies=False)


async def two_dispatchers_and_one_ends(stage: GmqStage) -> str:
    return await _two(stage, first_dies=True)


COURSES: dict[str, GmqCourse] = {
    course.__name__: course
    for course in (
        killed_before_it_lists,
        killed_before_it_puts_into_a_bucket,
        listing_refused,
        bucket_refused,
        killed_during_a_scan,
        scan_reply_lost,
        listing_of_a_scan_refused,
        stopped_during_a_scan,
        killed_before_it_writes_a_lease,
        lease_refused,
        stopped_while_a_sleeping_bucket_writes,
        stopped_with_a_push_in_flight,
        stopped_with_a_pop_in_flight,
        scan_of_an_idle_bucket_fails,
        vast_delay_at_the_head,
        id_with_a_nul_byte,
        two_dispatchers,
        two_dispatchers_and_one_ends,
    )
}
