"""Goal: how many exchanges with the server are under way is bounded, and what no server answered is no refusal."""

import asyncio

import pytest
from support.coroutines import coroutine

from zonelab.app.gmq_service.backend.pool import Slots
from zonelab.cluster.connections.answered import answered
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

NO_QUORUM = ServerError("ERR Dynomite: Failed to achieve Quorum")


@coroutine
async def test_who_comes_to_a_full_pool_waits_in_order_and_not_for_ever():
    slots, served = Slots(1), []

    async def use(name):
        await slots.take(wait_s=60)
        served.append(name)
        slots.give()

    await slots.take(wait_s=60)
    waiting = [asyncio.create_task(use(name)) for name in "abc"]
    await asyncio.sleep(0)
    assert (served, slots.waiting) == ([], 3)
    waiting[0].cancel()
    with pytest.raises(Unavailable, match="the pool of connections is full"):
        await slots.take(wait_s=0.001)
    slots.give()
    await asyncio.gather(*waiting, return_exceptions=True)
    await slots.take(wait_s=60)
    assert served == ["b", "c"]


def test_no_quorum_at_a_zone_s_port_may_have_been_applied():
    write, read, refusal = ("EVAL", "", 0), ("HGETALL", "k"), ServerError("ERR wrong type")
    assert answered([write], [refusal]) == [refusal]
    with pytest.raises(Indeterminate):
        answered([read, write], [[], NO_QUORUM])
    with pytest.raises(Unavailable):
        answered([read], [NO_QUORUM])
