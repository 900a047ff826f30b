"""Goal: commands reach the owners of their keys in every data centre, and what they are told follows the level.

Method: simulated clusters of several nodes a zone and several data centres, whose servers are read one by one.
"""

from types import SimpleNamespace

import pytest
from support.cluster.racks import even_rack
from support.cluster.sim_lab import simulated

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.failures import NO_QUORUM, PEER_NOT_CONNECTED, PEER_REFUSED
from zonelab.cluster.coordinators.remote import RemoteCoordinator
from zonelab.cluster.coordinators.token_ring import KEYS_APART
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.topology.topology import DataCentre, Topology
from zonelab.cluster.votes.levels import Level, Levels
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

ONE, QUORUM, SAFE, EACH = Level
MS = 1_000_000
DC1, DC2 = ("a", "b", "c"), ("d", "e", "f")
TWO_DCS = Topology(
    (
        DataCentre("dc1", tuple(even_rack(name, 1) for name in DC1)),
        DataCentre("dc2", tuple(even_rack(name, 1) for name in DC2)),
    )
)
SHARED = Topology((DataCentre("dc1", (even_rack("a", 3), even_rack("b", 3), even_rack("c", 2))),), hash_tag="{}")
KEYS = [f"key:{number}" for number in range(40)]


async def at(cluster, nodes, *command):
    """The reply of every server by itself."""
    return [(await cluster.direct(node).execute(command))[0] for node in nodes]


async def plant(cluster, key, values):
    for node, value in values.items():
        await cluster.direct(node).execute(("SET", key, value))


async def outcome(cluster, node, level, *commands):
    try:
        return await cluster.connection(node, level).execute(*commands)
    except (Indeterminate, Unavailable) as error:
        return type(error), str(error)


def owners(topology, key):
    return topology.dcs[0].owners(topology.token(key.encode()))


@simulated(topology=SHARED, lag=ConstantLag(5))
async def test_a_command_for_every_node_stays_where_it_is_in_its_pipeline(cluster):
    before, after = [("SET", key, "old") for key in KEYS[:20]], [("SET", key, "new") for key in KEYS[10:30]]
    await cluster.connection("b", QUORUM).execute(*before, ("FLUSHALL",), *after)
    await cluster.runtime.sleep(1_000 * MS)
    held = {node: await at(cluster, [node], "KEYS", "*") for node in SHARED.nodes}
    for rack in SHARED.racks:
        found = sorted(key.decode() for node in rack.nodes for key in held[node.name][0])
        assert found == sorted(KEYS[10:30]), rack.name


