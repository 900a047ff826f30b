"""Goal: a coordinator routes, votes, fails as Dynomite's. Method: three simulated zones."""

import hashlib

import pytest
from support.cluster.stepped import MS, S, SteppedCluster, planted

from zonelab.cluster.connections.failures import NO_QUORUM, PEER_NOT_CONNECTED, PEER_REFUSED, STORAGE_REFUSED
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Levels
from zonelab.cluster.votes.pipeline import PipelineFailure
from zonelab.engine.ports import Indeterminate, Unavailable

ONE, QUORUM, SAFE = LEVELS_OF_ONE_DC
LEVELS = list(LEVELS_OF_ONE_DC)
ABC = tuple("abc")
SHA = b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"


class TestRouting:
    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize(
        ("command", "reply", "everywhere"),
        [
            (("SET", "k", "v"), b"OK", LEVELS),
            (("GET", "k"), None, (QUORUM, SAFE)),
            (("SORT", "k", "ALPHA"), [], (QUORUM, SAFE)),
            (("HGETALL", "k"), [], ()),
            (("SCRIPT", "LOAD", "return 1"), SHA, LEVELS),
        ],
    )
    def test_which_zones_get_a_command_and_how_many_are_waited_for(self, level, command, reply, everywhere):
        """Of a broadcast the own zone's answer is heard, else those of a quorum, which the nearer zone makes."""
        cluster = SteppedCluster(lag=ConstantLag(50))
        for pair in (("b", "c"), ("c", "b")):
            cluster.links[pair].set_lag(ConstantLag(7))
        call = cluster.send("b", level, command)
        voted = level is not ONE and level in everywhere and command[0] != "SCRIPT"
        assert (call.outcome, call.ms) == (reply, 14 if voted else 0)
        cluster.run(60 * MS)
        assert cluster.executed_at(*command) == (["a", "b", "c"] if level in everywhere else ["b"])

    @pytest.mark.parametrize("level", LEVELS)
    def test_a_mixed_pipeline_keeps_its_order_in_every_zone(self, level):
        cluster = SteppedCluster()
        pipeline = (("SET", "k", "1"), ("GET", "k"), ("SET", "k", "2"), ("GET", "k"), ("SORT", "l", "ALPHA"))
        pipeline += (("SCRIPT", "LOAD", "return 1"),)
        assert cluster.outcome("a", level, *pipeline) == [b"OK", b"1", b"OK", b"2", [], SHA]
        cluster.run(1)
        elsewhere = [command for command in pipeline if level is not ONE or command[0] not in ("GET", "SORT")]
        assert [server.commands() for server in cluster.servers.values()] == [list(pipeline), elsewhere, elsewhere]

    def test_pipelines_of_one_coordinator_are_executed_in_their_order_in_every_zone(self):
        cluster = SteppedCluster(lag=ConstantLag(3), service_ns=MS)
        for number in range(50):
            cluster.call("a", QUORUM, ("SET", "k", number))
            cluster.run(1)
        cluster.run(1 * S)
        for server in cluster.servers.values():
            assert [value for _, _, value in server.commands()] == [str(number) for number in range(50)]

    @pytest.mark.parametrize("zones", ["a", "ab", "abc"])
    @pytest.mark.parametrize("level", LEVELS)
    def test_clusters_of_one_to_three_zones_work_at_every_level(self, zones, level):
        """SAFE at a single zone works too, unlike Dynomite's, which fails every command after executing it."""
        cluster = SteppedCluster(zones)
        assert cluster.outcome("a", level, ("INCR", "n"), ("GET", "n")) == [1, b"1"]

    @pytest.mark.parametrize(
        ("zones", "error"),
        [
            ("", "coordinator of zone 'a' has no channel to its own zone"),
            ("abcdefgh", r"1 to 7 zones, got \['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'\]"),
        ],
    )
    def test_a_coordinator_needs_a_way_to_its_own_zone_and_no_more_than_a_vote_can_count(self, zones, error):
        with pytest.raises(ValueError, match=error):
            PlainCoordinator(zone="a", channels=dict.fromkeys(zones), runtime=SimRuntime(seed=1))


