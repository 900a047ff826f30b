"""Goal: each part that an engine offers beside the contract does what ``engine/queue.py`` says, an id that is there is
refused where ids are unique and nowhere else, and docs/engines.md says who offers what.

Method: instances of each engine and mode that is popped, as its adapter makes them, on one simulated zone.
"""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from support.scenarios.sim_runs import small

from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.engine.message import Message
from zonelab.engine.ports import ServerError
from zonelab.engine.queue import (
    OPTIONAL,
    PeekableQueue,
    ReleasableQueue,
    RemovableQueue,
    SearchableQueue,
    SizedQueue,
    offered,
)
from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.queues.under_test import RunsServices
from zonelab.scenarios.spec.engines import ENGINES

POPPED = [(name, mode) for name, it in ENGINES.items() for mode, one in it.modes.items() if not one.features.groups]
PAGE = Path(__file__).parents[4] / "docs" / "engines.md"


def played(engine, mode, course):
    """What ``course`` gives, told an instance that pops, one with all that it offers, and a way to let time pass."""
    chosen = {"compat": True} if mode == "compat" else {"mode": mode}
    scenario = small(topology={"zones": ["a"]}, queue={"engine": engine, "unack_ms": 3_000, **chosen})
    cluster = SimCluster(["a"], SimSettings(seed=1))

    async def program():
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(cluster)
            under_test = queue_under_test(cluster, scenario)
            if isinstance(under_test, RunsServices):
                for name, zone in scenario.services:
                    service = await under_test.service(name, zone, lambda connection: connection)
                    await stack.enter_async_context(service)
            made = [
                await make("a", lambda connection: connection) for make in (under_test.consumer, under_test.producer)
            ]
            for queue in made:
                stack.push_async_callback(queue.close)
            return await course(*made, lambda ms: cluster.runtime.sleep(ms * 1_000_000))

    return cluster.runtime.run_until_complete(program())


every_popped = pytest.mark.parametrize(("engine", "mode"), POPPED)


@every_popped
def test_an_id_that_is_there_is_refused_where_ids_are_unique(engine, mode):
    async def course(_, queue, pause):
        await queue.push([Message(id="x", payload="p", timeout_ms=60_000)])
        await pause(100)
        try:
            return len(await queue.push([Message(id="x", payload="p", timeout_ms=60_000)]))
        except ServerError:
            return 0

    assert played(engine, mode, course) == (0 if ENGINES[engine].modes[mode].features.unique_ids else 1)


@every_popped
def test_what_is_offered_beside_the_contract_does_what_it_says(engine, mode):
    async def course(popping, queue, pause):
        if isinstance(queue, SizedQueue):
            assert await queue.size() == 0
        await queue.push([Message(id="x", payload="p"), Message(id="y", payload="q", timeout_ms=60_000)])
        await pause(1_200)
        if isinstance(queue, SizedQueue):
            assert await queue.size() == 2
        if isinstance(queue, PeekableQueue):
            assert [(one.id, one.payload) for one in await queue.peek(5)] == [("x", "p")]
        if isinstance(queue, SearchableQueue):
            got = [await queue.get(name) for name in ("y", "unknown")]
            assert (got[0].id, got[0].payload, got[1]) == ("y", "q", None)
        if isinstance(queue, ReleasableQueue):
            (delivery,) = await popping.pop(1, wait_ms=100)
            await queue.give_back(delivery)
        (delivery,) = await popping.pop(1, wait_ms=100)
        assert delivery.message.id == "x"
        if isinstance(queue, RemovableQueue):
            removed = [await queue.remove(name) for name in ("y", "unknown")]
            assert removed == [True, mode == "compat" and engine == "youzan"]  # which always says so
            assert not isinstance(queue, SearchableQueue) or await queue.get("y") is None
        return offered(queue)

    assert list(played(engine, mode, course)) == told_by_the_page()[engine, mode]


def test_the_page_has_every_engine_with_what_it_promises():
    heading = "| engine | what it is | modes | leases | priorities | unique ids | counts in | page |\n"
    told = {name.strip("`"): promised for name, _, _, *promised, _, _ in table_of_the_page(heading)}
    features = {name: next(iter(one.modes.values())).features for name, one in ENGINES.items()}
    assert told == {
        name: ["yes" if has else "no" for has in (it.leases, it.priorities, it.unique_ids)]
        for name, it in features.items()
    }


def table_of_the_page(heading):
    table = PAGE.read_text(encoding="utf-8").split(heading)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


def told_by_the_page():
    """What docs/engines.md says that each engine offers, by engine and mode."""
    told = {}
    for cells in table_of_the_page("| engine | modes | offers |\n"):
        for mode in cells[1].split(", "):
            told[cells[0].strip("`"), mode] = [part for part in OPTIONAL if part in cells[2].split(", ")]
    return told