class TestNodesOfAZone:
    @pytest.mark.parametrize("level", list(Level))
    @simulated(topology=SHARED)
    async def test_a_key_is_held_by_its_owner_in_every_zone_and_by_nobody_else(self, cluster, level):
        for key in KEYS:
            assert await cluster.connection("a2", level).execute(("SET", key, "v")) == [b"OK"]
        await cluster.runtime.sleep(100 * MS)
        held = {node: await at(cluster, [node], "KEYS", "*") for node in SHARED.nodes}
        for node in SHARED.nodes:
            expected = sorted(key.encode() for key in KEYS if node in owners(SHARED, key))
            assert expected, node
            assert sorted(held[node][0]) == expected

    @simulated(topology=SHARED)
    async def test_one_part_that_fails_makes_the_whole_an_error_and_the_rest_stays(self, cluster):
        dead = owners(SHARED, KEYS[0])
        for node in dead[:2]:
            await cluster.zones[node].kill()
        await cluster.runtime.sleep(100 * MS)
        pairs = [word for key in KEYS for word in (key, "v")]
        node = next(name for name in SHARED.nodes if name not in dead)
        told = await outcome(cluster, node, QUORUM, ("MSET", *pairs))
        kept = [key for key in KEYS if not set(owners(SHARED, key)) & set(dead[:2])]
        values = [await outcome(cluster, node, QUORUM, ("GET", key)) for key in kept]
        assert told == (Indeterminate, "ERR Storage: Datastore refused connection")
        assert values == [[b"v"]] * len(kept) != []

    @simulated(topology=SHARED)
    async def test_scripts_whose_keys_are_apart_are_refused_and_those_with_a_tag_are_not(self, cluster):
        script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('SET', KEYS[2], ARGV[1])"
        apart = next(key for key in KEYS if owners(SHARED, key) != owners(SHARED, KEYS[0]))
        connection = cluster.connection("a", QUORUM)
        refused = await connection.execute(("EVAL", script, 2, KEYS[0], apart, "v"))
        assert refused + await connection.execute(("EVAL", script, 2, "{x}:1", "{x}:2", "v"), ("GET", "{x}:2")) == [
            ServerError(KEYS_APART),
            b"OK",
            b"v",
        ]

    @simulated(topology=SHARED)
    async def test_other_commands_of_several_keys_go_to_the_owner_of_the_first(self, cluster):
        source = KEYS[0]
        target = next(key for key in KEYS if owners(SHARED, key)[0] != owners(SHARED, source)[0])
        connection = cluster.connection("a", QUORUM)
        await connection.execute(("SADD", source, "m"))
        moved = await connection.execute(("SMOVE", source, target, "m"))
        assert moved == [1]
        assert await connection.execute(("SMEMBERS", target)) == [[]]
        assert await at(cluster, owners(SHARED, source), "SMEMBERS", target) == [[b"m"]] * 3

    @simulated(topology=SHARED)
    async def test_commands_without_a_key_are_answered_by_the_node_that_is_asked(self, cluster):
        await cluster.connection("a", QUORUM).execute(*[("SET", key, "v") for key in KEYS])
        sizes = {
            node: (await cluster.connection(node, QUORUM).execute(("DBSIZE",)), await at(cluster, [node], "DBSIZE"))
            for node in SHARED.nodes
        }
        assert all(through == direct for through, direct in sizes.values())
        assert len({through[0] for through, _ in sizes.values()}) > 1

    @simulated(topology=SHARED)
    async def test_scripts_are_loaded_at_every_node(self, cluster):
        (sha,) = await cluster.connection("b2", ONE).execute(("SCRIPT", "LOAD", "return 7"))
        await cluster.runtime.sleep(100 * MS)
        assert await at(cluster, SHARED.nodes, "EVALSHA", sha, 0) == [7] * len(SHARED.nodes)

    @simulated(topology=SHARED)
    async def test_dc_one_is_the_answer_of_the_owner_in_the_own_zone(self, cluster):
        key = next(key for key in KEYS if owners(SHARED, key)[0] != "a")
        await plant(cluster, key, dict(zip(DC1, "xyz", strict=True)))
        assert [await outcome(cluster, node, ONE, ("GET", key)) for node in DC1] == [[b"x"], [b"y"], [b"z"]]

    @simulated(topology=SHARED)
    async def test_a_zone_is_read_straight_from_all_its_servers_and_a_server_alone_has_a_part(self, cluster):
        await cluster.connection("a", QUORUM).execute(*[("SET", key, key) for key in KEYS])
        reads = [("GET", key) for key in KEYS]
        whole = [await cluster.direct(zone).execute(*reads) for zone in DC1]
        part = await cluster.direct("a2").execute(*reads)
        assert whole == [[key.encode() for key in KEYS]] * 3
        assert 0 < part.count(None) < len(KEYS)

    def test_a_topology_of_other_nodes_than_the_servers_is_refused(self):
        with pytest.raises(ClusterError, match="are not the topology's nodes"):
            SimCluster(["a", "b"], SimSettings(seed=1, topology=SHARED))