class TestSubmitting:
    def test_replies_come_to_the_caller_in_the_turn_in_which_the_vote_is_decided_and_of_nothing_within_the_call(self):
        cluster = SteppedCluster(lag=ConstantLag(5))
        outcomes = []
        cluster.coordinators["a"].submit(QUORUM, (("SET", "k", "v"), ("GET", "k")), outcomes.append)
        cluster.run(10 * MS)
        assert outcomes == []
        cluster.run(1)
        cluster.coordinators["a"].submit(SAFE, (), outcomes.append)
        assert outcomes == [[b"OK", b"v"], []]
        cluster.run(1 * S)
        assert len(outcomes) == 2

    def test_pipelines_that_fail_at_once_are_answered_within_the_call(self):
        cluster = SteppedCluster()
        cluster.kill("abc")
        outcomes = []
        cluster.coordinators["a"].submit(QUORUM, (("INCR", "n"), ("GET", "n")), outcomes.append)
        [failure] = outcomes
        assert [str(answer) for answer in failure.answers] == [STORAGE_REFUSED] * 2
        with pytest.raises(Unavailable, match=STORAGE_REFUSED):
            failure.result()

    @pytest.mark.parametrize("level", LEVELS)
    def test_what_is_submitted_when_an_answer_comes_reaches_every_zone_after_what_was_answered(self, level):
        cluster = SteppedCluster()
        coordinator = cluster.coordinators["a"]
        cluster.kill("ab")
        numbers = []

        def following(_outcome):
            numbers.append(len(numbers))
            if len(numbers) < 5_000:
                coordinator.submit(level, (("SET", "k", len(numbers)),), following)

        coordinator.submit(level, (("SET", "k", 0),), following)
        cluster.run(1)
        assert [value for _, _, value in cluster.servers["c"].commands()] == [str(number) for number in range(5_000)]
        assert numbers == list(range(5_000))

    def test_a_failure_has_the_answers_of_the_commands_that_did_not_fail(self):
        cluster = planted("x", "y", "z", lag=ConstantLag(1))
        outcomes = []
        cluster.coordinators["a"].submit(SAFE, (("SET", "other", 1), ("GET", "k")), outcomes.append)
        cluster.run(10 * MS)
        [failure] = outcomes
        assert failure.answers[0] == b"OK"
        assert str(failure.answers[1]) == NO_QUORUM
        with pytest.raises(Indeterminate, match=NO_QUORUM):
            failure.result()

    def test_a_failure_knows_what_zones_have_answered_since(self):
        cluster = planted({"m": 1}, {"m": 1}, {"m": 1}, lag=ConstantLag(5))
        cluster.links["c", "a"].set_lag(ConstantLag(50))
        outcomes = []
        cluster.coordinators["a"].submit(QUORUM, (("INCR", "k"),), outcomes.append)
        cluster.run(20 * MS)
        [failure] = outcomes
        assert isinstance(failure, PipelineFailure)
        with pytest.raises(Indeterminate, match="WRONGTYPE"):
            failure.result()
        cluster.run(50 * MS)
        assert failure.result() == failure.answers
        assert str(failure.answers[0]).startswith("WRONGTYPE")


class TestWaiting:
    def test_replies_that_differ_make_the_client_wait_for_the_third(self):
        cluster = planted("x", "y", "y", lag=ConstantLag(50))
        for pair in (("a", "b"), ("b", "a")):
            cluster.links[pair].set_lag(ConstantLag(7))
        call = cluster.send("a", QUORUM, ("GET", "k"))
        assert (call.outcome, call.ms) == (b"y", 100)

    @pytest.mark.parametrize(("level", "outcome"), [(QUORUM, b"x"), (SAFE, (Unavailable, NO_QUORUM))])
    def test_zones_that_differ_while_the_third_stalls_cost_its_time_out(self, level, outcome):
        cluster = planted("x", "y", "y")
        cluster.links["a", "b"].set_lag(ConstantLag(1))
        cluster.servers["c"].pause()
        call = cluster.send("a", level, ("GET", "k"))
        assert (call.outcome, call.ms) == (outcome, 5_000)


