"""The registry makes each queue once, starts its handler, shares one strategy, and closes all.

Method: the registry in simulation; expired leases come back without anybody asking, and no more after the close.
"""

import pytest
from support.engine.dyno import SettableClock
from support.engine.periodic import BrokenTask

from engine.dyno import DynoQueues, DynoSettings
from engine.message import Message

MS = 1_000_000
SETTINGS = DynoSettings(prefix="test", shards=("a", "b", "c"), shard="b", unack_ms=1000, unack_interval_ms=10)


def registry(lab, **options):
    direct = lab.direct("a")
    return DynoQueues(
        runtime=lab.runtime,
        clock=SettableClock(),
        quorum=direct,
        local=direct,
        settings=SETTINGS,
        **options,
    )


def test_a_name_always_gives_the_same_queue(lab):
    async def program():
        async with registry(lab) as queues:
            one, other = await queues.get("one"), await queues.get("other")
            assert await queues.get("one") is one
            assert queues.queues() == [one, other]
            assert (one.name, one.settings) == ("one", SETTINGS)
            await lab.runtime.sleep(MS)
        return queues

    assert lab.run(program()).queues() == []


def test_all_queues_share_one_strategy(lab):
    async def pushes():
        async with registry(lab) as queues:
            one, other = await queues.get("one"), await queues.get("other")
            shards = [(await queue.push([Message(id="x")]))[0].shard for queue in (one, other, one, other)]
            await lab.runtime.sleep(MS)
            return shards

    assert lab.run(pushes()) == ["b", "c", "a", "b"]


def test_handlers_run_from_the_first_get_until_the_close(lab):
    async def program():
        async with registry(lab) as queues:
            queue = await queues.get("one")
            await lab.runtime.sleep(35 * MS)
        while_open = queue.unack_handler.runs
        await lab.runtime.sleep(35 * MS)
        return while_open, queue.unack_handler.runs

    assert lab.run(program()) == (3, 3)


class Broken:
    """Answers every command with something that no server says."""

    async def execute(self, *commands):
        return []


def test_a_handler_that_ended_by_a_defect_is_told_of_after_all_are_stopped(lab):
    queues = DynoQueues(runtime=lab.runtime, clock=SettableClock(), quorum=Broken(), local=Broken(), settings=SETTINGS)

    ended = BrokenTask()

    async def program():
        for name in ("one", "other"):
            queue = await queues.get(name)
            await queue.close()
            queue.unack_handler._task = ended
        await lab.runtime.sleep(MS)
        await queues.close()

    with pytest.raises(ZeroDivisionError, match="a defect"):
        lab.run(program())
    assert ended.joined == 2
    assert queues.queues() == []
