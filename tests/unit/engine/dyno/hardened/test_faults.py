"""Goal: faults of one zone do not let hardened mode keep, condemn or hide what it should not.

Method: three simulated zones, one handmade course a test; each course went wrong before it was written down here.
"""

import pytest
from support.engine.dyno_bench import ids
from support.engine.hardened import KEYS, ZONES, leased, message

from zonelab.cluster.links.link import Cut
from zonelab.cluster.votes.levels import Level
from zonelab.engine.message import Message


@pytest.mark.parametrize("removed", [False, True], ids=["acknowledged", "removed"])
async def test_a_tombstone_does_not_grow_young_by_being_copied(lab, removed):
    queues = [lab.queue(zone, retention_ms=1000) for zone in ZONES]
    own = queues[0]
    await own.push([message()])
    if removed:
        assert await own.remove_all(["m"]) == [True]
    else:
        (delivery,) = await own.pop(1)
        assert await own.ack(delivery) is True
    for queue in queues:
        await queue.start()
    await lab.sleep(500)
    await lab.ask("c", "FLUSHALL")
    await lab.sleep(400)
    copied = await lab.statuses("m")
    await lab.sleep(2000)
    assert (copied, await lab.statuses("m")) == (["d", "d", "d"], ["-", "-", "-"])
    for queue in queues:
        await queue.close()


async def test_a_zone_that_missed_a_lease_does_not_condemn_what_is_at_work_elsewhere(lab):
    holder, other = lab.queue(deliveries_max=3), lab.queue(deliveries_max=3)
    await holder.push([message()])
    before = await lab.record("a", "m")
    (delivery,) = await holder.pop(1)
    assert await holder.extend(delivery, lease_ms=20_000)
    await lab.sleep(20)
    await lab.ask("a", "HSET", KEYS.records, "m", before)
    await lab.ask("a", "ZREM", KEYS.unack("a"), "m")
    await lab.ask("a", "ZADD", KEYS.ready("a"), 1, "m")
    for _ in range(30):
        assert await other.pop(1) == []
        await lab.sleep(100)
    granted = int((await lab.record("a", "m")).split(" ")[4])
    assert granted > 3
    assert await lab.statuses("m") == ["l", "l", "l"]
    assert await holder.ack(delivery) is True


async def test_leases_that_nobody_won_are_no_deliveries(lab):
    queue = lab.queue(deliveries_max=1)
    delivery = await leased(queue)
    steps = queue._steps
    await steps.release(["m"], token=delivery.token, delivered=False)
    await lab.sleep(20)
    (again,) = await queue.pop(1)
    await steps.release(["m"], token=again.token, delivered=True)
    await lab.sleep(20)
    assert await queue.pop(1) == []
    assert await lab.statuses("m") == ["x", "x", "x"]


async def test_a_dead_letter_that_cannot_be_read_does_not_hide_the_others(lab):
    queue = lab.queue()
    await queue.push([message("m"), message("n")])
    for zone in ZONES:
        await lab.ask(zone, "HSET", KEYS.messages, "m", "no JSON")
    assert ids(await queue.pop(2)) == ["n"]
    (dead,) = await queue.dead_letters(5)
    assert (dead.id, dead.payload) == ("m", "no JSON")
    assert await queue.dead_letters(0) == await queue.dead_letters(-1) == []
    assert await queue.remove_all([dead.id]) == [True]
    assert await queue.dead_letters(5) == []


@pytest.mark.parametrize("level", [Level.DC_QUORUM, Level.DC_SAFE_QUORUM])
async def test_a_retried_push_that_left_zones_with_two_opinions_about_the_shard_is_delivered(lab, level):
    """Zone c has the message in a's shard, zones a and b have it in c's: nobody would find it in the own list."""
    links = [lab.cluster.links[pair] for pair in (("a", "c"), ("c", "a"), ("b", "c"), ("c", "b"))]
    for link in links:
        link.cut(Cut.DROP)
    await lab.queue("c", level=Level.DC_ONE).push([Message(id="m", shard="a")])
    await lab.queue("a", level=level).push([Message(id="m", shard="c")])
    for link in links:
        link.mend()
    await lab.cluster.network.connected()
    shards = [(await lab.record(zone, "m")).split(" ")[1] for zone in ZONES]
    assert shards == ["c", "c", "a"]
    queues = [lab.queue(zone, level=level) for zone in ZONES]
    for queue in queues:
        await queue.start()
    await lab.sleep(300)
    delivered = [delivery for queue in queues for delivery in await queue.pop(1, wait_ms=50)]
    assert ids(delivered) == ["m"]
    for queue in queues:
        await queue.close()