class TestStatistics:
    def test_commands_are_counted_by_level_and_by_how_their_vote_ended(self):
        cluster = planted("x", "y", "z", lag=ConstantLag(1))
        cluster.send("a", QUORUM, ("GET", "k"), ("GET", "absent"))
        cluster.send("a", SAFE, ("GET", "k"))
        cluster.send("a", ONE, ("GET", "k"))
        cluster.run(10 * MS)
        counts = cluster.coordinators["a"].statistics.as_dict()
        levels = counts["levels"]
        assert {level: counted["commands"] for level, counted in levels.items() if counted["commands"]} == {
            "DC_ONE": 1,
            "DC_QUORUM": 2,
            "DC_SAFE_QUORUM": 1,
        }
        decisions = {how: count for how, count in levels["DC_QUORUM"]["decisions"].items() if count}
        assert decisions == {"agreed": 1, "first_arrived": 1}
        assert levels["DC_SAFE_QUORUM"]["decisions"]["no_quorum"] == levels["DC_SAFE_QUORUM"]["error_answers"] == 1
        assert cluster.coordinators["b"].statistics.levels[QUORUM].commands == 0

    @pytest.mark.parametrize("level", [ONE, QUORUM, SAFE, Levels(read=QUORUM, write=ONE)])
    def test_a_command_is_counted_when_its_last_zone_has_answered_and_disagreement_is_seen_then(self, level):
        """At DC_ONE it is the one figure that tells what the level hides."""
        cluster = planted("x", "x", "yy", lag=ConstantLag(5))
        cluster.links["c", "a"].set_lag(ConstantLag(100))
        cluster.send("a", level, ("APPEND", "k", "z"), ("SET", "other", "z"))
        counts = cluster.coordinators["a"].statistics.levels[str(level)]
        assert counts.commands == 0
        cluster.run(200 * MS)
        assert (counts.commands, counts.late_disagreements) == (2, 1)
        assert cluster.coordinators["a"].statistics.as_dict()["levels"][str(level)]["late_disagreements"] == 1

    def test_batches_that_got_no_reply_are_counted_by_zone_and_text(self):
        cluster = SteppedCluster()
        cluster.kill("b")
        cluster.isolate("c", Cut.DROP)
        for _ in range(3):
            cluster.send("a", ONE, ("SET", "k", 1), ("SET", "k", 2))
        cluster.run(1)
        assert cluster.coordinators["a"].statistics.zone_failures == {
            "b": {STORAGE_REFUSED: 3},
            "c": {PEER_NOT_CONNECTED: 3},
        }

    def test_a_server_without_a_script_that_others_carry_out_is_counted_and_one_that_is_not_outvoted_is_not(self):
        cluster = SteppedCluster()
        script = "return redis.call('INCR', KEYS[1])"
        digest = hashlib.sha1(script.encode()).hexdigest()
        evalsha = ("EVALSHA", digest, 1, "k")
        assert str(cluster.outcome("a", QUORUM, evalsha)).startswith("NOSCRIPT")
        statistics = cluster.coordinators["a"].statistics
        assert statistics.unknown_scripts == {}, "the client is told"
        cluster.send("a", QUORUM, ("SCRIPT", "LOAD", script))
        cluster.kill("b")
        cluster.mend_all()
        cluster.run(2 * S)
        began_ns = cluster.runtime.now_ns()
        for level in (QUORUM, SAFE, ONE):
            cluster.send("a", level, evalsha)
            cluster.run(1 * MS)
        [(zone, unknown)] = statistics.unknown_scripts.items()
        assert (zone, unknown["times"]) == ("b", 3)
        assert began_ns <= unknown["since_ns"] <= began_ns + 1 * MS

    def test_what_was_in_flight_when_the_cluster_closes_is_counted_too(self):
        cluster = SteppedCluster(lag=ConstantLag(5))
        call = cluster.call("a", SAFE, ("SET", "k", 1))
        cluster.run(1 * MS)
        cluster.network.close()
        cluster.run(1)
        assert call.outcome == (Indeterminate, PEER_REFUSED)
        assert cluster.coordinators["a"].statistics.levels[SAFE].commands == 1

    def test_a_coordinator_is_connected_when_it_reaches_every_zone(self):
        cluster = SteppedCluster()
        assert all(coordinator.connected for coordinator in cluster.coordinators.values())
        cluster.links["b", "c"].cut(Cut.DROP)
        assert [coordinator.connected for coordinator in cluster.coordinators.values()] == [True, False, False]
