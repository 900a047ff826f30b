"""Goal: commands reach the owners of their keys in every data centre, and what they are told follows the level.

Method: simulated clusters of several nodes a zone and several data centres, whose servers are read one by one.
"""

import pytest
from support.cluster.racks import even_rack

from cluster.connections.failures import NO_QUORUM, PEER_NOT_CONNECTED
from cluster.coordinators.token_ring import KEYS_APART
from cluster.links.lag import Constant
from cluster.links.link import Cut
from cluster.sim.cluster import SimCluster, SimSettings
from cluster.topology.topology import DataCentre, Topology
from cluster.votes.levels import Level, Levels
from cluster.zone import ClusterError, Restart
from engine.ports import Indeterminate, ServerError, Unavailable

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


def play(topology, program, **settings):
    """What ``program(cluster)`` returns, on a simulated cluster of ``topology``."""
    cluster = SimCluster(topology.nodes, SimSettings(seed=1, topology=topology, **settings))

    async def whole():
        async with cluster:
            return await program(cluster)

    return cluster.runtime.run_until_complete(whole())


async def at(cluster, nodes, *command):
    """The reply of every server by itself."""
    return [(await cluster.network.one_server(node).execute(command))[0] for node in nodes]


async def plant(cluster, key, values):
    for node, value in values.items():
        await cluster.network.one_server(node).execute(("SET", key, value))


async def outcome(cluster, node, level, *commands):
    try:
        return await cluster.connection(node, level).execute(*commands)
    except (Indeterminate, Unavailable) as error:
        return type(error), str(error)


def owners(topology, key):
    return topology.dcs[0].owners(topology.token(key.encode()))


def test_a_command_for_every_node_stays_where_it_is_in_its_pipeline():
    async def program(cluster):
        before, after = [("SET", key, "old") for key in KEYS[:20]], [("SET", key, "new") for key in KEYS[10:30]]
        await cluster.connection("b", QUORUM).execute(*before, ("FLUSHALL",), *after)
        await cluster.runtime.sleep(1_000 * MS)
        held = {node: await at(cluster, [node], "KEYS", "*") for node in SHARED.nodes}
        for rack in SHARED.racks:
            found = sorted(key.decode() for node in rack.nodes for key in held[node.name][0])
            assert found == sorted(KEYS[10:30]), rack.name

    play(SHARED, program, lag=Constant(5))


