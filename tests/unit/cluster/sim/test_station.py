"""Goal: coordinators and programs that take time lose and reorder only what they may. Method: small clusters."""

from support.scenarios.sim_runs import run_in_memory, small

from zonelab.cluster.links.lag import ConstantLag, uniform
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.station import StationSettings
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import Indeterminate, PortError
from zonelab.scenarios.fault_draws.swarm import drawn

MS = 1_000_000


def cluster_of(*zones: str, service, capacity: int = 1) -> SimCluster:
    settings = StationSettings(service=service, capacity=capacity)
    return SimCluster(zones, SimSettings(seed=1, coordinator=settings))


def test_commands_of_one_connection_stay_in_order_however_many_are_worked_on_at_once():
    cluster = cluster_of("a", service=uniform(0.1, 3), capacity=4)
    found = []

    async def whole():
        async with cluster:
            for number in range(40):
                cluster.coordinators["a"].submit(Level.DC_ONE, [("RPUSH", "k", str(number))], found.append)
            await cluster.runtime.sleep(1_000 * MS)
            return await cluster.direct("a").execute(("LRANGE", "k", 0, -1))

    [listed] = cluster.runtime.run_until_complete(whole())
    assert found == [[length] for length in range(1, 41)]
    assert listed == [str(number).encode() for number in range(40)]


def test_other_zones_wait_for_the_coordinator_of_a_server_and_the_lab_itself_does_not():
    cluster = cluster_of("a", "b", service=ConstantLag(1))

    async def whole():
        async with cluster:
            took_ns = []
            for connection in (cluster.connection("a", Level.DC_QUORUM), cluster.direct("a")):
                begin_ns = cluster.runtime.now_ns()
                await connection.execute(("SET", "k", "v"), ("GET", "k"))
                took_ns.append(cluster.runtime.now_ns() - begin_ns)
            return took_ns

    through, direct = cluster.runtime.run_until_complete(whole())
    assert through - direct == 2 * MS


def test_what_waits_for_a_coordinator_that_dies_is_not_carried_out_and_the_next_one_begins_anew():
    cluster = cluster_of("a", service=ConstantLag(10))
    ends = []

    async def push(value: str):
        try:
            ends.append(await cluster.connection("a", Level.DC_ONE).execute(("RPUSH", "k", value)))
        except PortError as error:
            ends.append(type(error))

    async def whole():
        runtime = cluster.runtime
        async with cluster:
            for value in ("first", "second", "third"):
                runtime.spawn(push(value), name=value)
                await runtime.sleep(1)
            await runtime.sleep(15 * MS)
            cluster.coordinators["a"].crash()
            cluster.coordinators["a"].restart()
            await runtime.sleep(60_000 * MS)
            begin_ns = runtime.now_ns()
            await push("after")
            assert runtime.now_ns() - begin_ns < 11 * MS
            return await cluster.direct("a").execute(("LRANGE", "k", 0, -1))

    [listed] = cluster.runtime.run_until_complete(whole())
    assert ends == [[1], Indeterminate, Indeterminate, [2]]
    assert listed == [b"first", b"after"]


def test_a_scenario_says_who_takes_time_and_hunts_keep_it():
    service = {"server": "1ms", "coordinator": "0.5ms", "program": {"time": "0.1ms", "capacity": 2}}
    scenario = small(simulation={"service": service}, clients={"failover": True, "retries": 1})
    done, _, verdict = run_in_memory(scenario)
    assert done.record.status == "complete"
    assert verdict.valid is True
    assert small(simulation={"service": "1ms"}) == small(simulation={"service": {"server": "1ms"}})
    assert drawn(scenario, seed=3, messages=10).simulation.service == scenario.simulation.service