class TestTwoDataCentres:
    @pytest.mark.parametrize("level", [ONE, QUORUM, SAFE])
    @simulated(topology=TWO_DCS)
    async def test_every_zone_of_the_other_data_centre_gets_every_write_once(self, cluster, level):
        answer = await outcome(cluster, "a", level, ("INCR", "n"), ("RPUSH", "l", "x"))
        await cluster.runtime.sleep(100 * MS)
        assert answer == [1, 1]
        assert await at(cluster, TWO_DCS.nodes, "GET", "n") == [b"1"] * 6
        assert await at(cluster, DC2, "LLEN", "l") == [1, 1, 1]

    @simulated(topology=TWO_DCS)
    async def test_at_each_every_zone_of_every_data_centre_gets_a_write_once_unlike_in_dynomite(self, cluster):
        """Dynomite's remote zones pass it on again and apply it as often as there are zones."""
        answer = await outcome(cluster, "a", EACH, ("INCR", "n"))
        assert (answer, await at(cluster, TWO_DCS.nodes, "GET", "n")) == ([1], [b"1"] * 6)

    @pytest.mark.parametrize("level", [ONE, QUORUM, SAFE, EACH])
    @simulated(topology=TWO_DCS)
    async def test_each_data_centre_answers_reads_from_its_own_zones_and_compares_with_no_other(self, cluster, level):
        await plant(cluster, "k", dict(zip(TWO_DCS.nodes, "AAABBB", strict=True)))
        assert [await outcome(cluster, node, level, ("GET", "k")) for node in ("a", "d")] == [[b"A"], [b"B"]]

    @pytest.mark.parametrize("level", [ONE, QUORUM, SAFE])
    @simulated(topology=TWO_DCS)
    async def test_failures_of_the_other_data_centre_are_invisible_to_the_writer(self, cluster, level):
        for node in DC2:
            await cluster.zones[node].kill()
        assert await outcome(cluster, "a", level, ("SET", "k", "v"), ("GET", "k")) == [b"OK", b"v"]

    @simulated(topology=TWO_DCS)
    async def test_at_each_a_data_centre_without_quorum_is_an_error_and_does_not_hang(self, cluster):
        for node in DC2[:2]:
            await cluster.zones[node].kill()
        await cluster.runtime.sleep(100 * MS)
        down = await outcome(cluster, "a", EACH, ("SET", "k", "v"))
        for one in DC1:
            for other in DC2:
                cluster.links[one, other].cut(Cut.DROP)
        apart, kept = await outcome(cluster, "a", EACH, ("GET", "k")), await at(cluster, DC1, "GET", "k")
        assert down == (Indeterminate, "ERR Storage: Datastore refused connection")
        assert apart == (Unavailable, PEER_NOT_CONNECTED)
        assert kept == [b"v"] * 3

    @simulated(topology=TWO_DCS)
    async def test_at_each_a_data_centre_that_does_not_agree_is_an_error(self, cluster):
        await plant(cluster, "k", dict(zip(TWO_DCS.nodes, "AAABCD", strict=True)))
        each, own, far, far_own = [
            await outcome(cluster, node, level, ("GET", "k")) for node in "ad" for level in (EACH, QUORUM)
        ]
        assert each == far == (Unavailable, NO_QUORUM)
        assert own == [b"A"]
        assert far_own[0] in (b"B", b"C", b"D")

    @simulated(
        topology=TWO_DCS,
        lags={(one, other): ConstantLag(50) for dcs in (DC1 + DC2, DC2 + DC1) for one in dcs[:3] for other in dcs[3:]},
    )
    async def test_what_other_data_centres_hold_is_stale_by_the_lag_between_them_and_at_each_it_is_not(self, cluster):
        seen = []
        for level in (QUORUM, EACH):
            begin = cluster.runtime.now_ns()
            await cluster.connection("a", level).execute(("SET", "k", level))
            took_ms = (cluster.runtime.now_ns() - begin) // MS
            at_once = await outcome(cluster, "d", QUORUM, ("GET", "k"))
            await cluster.runtime.sleep(60 * MS)
            seen.append((took_ms, at_once, await outcome(cluster, "d", QUORUM, ("GET", "k"))))
        (quorum_ms, before, after), (each_ms, at_once, _) = seen
        assert quorum_ms < 5
        assert (before, after) == ([None], [b"DC_QUORUM"])
        assert each_ms >= 100
        assert at_once == [b"DC_EACH_SAFE_QUORUM"]

    @simulated(topology=TWO_DCS, lag=ConstantLag(1))
    async def test_the_zone_chosen_beforehand_follows_the_order_of_names_and_another_takes_its_place(self, cluster):
        first = cluster.coordinators["b"].statistics
        await outcome(cluster, "b", QUORUM, ("INCR", "n"))
        sent = {far: cluster.links["b", far].sent for far in DC2}
        await cluster.runtime.sleep(100 * MS)
        cluster.coordinators["e"].crash()
        await outcome(cluster, "b", QUORUM, ("INCR", "n"))
        await cluster.runtime.sleep(100 * MS)
        count, failed_over, values = first.remote_sent, first.remote_failed_over, await at(cluster, DC2, "GET", "n")
        assert sent == {"d": 0, "e": 1, "f": 0}
        assert (count, failed_over) == (2, 1)
        assert values == [b"2"] * 3

    @simulated(topology=TWO_DCS)
    async def test_a_write_is_dropped_for_a_data_centre_of_which_no_zone_can_be_reached(self, cluster):
        for far in DC2:
            cluster.links["a", far].cut(Cut.DROP)
        told = await outcome(cluster, "a", SAFE, ("SET", "k", "v"))
        dropped = cluster.coordinators["a"].statistics.remote_dropped
        for far in DC2:
            cluster.links["a", far].mend()
        await cluster.runtime.sleep(30_000 * MS)
        assert (told, dropped, await at(cluster, DC2, "GET", "k")) == ([b"OK"], 1, [None] * 3)

    @simulated(topology=TWO_DCS, lag=ConstantLag(5))
    async def test_writes_in_both_data_centres_at_once_leave_them_different(self, cluster):
        writes = [
            cluster.runtime.spawn(cluster.connection(node, SAFE).execute(("SET", "k", node)), name=node)
            for node in ("a", "d")
        ]
        told = [await write.join() for write in writes]
        await cluster.runtime.sleep(1000 * MS)
        values = await at(cluster, TWO_DCS.nodes, "GET", "k")
        assert told == [[b"OK"], [b"OK"]]
        assert values == [b"d"] * 3 + [b"a"] * 3


