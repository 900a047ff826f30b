"""Goal: the engine does the same on simulated and on real zones. Method: equal programs on both testbeds, no faults.

A sequential program of drawn operations must get equal answers and leave equal contents in every zone; a concurrent
load must end in the same state.
"""

import random

import pytest
from support.cluster.servers import started_lab
from support.engine.dyno import SHARDS, SettableClock, content, fresh_name, make_queue
from support.engine.sim_dyno import Load, nothing_left, run_load, served

from cluster.sim.cluster import SimCluster, SimSettings
from cluster.votes.levels import Level
from engine.message import Message

pytestmark = pytest.mark.real

STEPS = 60
MS = 1_000_000


@pytest.fixture(scope="module")
def real():
    with started_lab(*SHARDS) as lab:
        yield lab


def on_sim(program):
    made = SimCluster(SHARDS, SimSettings(seed=1))

    async def whole():
        async with made:
            return await program(made)

    return made.runtime.run_until_complete(whole())


async def operations(testbed, *, seed, level, name):
    """Drawn operations of queues in every zone, one by one: every answer, and what the zones hold at the end."""
    draw, clock = random.Random(seed), SettableClock()
    queues = {
        zone: make_queue(
            testbed.connection(zone, level),
            local=testbed.connection(zone, Level.DC_ONE),
            runtime=testbed.runtime,
            clock=clock,
            name=name,
            shard=zone,
            unack_ms=50,
        )
        for zone in SHARDS
    }
    answers = []
    for step in range(STEPS):
        queue = queues[draw.choice(SHARDS)]
        answers.append(await operation(queue, draw, step))
        clock.advance(draw.randrange(30))
        await at_rest(testbed, queue)
    return answers, await at_rest(testbed, queue)


async def operation(queue, draw, step):
    ids = [str(number) for number in range(12)]
    match draw.randrange(6):
        case 0 | 1:
            messages = [
                Message(
                    id=identity, payload=f"p{step}", timeout_ms=draw.choice([0, 0, 40]), priority=draw.randrange(100)
                )
                for identity in draw.sample(ids, 2)
            ]
            return await queue.push(messages)
        case 2:
            deliveries = await queue.pop(draw.randrange(1, 4))
            return [(one.message.id, one.message.payload, one.lease_end_ms) for one in deliveries]
        case 3:
            return await queue.ack(draw.choice(ids))
        case 4:
            return await queue.process_unacks()
        case _:
            return await queue.remove(draw.choice(ids))


async def at_rest(testbed, queue):
    """The contents of every zone, once all are equal."""
    for _ in range(1000):
        contents = [await content(testbed.direct(zone), queue.keys) for zone in SHARDS]
        if contents.count(contents[0]) == len(contents):
            return contents[0]
        await testbed.runtime.sleep(10 * MS)
    raise AssertionError(f"zones differ: {contents}")


@pytest.mark.parametrize("level", tuple(Level))
@pytest.mark.parametrize("seed", range(4))
def test_equal_operations_get_equal_answers_and_leave_equal_contents(real, level, seed):
    name = fresh_name()
    simulated = on_sim(lambda testbed: operations(testbed, seed=seed, level=level, name=name))
    assert real.run(operations(real.cluster, seed=seed, level=level, name=name)) == simulated
    assert any(simulated[0]), "no operation did anything"


@pytest.mark.parametrize("level", tuple(Level))
def test_a_concurrent_load_ends_in_the_same_state(real, level):
    load = Load(level=level, messages_per_zone=300, consumers_per_zone=3, timeout_ms=5)
    simulated = on_sim(lambda testbed: run_load(testbed, load))
    measured = real.run(run_load(real.cluster, load))
    for result in (simulated, measured):
        assert sorted(result.delivered) == sorted(result.pushed)
        assert served(result.contents)
        assert result.early_ms <= 1
    assert sorted(simulated.pushed) == sorted(measured.pushed)
    assert nothing_left(simulated.contents)
