"""Goal: one register has one owner, and a process that may have lost something decides nothing.

Method: a register on three simulated zones, and something that happens just before a chosen question.
"""

from dataclasses import replace

import pytest
from support.engine.dyno import Interceptor
from support.engine.fenced import FencedBench

from cluster.zone import Restart
from engine.common.failures import COMMAND_FAILURES
from engine.fifo.fenced.keys import LOG_REGISTER
from engine.fifo.fenced.register import Register


@pytest.fixture
def bench():
    with FencedBench() as started:
        yield started


def register(bench, session, before_claim=None):
    """The register of a log; ``before_claim`` happens before the first script of ``session``."""
    wires = bench.wires("a", session)
    if before_claim is not None:
        wires = replace(wires, safe=Interceptor(wires.safe, "EVAL", before_claim))
    return Register(store=wires.store(lease_ms=1_000, margin_ms=0), partition=bench.partitions[0], name=LOG_REGISTER)


async def dies(bench, zone, restart):
    await bench.cluster.zones[zone].kill()
    await bench.cluster.zones[zone].restart(restart)
    await bench.cluster.network.connected()


def test_a_token_that_another_had_and_gave_up_meanwhile_is_promised_to_nobody_else(bench):
    first = register(bench, "first")

    async def comes_first():
        assert await first.claim() is not None
        await first.write("state")
        await first.give_up()

    async def both():
        await first.store.admission.look(bench.partitions[0])
        return await register(bench, "second", comes_first).claim()

    assert bench.run(both()) is None
    assert bench.run(register(bench, "second").claim()).view.state == "state"


def test_a_process_that_started_again_with_its_data_is_no_second_vote(bench):
    async def writes():
        owner = register(bench, "owner")
        await owner.claim()
        await owner.write("before")
        await dies(bench, "c", Restart.KEEP)
        await bench.cluster.zones["b"].kill()
        with pytest.raises(COMMAND_FAILURES):
            await owner.write("after")

    bench.run(writes())


def test_a_partition_is_not_begun_with_a_process_that_started_again_between_the_two_looks(bench):
    wires = bench.wires("a", "session")
    again = Interceptor(wires.zones["b"], "HMGET", lambda: dies(bench, "b", Restart.WIPE), nth=2)
    admission = replace(wires, zones={**wires.zones, "b": again}).store(lease_ms=1_000, margin_ms=0).admission
    assert bench.run(admission.look(bench.partitions[0])) is None
    assert bench.run(admission.look(bench.partitions[0])).startswith("1-")