class TestNodesOfAZone:
    @pytest.mark.parametrize("level", list(Level))
    def test_a_key_is_held_by_its_owner_in_every_zone_and_by_nobody_else(self, level):
        async def program(cluster):
            for key in KEYS:
                assert await cluster.connection("a2", level).execute(("SET", key, "v")) == [b"OK"]
            await cluster.runtime.sleep(100 * MS)
            return {node: await at(cluster, [node], "KEYS", "*") for node in SHARED.nodes}

        held = play(SHARED, program)
        for node in SHARED.nodes:
            expected = sorted(key.encode() for key in KEYS if node in owners(SHARED, key))
            assert expected, node
            assert sorted(held[node][0]) == expected

    def test_keys_of_a_pipeline_are_answered_in_its_order(self):
        async def program(cluster):
            connection = cluster.connection("b", QUORUM)
            await connection.execute(*[("SET", key, key) for key in KEYS])
            return await connection.execute(*[("GET", key) for key in reversed(KEYS)], ("HGETALL", "none"))

        assert play(SHARED, program) == [*(key.encode() for key in reversed(KEYS)), []]

    @pytest.mark.parametrize("level", [ONE, QUORUM, SAFE])
    def test_commands_of_many_keys_are_taken_apart_and_joined(self, level):
        async def program(cluster):
            connection = cluster.connection("a", level)
            pairs = [word for key in KEYS for word in (key, f"value of {key}")]
            written = await connection.execute(("MSET", *pairs))
            await cluster.runtime.sleep(100 * MS)
            asked = ("MGET", KEYS[5], "absent", *KEYS, KEYS[5])
            return written + await connection.execute(
                asked, ("EXISTS", *KEYS, KEYS[0], "absent"), ("DEL", *KEYS[:30]), ("EXISTS", *KEYS)
            )

        values = [f"value of {key}".encode() for key in KEYS]
        expected = [b"OK", [values[5], None, *values, values[5]], 41, 30, 10]
        assert play(SHARED, program) == expected

    def test_one_part_that_fails_makes_the_whole_an_error_and_the_rest_stays(self):
        async def program(cluster):
            dead = owners(SHARED, KEYS[0])
            for node in dead[:2]:
                await cluster.zones[node].kill()
            await cluster.runtime.sleep(100 * MS)
            pairs = [word for key in KEYS for word in (key, "v")]
            node = next(name for name in SHARED.nodes if name not in dead)
            told = await outcome(cluster, node, QUORUM, ("MSET", *pairs))
            kept = [key for key in KEYS if not set(owners(SHARED, key)) & set(dead[:2])]
            values = [await outcome(cluster, node, QUORUM, ("GET", key)) for key in kept]
            return told, values

        (kind, text), values = play(SHARED, program)
        assert kind is Indeterminate
        assert text == "ERR Storage: Datastore refused connection"
        assert values
        assert values == [[b"v"]] * len(values)

    def test_scripts_whose_keys_are_apart_are_refused_and_those_with_a_tag_are_not(self):
        script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('SET', KEYS[2], ARGV[1])"
        apart = next(key for key in KEYS if owners(SHARED, key) != owners(SHARED, KEYS[0]))

        async def program(cluster):
            connection = cluster.connection("a", QUORUM)
            refused = await connection.execute(("EVAL", script, 2, KEYS[0], apart, "v"))
            return refused + await connection.execute(("EVAL", script, 2, "{x}:1", "{x}:2", "v"), ("GET", "{x}:2"))

        assert play(SHARED, program) == [ServerError(KEYS_APART), b"OK", b"v"]

    def test_other_commands_of_several_keys_go_to_the_owner_of_the_first(self):
        source = KEYS[0]
        target = next(key for key in KEYS if owners(SHARED, key)[0] != owners(SHARED, source)[0])

        async def program(cluster):
            connection = cluster.connection("a", QUORUM)
            await connection.execute(("SADD", source, "m"))
            moved = await connection.execute(("SMOVE", source, target, "m"))
            return (
                moved,
                await connection.execute(("SMEMBERS", target)),
                await at(cluster, owners(SHARED, source), "SMEMBERS", target),
            )

        moved, seen, at_first = play(SHARED, program)
        assert moved == [1]
        assert seen == [[]]
        assert at_first == [[b"m"]] * 3

    def test_commands_without_a_key_are_answered_by_the_node_that_is_asked(self):
        async def program(cluster):
            await cluster.connection("a", QUORUM).execute(*[("SET", key, "v") for key in KEYS])
            return {
                node: (await cluster.connection(node, QUORUM).execute(("DBSIZE",)), await at(cluster, [node], "DBSIZE"))
                for node in SHARED.nodes
            }

        sizes = play(SHARED, program)
        assert all(through == direct for through, direct in sizes.values())
        assert len({through[0] for through, _ in sizes.values()}) > 1

    def test_scripts_are_loaded_at_every_node(self):
        async def program(cluster):
            (sha,) = await cluster.connection("b2", ONE).execute(("SCRIPT", "LOAD", "return 7"))
            await cluster.runtime.sleep(100 * MS)
            return await at(cluster, SHARED.nodes, "EVALSHA", sha, 0)

        assert play(SHARED, program) == [7] * len(SHARED.nodes)

    def test_dc_one_is_the_answer_of_the_owner_in_the_own_zone(self):
        async def program(cluster):
            key = next(key for key in KEYS if owners(SHARED, key)[0] != "a")
            await plant(cluster, key, dict(zip(owners(SHARED, key), "xyz", strict=True)))
            return [await outcome(cluster, node, ONE, ("GET", key)) for node in ("a", "b", "c")]

        assert play(SHARED, program) == [[b"x"], [b"y"], [b"z"]]

    def test_a_zone_is_read_straight_from_all_its_servers_and_a_server_alone_has_a_part(self):
        async def program(cluster):
            await cluster.connection("a", QUORUM).execute(*[("SET", key, key) for key in KEYS])
            reads = [("GET", key) for key in KEYS]
            whole = [await cluster.direct(zone).execute(*reads) for zone in DC1]
            return whole, await cluster.network.one_server("a").execute(*reads)

        whole, part = play(SHARED, program)
        assert whole == [[key.encode() for key in KEYS]] * 3
        assert 0 < part.count(None) < len(KEYS)

    def test_a_topology_of_other_nodes_than_the_servers_is_refused(self):
        with pytest.raises(ClusterError, match="are not the topology's nodes"):
            SimCluster(["a", "b"], SimSettings(seed=1, topology=SHARED))


