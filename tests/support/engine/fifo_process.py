"""A member of a consumer group as a program of its own: ``python -m support.engine.fifo_process NAME PORT WORK_MS``.

It connects to the port of a zone, and prints a line of JSON for each message that it begins and ends, and when it has
joined.
"""

import asyncio
import json
import sys

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.direct import DirectConnection
from zonelab.cluster.real.connection import RedisUpstream
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.zone import Address
from zonelab.engine.fifo.consumer.context import MemberContext, Zones
from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.events import NullObserver
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.member import Member
from zonelab.engine.fifo.modes import GroupMode, group_settings
from zonelab.engine.fifo.partition import partitions_of

PARTITIONS = partitions_of("t", 1, ("a",))
KEYS = FifoKeys(prefix="processes")


async def connected(port: int, runtime: RealRuntime) -> DirectConnection:
    """To the coordinator behind a zone's port, which votes at its own level."""
    upstream = RedisUpstream(Address("127.0.0.1", port), loop=asyncio.get_running_loop())
    connection = ServerConnection(upstream=upstream, runtime=runtime, timeouts=Timeouts())
    connection.open()
    while not connection.connected:  # noqa: ASYNC110 (it has no event)
        await asyncio.sleep(0.01)
    return DirectConnection(connection, runtime=runtime)


async def consume(name: str, port: int, work_ms: int) -> None:
    runtime = RealRuntime(seed=1)
    connection = await connected(port, runtime)

    def tell(what: str, offset: int = -1) -> None:
        sys.stdout.write(json.dumps({"what": what, "offset": offset}) + "\n")
        sys.stdout.flush()

    async def listen(batch, _handling):
        tell("start", batch[0].offset)
        await asyncio.sleep(work_ms / 1_000)
        tell("end", batch[0].offset)
        return ConsumeStatus.SUCCESS

    settings = group_settings(GroupMode.ROCKETMQ_5_3)
    context = MemberContext(
        name=name,
        session=name,
        settings=settings,
        runtime=runtime,
        clock=NodeClock(epoch_ns=runtime.epoch_ns, run_ns=runtime.now_ns),
        zones=Zones.of(settings, level=connection, reads=connection, near=connection, keys=KEYS),
        listener=listen,
        observer=NullObserver(),
    )
    await Member(context, partitions=PARTITIONS, room_of=lambda _: "a").start()
    tell("joined")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(consume(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
