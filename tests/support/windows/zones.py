"""A zone's consumers, its server or its network are gone."""

from support.windows.crashes import leased, redelivery
from support.windows.stage import Stage, X, failure, messages, said

from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Restart
from zonelab.engine.dyno import RoundRobin


async def without_consumers(stage: Stage) -> str:
    await stage.queue(strategy=RoundRobin()).push(messages("uvw"))  # to b, c and a
    popped = [said(await stage.queue(zone).pop(3)) for zone in "ab"]
    return f"pops in a and b: {', '.join(popped)}; v: {await stage.state('v')}"


async def without_consumers_unsafe_pop(stage: Stage) -> str:
    await stage.queue("c").push(messages("v"))
    drained = said(await stage.queue().unsafe_pop_all_shards(1))
    await stage.lease_ends()
    for zone in "ab":
        await stage.queue(zone).process_unacks()
    again = said(await stage.queue().unsafe_pop_all_shards(1))
    return f"unsafe pop: {drained}; after the lease: {again}, {await stage.state('v')}"


async def server_down(stage: Stage) -> str:
    await stage.queue().push([X])
    await stage.kill("a")
    popped = await failure(stage.queue().pop(1))
    handled = await failure(stage.queue().process_unacks())
    pushed = len(await stage.queue("b", serves="a").push(messages("y")))
    await stage.come_back("a", Restart.WARM, warm_from="b")
    found = said(await stage.queue().pop(2))
    return f"pop in a: {popped}; handler: {handled}; pushed through b: {pushed}; when it is back, warm: {found}"


async def server_back_empty(stage: Stage) -> str:
    await stage.queue().push([X])
    await stage.wipe("a")
    queue = stage.queue()
    stored = await queue.get("x")
    said_so = f"get: {stored and stored.id}, size: {await queue.size()}, pop: {said(await queue.pop(1))}"
    ensured = said(await queue.ensure(X))
    await queue.process_unacks()
    stale = " ".join(message.id for message in await queue.find_stale_messages()) or "nothing"
    await queue.push(messages("y"))
    return (
        f"{said_so}, ensure: {ensured}, stale: {stale}; what is new: {said(await queue.pop(2))}; {await stage.state()}"
    )


async def two_zones_wiped_waiting(stage: Stage) -> str:
    await stage.queue().push([X])
    await stage.wipe("b", "c")
    popped = said(await stage.queue().pop(1))
    return f"pop: {popped}; {await stage.state()}; {await redelivery(stage)}"


async def two_zones_wiped_leased(stage: Stage) -> str:
    await leased(stage)
    await stage.wipe("b", "c")
    after = await redelivery(stage)
    return f"{after}; {await stage.state()}"


async def split_at_dc_one(stage: Stage) -> str:
    stage.level = Level.DC_ONE
    await stage.queue().push([X])
    await stage.sleep(10)
    stage.cut("a", "b")
    stage.cut("a", "c")
    here = said(await stage.queue("a").pop(1))
    there = said(await stage.queue("b", serves="a").pop(1))
    acked = await stage.queue("a").ack("x")
    await stage.mend()
    return f"pop in a: {here}; pop in b: {there}; ack in a: {said(acked)}; when mended {await stage.state()}"


async def names_of_another_region(stage: Stage) -> str:
    elsewhere = stage.queue("b", shards=("d", "e", "f"), serves="d", strategy=RoundRobin())
    await elsewhere.push([X])
    popped = [said(await stage.queue(zone).pop(1)) for zone in "abc"]
    return f"pops in a, b and c: {', '.join(popped)}; {await stage.state()}"


async def handler_after_an_outage(stage: Stage) -> str:
    await leased(stage)
    async with stage.queue() as queue:
        await stage.kill("a")
        await stage.sleep(3000)
        await stage.come_back("a", Restart.WARM, warm_from="b")
        await stage.sleep(1000)
        failed = queue.unack_handler.failures > 0
        return f"runs failed: {said(failed)}; redelivered: {said(await queue.pop(1))}"


COURSES = {
    "zone_without_consumers": without_consumers,
    "zone_without_consumers_unsafe_pop": without_consumers_unsafe_pop,
    "zone_server_down": server_down,
    "zone_server_back_empty": server_back_empty,
    "zones_wiped_two_message_waiting": two_zones_wiped_waiting,
    "zones_wiped_two_message_leased": two_zones_wiped_leased,
    "zones_split_dc_one": split_at_dc_one,
    "zones_named_otherwise_in_another_region": names_of_another_region,
    "zone_server_down_while_the_handler_runs": handler_after_an_outage,
}