class TestTwoDataCentres:
    @pytest.mark.parametrize("level", [ONE, QUORUM, SAFE])
    def test_every_zone_of_the_other_data_centre_gets_every_write_once(self, level):
        async def program(cluster):
            answer = await outcome(cluster, "a", level, ("INCR", "n"), ("RPUSH", "l", "x"))
            await cluster.runtime.sleep(100 * MS)
            return answer, await at(cluster, TWO_DCS.nodes, "GET", "n"), await at(cluster, DC2, "LLEN", "l")

        assert play(TWO_DCS, program) == ([1, 1], [b"1"] * 6, [1, 1, 1])

    def test_at_each_every_zone_of_every_data_centre_gets_a_write_once_unlike_in_dynomite(self):
        """Dynomite's remote zones pass it on again and apply it as often as there are zones."""

        async def program(cluster):
            answer = await outcome(cluster, "a", EACH, ("INCR", "n"))
            return answer, await at(cluster, TWO_DCS.nodes, "GET", "n")

        assert play(TWO_DCS, program) == ([1], [b"1"] * 6)

    @pytest.mark.parametrize("level", [ONE, QUORUM, SAFE, EACH])
    def test_each_data_centre_answers_reads_from_its_own_zones_and_compares_with_no_other(self, level):
        async def program(cluster):
            await plant(cluster, "k", dict(zip(TWO_DCS.nodes, "AAABBB", strict=True)))
            return [await outcome(cluster, node, level, ("GET", "k")) for node in ("a", "d")]

        assert play(TWO_DCS, program) == [[b"A"], [b"B"]]

    @pytest.mark.parametrize("level", [ONE, QUORUM, SAFE])
    def test_failures_of_the_other_data_centre_are_invisible_to_the_writer(self, level):
        async def program(cluster):
            for node in DC2:
                await cluster.zones[node].kill()
            return await outcome(cluster, "a", level, ("SET", "k", "v"), ("GET", "k"))

        assert play(TWO_DCS, program) == [b"OK", b"v"]

    def test_at_each_a_data_centre_without_quorum_is_an_error_and_does_not_hang(self):
        async def program(cluster):
            for node in DC2[:2]:
                await cluster.zones[node].kill()
            await cluster.runtime.sleep(100 * MS)
            down = await outcome(cluster, "a", EACH, ("SET", "k", "v"))
            for one in DC1:
                for other in DC2:
                    cluster.links[one, other].cut(Cut.DROP)
            return down, await outcome(cluster, "a", EACH, ("GET", "k")), await at(cluster, DC1, "GET", "k")

        down, apart, kept = play(TWO_DCS, program)
        assert down == (Indeterminate, "ERR Storage: Datastore refused connection")
        assert apart == (Unavailable, PEER_NOT_CONNECTED)
        assert kept == [b"v"] * 3

    def test_at_each_a_data_centre_that_does_not_agree_is_an_error(self):
        async def program(cluster):
            await plant(cluster, "k", dict(zip(TWO_DCS.nodes, "AAABCD", strict=True)))
            return [await outcome(cluster, node, level, ("GET", "k")) for node in "ad" for level in (EACH, QUORUM)]

        each, own, far, far_own = play(TWO_DCS, program)
        assert each == far == (Unavailable, NO_QUORUM)
        assert own == [b"A"]
        assert far_own[0] in (b"B", b"C", b"D")

    def test_what_other_data_centres_hold_is_stale_by_the_lag_between_them_and_at_each_it_is_not(self):
        lags = {(one, other): Constant(50) for one in TWO_DCS.nodes for other in TWO_DCS.nodes if one != other}
        lags |= {(one, other): Constant(0) for dc in (DC1, DC2) for one in dc for other in dc if one != other}

        async def program(cluster):
            seen = []
            for level in (QUORUM, EACH):
                begin = cluster.runtime.now_ns()
                await cluster.connection("a", level).execute(("SET", "k", level))
                took_ms = (cluster.runtime.now_ns() - begin) // MS
                at_once = await outcome(cluster, "d", QUORUM, ("GET", "k"))
                await cluster.runtime.sleep(60 * MS)
                seen.append((took_ms, at_once, await outcome(cluster, "d", QUORUM, ("GET", "k"))))
            return seen

        (quorum_ms, before, after), (each_ms, at_once, _) = play(TWO_DCS, program, lags=lags)
        assert quorum_ms < 5
        assert (before, after) == ([None], [b"DC_QUORUM"])
        assert each_ms >= 100
        assert at_once == [b"DC_EACH_SAFE_QUORUM"]

    def test_the_zone_chosen_beforehand_follows_the_order_of_names_and_another_takes_its_place(self):
        async def program(cluster):
            first = cluster.coordinators["b"].statistics
            await outcome(cluster, "b", QUORUM, ("INCR", "n"))
            sent = {far: cluster.links["b", far].sent for far in DC2}
            await cluster.runtime.sleep(100 * MS)
            cluster.coordinators["e"].crash()
            await outcome(cluster, "b", QUORUM, ("INCR", "n"))
            await cluster.runtime.sleep(100 * MS)
            return sent, first.remote_sent, first.remote_failed_over, await at(cluster, DC2, "GET", "n")

        sent, count, failed_over, values = play(TWO_DCS, program, lag=Constant(1))
        assert sent == {"d": 0, "e": 1, "f": 0}
        assert (count, failed_over) == (2, 1)
        assert values == [b"2"] * 3

    def test_a_write_is_dropped_for_a_data_centre_of_which_no_zone_can_be_reached(self):
        async def program(cluster):
            for far in DC2:
                cluster.links["a", far].cut(Cut.DROP)
            told = await outcome(cluster, "a", SAFE, ("SET", "k", "v"))
            dropped = cluster.coordinators["a"].statistics.remote_dropped
            for far in DC2:
                cluster.links["a", far].mend()
            await cluster.runtime.sleep(30_000 * MS)
            return told, dropped, await at(cluster, DC2, "GET", "k")

        assert play(TWO_DCS, program) == ([b"OK"], 1, [None] * 3)

    def test_writes_in_both_data_centres_at_once_leave_them_different(self):
        async def program(cluster):
            writes = [
                cluster.runtime.spawn(cluster.connection(node, SAFE).execute(("SET", "k", node)), name=node)
                for node in ("a", "d")
            ]
            told = [await write.join() for write in writes]
            await cluster.runtime.sleep(1000 * MS)
            return told, await at(cluster, TWO_DCS.nodes, "GET", "k")

        told, values = play(TWO_DCS, program, lag=Constant(5))
        assert told == [[b"OK"], [b"OK"]]
        assert values[:3] == [b"d"] * 3
        assert values[3:] == [b"a"] * 3

    def test_a_data_centre_that_missed_writes_gets_them_from_nobody(self):
        async def program(cluster):
            for node in DC2:
                await cluster.zones[node].kill()
            await outcome(cluster, "a", SAFE, ("SET", "k", "v"))
            for node in DC2:
                await cluster.zones[node].restart(Restart.WIPE)
            await cluster.runtime.sleep(20_000 * MS)
            return await at(cluster, TWO_DCS.nodes, "GET", "k")

        assert play(TWO_DCS, program) == [b"v"] * 3 + [None] * 3


