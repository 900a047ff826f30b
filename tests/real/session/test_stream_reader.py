"""Goal: a group of Redis Streams, which hands the next entry to another reader while one is pending, is caught.

Method: two readers of one stream on a real server, recorded and judged as partitions are.
"""

import asyncio

import pytest
from support.analysis.orders import INFO

from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.runs.order import FINAL_ORDER, ORDER, OrderHistory, OrderKind
from zonelab.analysis.runs.order_rules import OrderRules
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones

pytestmark = pytest.mark.real

STREAM, GROUP, MESSAGES = "orders", "g", 4
PLACE = {"group": GROUP, "partition": "orders/0", "key": "k", "epoch": 0, "attempt": 1}


async def read_by_two(history, runtime):
    """Each reader has an entry in work when the other takes the next one."""
    async with RealCluster(zones("process", ["a"]), RealSettings(seed=1)) as cluster:
        server = cluster.direct("a")
        for number in range(MESSAGES):
            await server.execute(("XADD", STREAM, f"{number + 1}-0", "id", f"x{number}"))
        await server.execute(("XGROUP", "CREATE", STREAM, GROUP, "0"))
        held = []
        for number in range(MESSAGES):
            reader = f"m{number % 2}"
            (reply,) = await server.execute(("XREADGROUP", "GROUP", GROUP, reader, "COUNT", 1, "STREAMS", STREAM, ">"))
            ((_, ((entry, _),)),) = reply
            offset = int(entry.split(b"-")[0]) - 1
            told = {**PLACE, "member": reader, "session": reader, "offset": offset, "message_id": f"x{offset}"}
            held.append((entry, told, history.start(time_ns=runtime(), **told)))
            if len(held) == 2:
                await done(server, history, runtime, held.pop(0))
        for each in held:
            await done(server, history, runtime, each)


async def done(server, history, runtime, held):
    entry, told, op_id = held
    history.note(OrderKind.END, time_ns=runtime(), op_id=op_id, status="success", **told)
    assert await server.execute(("XACK", STREAM, GROUP, entry)) == [1]


def test_a_group_of_a_stream_begins_an_entry_before_the_one_in_front_is_done():
    table, begin = MemoryTable(ORDER), iter(range(1_000_000, 10**9, 1_000_000))
    asyncio.run(read_by_two(OrderHistory(table), lambda: next(begin)))
    run = OrderRun(
        info=INFO,
        rules=OrderRules(),
        rows=len(table.rows),
        events=iter([table.batch()]),
        at_rest=iter([MemoryTable(FINAL_ORDER).batch()]),
        faults=[],
        end_ns=10**9,
    )
    verdict = check_order(run)
    assert (verdict.valid, verdict.counts[Property.STRICT_ORDER]) == (False, MESSAGES - 1)
    assert verdict.of(Property.EXCLUSION) == "broken"