class TestReadAndWriteLevels:
    @simulated(topology=TWO_DCS)
    async def test_a_connection_may_read_at_another_level_than_it_writes(self, cluster):
        await plant(cluster, "k", {"a": "A", "b": "B", "c": "B", "d": "B", "e": "B", "f": "B"})
        one_read = Levels(read=ONE, write=SAFE)
        quorum_read = Levels(read=QUORUM, write=ONE)
        reads = [await outcome(cluster, "a", setting, ("GET", "k")) for setting in (one_read, quorum_read)]
        for node in ("b", "c"):
            await cluster.zones[node].kill()
        await cluster.runtime.sleep(100 * MS)
        writes = [await outcome(cluster, "a", setting, ("SET", "k", "v")) for setting in (one_read, quorum_read)]
        counted = cluster.coordinators["a"].statistics.as_dict()["levels"]
        assert reads == [[b"A"], [b"B"]]
        assert writes == [(Indeterminate, "ERR Storage: Datastore refused connection"), [b"OK"]]
        assert counted["DC_ONE/DC_SAFE_QUORUM"]["commands"] >= 1

    @simulated(topology=Topology(TWO_DCS.dcs[:1]))
    async def test_so_may_one_of_a_single_data_centre(self, cluster):
        await plant(cluster, "k", {"a": "A", "b": "B", "c": "B"})
        settings = (Levels(read=ONE, write=SAFE), Levels(read=SAFE, write=ONE))
        assert [await outcome(cluster, "a", setting, ("GET", "k")) for setting in settings] == [[b"A"], [b"B"]]

    @simulated(topology=TWO_DCS)
    async def test_a_mixed_pipeline_of_both_is_answered_command_by_command(self, cluster):
        pipeline = ("SET", "k", 1), ("GET", "k"), ("HGETALL", "h")
        assert await outcome(cluster, "a", Levels(read=ONE, write=QUORUM), *pipeline) == [b"OK", b"1", []]


class TestAFreshCoordinator:
    @simulated(topology=SHARED)
    async def test_a_crash_takes_every_connection_and_another_coordinator_serves_again(self, cluster):
        coordinator = cluster.coordinators["a2"]
        coordinator.crash()
        refused = await outcome(cluster, "a2", QUORUM, ("SET", "k", "v"))
        coordinator.restart()
        await cluster.runtime.sleep(2_000 * MS)
        assert refused == (Unavailable, "coordinator: connection refused")
        assert coordinator.connected
        assert await outcome(cluster, "a2", QUORUM, ("SET", "k", "v")) == [b"OK"]


def test_a_coordinator_of_another_data_centre_is_reached_once_it_is_there_and_while_it_runs():
    there = {}
    far = RemoteCoordinator("x", there, runtime=SimRuntime(seed=1))
    assert not far.connected
    there["x"] = SimpleNamespace(running=True)
    assert far.connected
    there["x"].running = False
    assert not far.connected
    answers = []
    far.submit(Batch([("SET", "k", "v")], writes=True), answers.append)
    assert [(str(answer), answer.maybe_applied) for answer in answers] == [(PEER_REFUSED, False)]
    assert far.in_flight == 0
