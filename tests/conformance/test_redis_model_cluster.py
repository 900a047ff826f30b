"""Goal: the engine does the same on simulated and on real zones. Method: equal programs on both testbeds, no faults.

A sequential program of drawn operations of V1, scripts among them, must get equal answers and leave equal contents in
every zone, in both modes; a concurrent load must end in the same state.
"""

import random

import pytest
from support.cluster.servers import started_lab
from support.engine.dyno import SHARDS, SettableClock, content, fresh_name, make_queue
from support.engine.sim_dyno import Load, nothing_left, run_load, served

from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.votes.levels import Level
from zonelab.engine.message import Message

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


async def operations(testbed, *, seed, level, name, compat):
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
            compat=compat,
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
    match draw.randrange(12):
        case 0 | 1:
            messages = [
                Message(
                    id=identity, payload=f"p{step}", timeout_ms=draw.choice([0, 0, 40]), priority=draw.randrange(100)
                )
                for identity in draw.sample(ids, 2)
            ]
            return await queue.push(messages)
        case 2:
            pop = draw.choice([queue.pop, queue.bulk_pop, queue.unsafe_pop_all_shards, queue.unsafe_bulk_pop])
            return told(await pop(draw.randrange(1, 4)))
        case 3:
            pop = draw.choice([queue.pop_with_id, queue.unsafe_pop_with_id_all_shards])
            return told([await pop(draw.choice(ids))])
        case 4:
            return told([await queue.pop_msg_with_predicate(f'"payload":"p{draw.randrange(step + 1)}"')])
        case 5 | 6:
            return await queue.ack(draw.choice(ids))
        case 7:
            return await draw.choice([queue.process_unacks, queue.atomic_process_unacks])()
        case 8:
            return await queue.ensure(Message(id=draw.choice(ids)))
        case 9:
            return [message.id for message in [*await queue.unsafe_peek_all_shards(3), *await queue.peek(3)]]
        case 10:
            return await queue.set_timeout(draw.choice(ids), timeout_ms=draw.randrange(40))
        case _:
            return await draw.choice([queue.remove, queue.atomic_remove])(draw.choice(ids))


def told(deliveries):
    return [one and (one.message.id, one.shard, one.message.payload, one.lease_end_ms) for one in deliveries]


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
    program = {"seed": seed, "level": level, "name": fresh_name(), "compat": seed % 2 == 1}
    simulated = on_sim(lambda testbed: operations(testbed, **program))
    assert real.run(operations(real.cluster, **program)) == simulated
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