class TestReadAndWriteLevels:
    def test_a_connection_may_read_at_another_level_than_it_writes(self):
        async def program(cluster):
            await plant(cluster, "k", {"a": "A", "b": "B", "c": "B", "d": "B", "e": "B", "f": "B"})
            one_read = Levels(read=ONE, write=SAFE)
            quorum_read = Levels(read=QUORUM, write=ONE)
            reads = [await outcome(cluster, "a", setting, ("GET", "k")) for setting in (one_read, quorum_read)]
            for node in ("b", "c"):
                await cluster.zones[node].kill()
            await cluster.runtime.sleep(100 * MS)
            writes = [await outcome(cluster, "a", setting, ("SET", "k", "v")) for setting in (one_read, quorum_read)]
            return reads, writes, cluster.coordinators["a"].statistics.as_dict()["levels"]

        reads, writes, counted = play(TWO_DCS, program)
        assert reads == [[b"A"], [b"B"]]
        assert writes == [(Indeterminate, "ERR Storage: Datastore refused connection"), [b"OK"]]
        assert counted["DC_ONE/DC_SAFE_QUORUM"]["commands"] >= 1

    def test_so_may_one_of_a_single_data_centre(self):
        async def program(cluster):
            await plant(cluster, "k", {"a": "A", "b": "B", "c": "B"})
            settings = (Levels(read=ONE, write=SAFE), Levels(read=SAFE, write=ONE))
            return [await outcome(cluster, "a", setting, ("GET", "k")) for setting in settings]

        assert play(Topology(TWO_DCS.dcs[:1]), program) == [[b"A"], [b"B"]]

    def test_a_mixed_pipeline_of_both_is_answered_command_by_command(self):
        async def program(cluster):
            return await outcome(
                cluster, "a", Levels(read=ONE, write=QUORUM), ("SET", "k", 1), ("GET", "k"), ("HGETALL", "h")
            )

        assert play(TWO_DCS, program) == [b"OK", b"1", []]


class TestAFreshCoordinator:
    def test_a_crash_takes_every_connection_and_another_coordinator_serves_again(self):
        async def program(cluster):
            coordinator = cluster.coordinators["a2"]
            coordinator.crash()
            refused = await outcome(cluster, "a2", QUORUM, ("SET", "k", "v"))
            coordinator.restart()
            await cluster.runtime.sleep(2_000 * MS)
            return refused, coordinator.connected, await outcome(cluster, "a2", QUORUM, ("SET", "k", "v"))

        assert play(SHARED, program) == ((Unavailable, "coordinator: connection refused"), True, [b"OK"])
