"""Goal: who waits for a coordinator that dies never takes what it sent for undone, and the next one serves.

Method: three simulated zones; the coordinator of a dies while commands are on their way.
"""

import pytest
from support.cluster.stepped import MS, S, SteppedCluster, planted

from zonelab.cluster.coordinators.coordinator import COORDINATOR_DIED, COORDINATOR_DOWN
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.engine.ports import Indeterminate, Unavailable

LEVELS = list(LEVELS_OF_ONE_DC)
DIED = Indeterminate, COORDINATOR_DIED


@pytest.mark.parametrize("level", LEVELS)
def test_a_write_whose_answer_is_not_there_yet_is_indeterminate_and_a_read_unavailable(level):
    cluster = SteppedCluster(lag=ConstantLag(10), service_ns=2 * MS)
    write = cluster.call("a", level, ("SET", "k", "v"))
    read = cluster.call("a", level, ("GET", "k"))
    mixed = cluster.call("a", level, ("GET", "k"), ("INCR", "n"))
    cluster.run(1 * MS)
    cluster.coordinators["a"].crash()
    cluster.run(1 * MS)
    assert [write.outcome, read.outcome, mixed.outcome] == [DIED, (Unavailable, COORDINATOR_DIED), DIED]
    cluster.run(1 * S)
    assert cluster.values("k") == ["v", None, None]  # its own server had it; nothing had reached the other zones


def test_an_answer_that_was_there_but_not_heard_is_lost_with_its_process():
    cluster = SteppedCluster(service_ns=1 * MS)
    call = cluster.call("a", Level.DC_ONE, ("SET", "k", "v"))
    decided = cluster.coordinators["a"].submit

    def dies_as_it_is_decided(level, commands, done, **more):
        decided(level, commands, lambda outcome: (done(outcome), cluster.coordinators["a"].crash()), **more)

    cluster.coordinators["a"].submit = dies_as_it_is_decided
    cluster.run(1 * S)
    assert cluster.values("k") == ["v", "v", "v"]
    assert call.outcome == DIED


@pytest.mark.parametrize("level", LEVELS)
def test_nobody_is_served_until_another_process_is_there_and_others_go_on(level):
    cluster = SteppedCluster()
    crashed = cluster.coordinators["a"]
    crashed.crash()
    assert not crashed.connected
    assert cluster.outcome("a", level, ("SET", "k", "v")) == (Unavailable, COORDINATOR_DOWN)
    assert cluster.outcome("b", Level.DC_ONE, ("SET", "other", "v")) == b"OK"
    cluster.run(5 * S)
    crashed.restart()
    assert crashed.connected
    assert cluster.outcome("a", level, ("SET", "k", "v")) == b"OK"
    cluster.run(1)
    assert cluster.values("k") == ["v", "v", "v"]


def test_a_first_response_that_would_stand_for_a_missing_third_is_not_given_by_the_dead():
    cluster = planted("1", "2", "3", lag=ConstantLag(10))
    cluster.servers["c"].pause()
    call = cluster.call("a", Level.DC_QUORUM, ("GET", "k"))
    cluster.run(30 * MS)  # a and b have answered, and differ
    cluster.coordinators["a"].crash()
    cluster.run(1)
    assert call.outcome == (Unavailable, COORDINATOR_DIED)
