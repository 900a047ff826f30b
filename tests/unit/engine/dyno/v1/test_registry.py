"""The registry makes each queue once, starts its handler, shares one strategy, and closes all.

Method: the registry in simulation, whose handlers run from the first get of a queue until the close.
"""

import pytest
from support.engine.dyno import SettableClock
from support.engine.periodic import BrokenTask

from zonelab.engine.dyno import DynoQueues, DynoSettings
from zonelab.engine.message import Message

MS = 1_000_000
SETTINGS = DynoSettings(prefix="test", shards=("a", "b", "c"), shard="b", unack_ms=1000, unack_interval_ms=10)


def registry(lab, connection=None):
    direct = connection or lab.direct("a")
    return DynoQueues(runtime=lab.runtime, clock=SettableClock(), quorum=direct, local=direct, settings=SETTINGS)


async def test_a_name_always_gives_the_same_queue_and_all_share_one_strategy(lab):
    async with registry(lab) as queues:
        one, other = await queues.get("one"), await queues.get("other")
        assert await queues.get("one") is one
        assert queues.queues() == [one, other]
        assert (one.name, one.settings) == ("one", SETTINGS)
        receipts = [await queue.push([Message(id="x")]) for queue in (one, other, one, other)]
        assert [receipt.shard for (receipt,) in receipts] == ["b", "c", "a", "b"]
        await lab.runtime.sleep(MS)
    assert queues.queues() == []


async def test_handlers_run_from_the_first_get_until_the_close(lab):
    async with registry(lab) as queues:
        queue = await queues.get("one")
        await lab.runtime.sleep(35 * MS)
    assert queue.unack_handler.runs == 3
    await lab.runtime.sleep(35 * MS)
    assert queue.unack_handler.runs == 3


class Broken:
    """Answers every command with something that no server says."""

    async def execute(self, *commands):
        return []


async def test_a_handler_that_ended_by_a_defect_is_told_of_after_all_are_stopped(lab):
    queues, ended = registry(lab, Broken()), BrokenTask()
    for name in ("one", "other"):
        queue = await queues.get(name)
        await queue.close()
        queue.unack_handler._task = ended
    await lab.runtime.sleep(MS)
    with pytest.raises(ZeroDivisionError, match="a defect"):
        await queues.close()
    assert ended.joined == 2
    assert queues.queues() == []
