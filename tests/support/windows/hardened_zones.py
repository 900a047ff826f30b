"""Zones without consumers, without their server, without their data or cut off, under the hardened queue."""

from support.windows.hardened_stage import HardenedStage, push
from support.windows.stage import LEASE_MS, failure, messages, said

from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Restart
from zonelab.engine.dyno import RoundRobin


async def without_consumers(stage: HardenedStage) -> str:
    await stage.hardened(strategy=RoundRobin()).push(messages("uvw"))
    return f"programs in a and b only; {await stage.drain('a', 'b')}"


async def server_down(stage: HardenedStage) -> str:
    await push(stage)
    await stage.kill("a")
    consumer = stage.hardened()
    got = await consumer.pop(1)
    acked = said(await consumer.ack(got[0])) if got else "none"
    await stage.come_back("a", Restart.WARM, warm_from="b")
    return f"pop in a: {said(got)}; ack: {acked}; {await stage.drain()}"


async def server_back_empty(stage: HardenedStage) -> str:
    await push(stage)
    await stage.wipe("a")
    return await stage.drain()


async def two_wiped(stage: HardenedStage) -> str:
    await push(stage)
    await stage.wipe("b", "c")
    return await stage.drain()


async def two_wiped_leased(stage: HardenedStage) -> str:
    await push(stage)
    await stage.pop()
    await stage.wipe("b", "c")
    return await stage.drain()


async def split(stage: HardenedStage) -> str:
    """Zone b takes a's shard over while a is cut off."""
    stage.level = Level.DC_ONE
    await push(stage)
    await stage.sleep(10)
    stage.cut("a", "b")
    stage.cut("a", "c")
    here = stage.hardened("a")
    first = await failure(here.pop(1))
    there = stage.hardened("b")
    await there.start()
    await stage.sleep(5 * LEASE_MS)
    second = await there.pop(1)
    acked = " ".join([said(await there.ack(delivery)) for delivery in second])
    await stage.mend()
    return f"pop in a: {first}; in b, later: {said(second)}; ack: {acked}; {await stage.drain()}"


async def outage_under_keepers(stage: HardenedStage) -> str:
    await push(stage)
    await stage.pop()
    async with stage.hardened():
        await stage.kill("a")
        await stage.sleep(3000)
        await stage.come_back("a", Restart.WARM, warm_from="b")
    return await stage.drain()


COURSES = {
    "zone_without_consumers": without_consumers,
    "zone_server_down": server_down,
    "zone_server_back_empty": server_back_empty,
    "zones_wiped_two_message_waiting": two_wiped,
    "zones_wiped_two_message_leased": two_wiped_leased,
    "zones_split_dc_one": split,
    "zone_server_down_while_the_handler_runs": outage_under_keepers,
    "v2_handler_after_an_outage": outage_under_keepers,
}
