"""Goal: ``Unavailable`` means that nothing was applied and never will be. Method: simulated zones.

The cases here are those that could get it wrong; the property tests look for others.
"""

import pytest
from support.cluster.stepped import MS, S, SteppedCluster, planted

from zonelab.cluster.connections.failures import NO_QUORUM, PEER_NOT_CONNECTED, STORAGE_REFUSED
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

ONE, QUORUM, SAFE = LEVELS_OF_ONE_DC
LEVELS = list(LEVELS_OF_ONE_DC)
FAILING_SCRIPT = ("EVAL", "redis.call('SET', KEYS[1], 'v') return redis.error_reply('ERR failed')", 1, "n")


class TestCertainty:
    @pytest.mark.parametrize("pipeline", [[("INCR", "n")], [("INCR", "n"), ("GET", "n")]])
    @pytest.mark.parametrize("level", LEVELS)
    def test_a_write_that_no_zone_could_be_sent_is_unavailable(self, level, pipeline):
        cluster = SteppedCluster()
        cluster.kill("abc")
        assert cluster.outcome("a", level, *pipeline) == (Unavailable, STORAGE_REFUSED)

    @pytest.mark.parametrize("level", [QUORUM, SAFE])
    def test_a_write_that_one_zone_keeps_is_indeterminate(self, level):
        cluster = SteppedCluster()
        cluster.isolate("a", Cut.DROP)
        assert cluster.outcome("a", level, ("INCR", "n")) == (Indeterminate, PEER_NOT_CONNECTED)
        assert cluster.values("n") == ["1", None, None]

    def test_a_write_that_the_own_zone_refused_is_indeterminate_while_others_may_take_it(self):
        cluster = SteppedCluster(lag=ConstantLag(5))
        cluster.kill("a")
        assert cluster.outcome("a", ONE, ("INCR", "n")) == (Indeterminate, STORAGE_REFUSED)
        cluster.run(10 * MS)
        assert cluster.values("n") == [None, "1", "1"]

    def test_a_failed_read_is_unavailable_however_it_failed(self):
        cluster = SteppedCluster()
        cluster.servers["a"].pause()
        assert cluster.outcome("a", ONE, ("GET", "n")) == (Unavailable, STORAGE_REFUSED)

    def test_a_failed_read_makes_a_pipeline_with_an_applied_write_indeterminate(self):
        cluster = planted("x", "y", "z", lag=ConstantLag(1))
        assert cluster.outcome("a", SAFE, ("SET", "other", 1), ("GET", "k")) == (Indeterminate, NO_QUORUM)

    def test_the_first_error_is_the_one_that_is_told(self):
        cluster = SteppedCluster(lag=ConstantLag(5))
        cluster.kill("b")
        cluster.isolate("c", Cut.DROP)
        assert cluster.outcome("a", QUORUM, ("GET", "k")) == (Unavailable, PEER_NOT_CONNECTED)

    def test_a_server_error_of_a_write_is_indeterminate_while_another_zone_may_have_applied_it(self):
        cluster = planted({"m": 1}, 5, {"m": 1}, lag=ConstantLag(5))
        kind, text = cluster.outcome("a", ONE, ("INCR", "k"))
        assert kind is Indeterminate
        assert text.startswith("WRONGTYPE")
        cluster.run(10 * MS)
        assert cluster.values("k")[1] == "6"

    def test_what_a_reset_found_on_the_way_is_never_applied(self):
        cluster = SteppedCluster(lag=ConstantLag(5))
        cluster.kill("a")
        call = cluster.call("a", QUORUM, ("INCR", "n"))
        cluster.run(1 * MS)
        cluster.isolate("a", Cut.DROP)
        cluster.run(1 * MS)
        assert call.outcome == (Unavailable, STORAGE_REFUSED)
        cluster.mend_all()
        cluster.run(60 * S)
        assert cluster.values("n") == [None, None, None]

    def test_what_a_black_hole_holds_is_applied_later_and_so_indeterminate(self):
        cluster = SteppedCluster(lag=ConstantLag(5))
        cluster.kill("a")
        cluster.isolate("a", Cut.HOLD)
        call = cluster.send("a", QUORUM, ("INCR", "n"))
        assert (call.outcome, call.ms) == ((Indeterminate, STORAGE_REFUSED), 25_200)
        assert cluster.values("n") == [None, None, None]
        cluster.mend_all()
        cluster.run(60 * S)
        assert cluster.values("n") == [None, "1", "1"]

    @pytest.mark.parametrize("level", LEVELS)
    def test_a_script_that_failed_may_have_written_before(self, level):
        cluster = SteppedCluster("a")
        assert cluster.outcome("a", level, FAILING_SCRIPT) == (Indeterminate, "ERR failed")
        assert cluster.values("n") == ["v"]

    def test_a_script_that_failed_in_one_zone_makes_refusals_elsewhere_indeterminate(self):
        cluster = SteppedCluster()
        cluster.kill("bc")
        assert cluster.outcome("a", QUORUM, FAILING_SCRIPT)[0] is Indeterminate
        assert cluster.values("n") == ["v", None, None]

    def test_a_script_that_a_server_does_not_know_has_not_run(self):
        cluster = SteppedCluster("a")
        reply = cluster.outcome("a", ONE, ("EVALSHA", "0" * 40, 1, "n"))
        assert reply == ServerError("NOSCRIPT No matching script.")

    def test_a_client_that_goes_away_does_not_take_its_write_with_it(self):
        cluster = SteppedCluster(lag=ConstantLag(5))
        connection = cluster.coordinators["a"].connection(QUORUM)
        task = cluster.runtime.spawn(connection.execute(("SET", "k", "v")), name="client")
        cluster.run(1 * MS)
        task.cancel()
        cluster.run(20 * MS)
        assert cluster.values("k") == ["v", "v", "v"]
        assert cluster.coordinators["a"].statistics.levels[QUORUM].commands == 1
