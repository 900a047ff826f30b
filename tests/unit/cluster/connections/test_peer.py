"""Goal: the two hops to another zone fail by Dynomite's rules, and say truly what was not applied.

Method: one peer channel in virtual time, over links that are cut and a server that is killed or paused.
"""

import pytest
from support.cluster.scripted import MS, S, ScriptedCluster, Until

from cluster.connections.batch import Batch
from cluster.connections.failures import PEER_NOT_CONNECTED, PEER_REFUSED, STORAGE_REFUSED, ZoneFailure
from cluster.connections.timeouts import Timeouts
from cluster.links.lag import Constant
from cluster.links.link import Cut

LAG_MS = 10


class Rig:
    """The channel from zone a to zone b, and what came back: (ms since the start, reply or (text, maybe applied))."""

    def __init__(self, *, lag_ms=LAG_MS, service_ns=0, timeouts=None):
        self.cluster = ScriptedCluster("ab", lag=Constant(lag_ms), service_ns=service_ns, timeouts=timeouts)
        self.peer = self.cluster.peers["a", "b"]
        self.server = self.cluster.servers["b"]
        self.out = self.cluster.links["a", "b"]
        self.back = self.cluster.links["b", "a"]
        self.begin_ns = self.cluster.runtime.now_ns()
        self.answers = []

    def to(self, time_ms):
        self.cluster.run_to(self.begin_ns + round(time_ms * MS))

    def write(self, key="n"):
        self.peer.submit(Batch([("INCR", key)], writes=True), self.note)

    def read(self, key="n"):
        self.peer.submit(Batch([("GET", key)], writes=False), self.note)

    def note(self, answer):
        failed = isinstance(answer, ZoneFailure)
        result = (str(answer), answer.maybe_applied) if failed else answer[0]
        self.answers.append(((self.cluster.runtime.now_ns() - self.begin_ns) // MS, result))


def test_a_request_takes_the_lag_of_both_links():
    rig = Rig()
    rig.write()
    assert rig.peer.in_flight == 1
    rig.to(100)
    assert rig.answers == [(20, 1)]
    assert [time_ns - rig.begin_ns for time_ns, _ in rig.server.executed] == [10 * MS]
    assert rig.peer.in_flight == 0


@pytest.mark.parametrize(("kind", "after_ms"), [("read", 5_200), ("write", 25_200)])
def test_a_peer_that_cannot_be_reached_times_out_after_5_2_s_for_a_read_and_25_2_s_for_a_write(kind, after_ms):
    rig = Rig()
    rig.out.cut(Cut.HOLD)
    getattr(rig, kind)()
    rig.to(after_ms - 1)
    assert rig.answers == []
    rig.to(after_ms)
    assert rig.answers == [(after_ms, (PEER_REFUSED, True))]
    assert not rig.peer.connected


def test_a_read_that_times_out_takes_the_writes_on_the_connection_with_it():
    rig = Rig()
    rig.out.cut(Cut.HOLD)
    rig.write()
    rig.to(1_000)
    rig.read()
    rig.to(6_201)
    assert rig.answers == [(6_200, (PEER_REFUSED, True)), (6_200, (PEER_REFUSED, True))]


def test_held_requests_are_applied_when_the_way_opens_even_after_their_time_out():
    rig = Rig()
    rig.out.cut(Cut.HOLD)
    rig.write()
    rig.to(30_000)
    assert rig.answers == [(25_200, (PEER_REFUSED, True))]
    rig.out.mend()
    rig.to(60_000)
    assert rig.server.count("INCR") == 1
    assert len(rig.answers) == 1


def test_requests_held_for_less_than_the_time_out_only_come_late():
    rig = Rig()
    rig.out.cut(Cut.HOLD)
    rig.write()
    rig.to(20_000)
    rig.out.mend()
    rig.to(30_000)
    assert rig.answers == [(20_020, 1)]


def test_while_the_way_is_closed_requests_fail_at_once_and_are_kept_nowhere():
    rig = Rig()
    rig.out.cut(Cut.DROP)
    rig.write()
    assert rig.answers == [(0, (PEER_NOT_CONNECTED, False))]
    rig.out.mend()
    rig.to(500)
    rig.write()
    assert rig.answers[1:] == [(500, (PEER_NOT_CONNECTED, False))]
    rig.to(60_000)
    assert rig.server.executed == []


def test_a_reset_fails_what_has_not_arrived_as_certainly_not_applied():
    rig = Rig()
    rig.write("arrives")
    rig.to(15)
    rig.write("does not")
    rig.out.cut(Cut.DROP)
    assert rig.answers == [(15, (PEER_REFUSED, True)), (15, (PEER_REFUSED, False))]
    rig.out.mend()
    rig.to(60_000)
    assert rig.server.commands() == [("INCR", "arrives")]


def test_a_reset_of_the_way_back_also_stops_what_is_on_its_way_out():
    """The request still moves on the link out, which is whole: it must not be applied after it was given up as lost."""
    rig = Rig()
    rig.write()
    rig.to(5)
    rig.back.cut(Cut.DROP)
    assert rig.answers == [(5, (PEER_REFUSED, False))]
    rig.to(60_000)
    assert rig.server.executed == []


def test_an_answer_of_an_earlier_connection_is_not_taken_for_one_of_the_next():
    rig = Rig(timeouts=Timeouts(peer_write_ms=100, reconnect_ms=(50,)))
    rig.back.set_lag(Constant(1_000))
    rig.write("early")
    rig.to(200)
    assert rig.answers == [(100, (PEER_REFUSED, True))]
    rig.back.set_lag(Constant(0))
    rig.write("late")
    rig.to(290)
    assert len(rig.answers) == 1
    rig.to(2_000)
    assert rig.answers[1:] == [(300, (PEER_REFUSED, True))]
    assert rig.server.commands() == [("INCR", "early"), ("INCR", "late")]


@pytest.mark.parametrize("mode", list(Cut))
@pytest.mark.parametrize("way", ["out", "back"])
def test_no_connection_is_made_while_either_way_is_cut_and_the_back_off_grows(mode, way):
    rig = Rig(lag_ms=0)
    link = getattr(rig, way)
    link.cut(Cut.DROP)
    link.cut(mode)
    rig.to(24_000)
    link.mend()
    rig.to(24_900)
    assert not rig.peer.connected
    rig.to(25_000)
    assert rig.peer.connected


def test_a_server_that_refuses_is_reported_by_the_far_side():
    rig = Rig()
    rig.server.kill()
    rig.to(1)
    rig.write()
    rig.to(100)
    assert rig.answers == [(21, (STORAGE_REFUSED, False))]


def test_a_server_that_stalls_is_reported_by_the_far_side_after_five_seconds():
    rig = Rig()
    rig.server.pause()
    rig.write()
    rig.to(5_100)
    assert rig.answers == [(5_020, (STORAGE_REFUSED, True))]
    assert rig.peer.connected is False
    rig.to(6_100)
    assert rig.peer.connected


def test_a_server_that_is_killed_with_requests_inside_may_have_applied_them():
    rig = Rig(service_ns=5 * MS)
    rig.write()
    rig.to(12)
    rig.server.kill()
    rig.to(100)
    assert rig.answers == [(22, (STORAGE_REFUSED, True))]


def test_a_frozen_peer_accepts_connections_so_only_the_gap_before_reconnecting_is_lost():
    rig = Rig(lag_ms=0)
    rig.out.set_lag(Until(rig.begin_ns + 40 * S, rig.cluster.runtime))
    for number in range(4):
        rig.to(number * 7_000)
        rig.write(number)
    rig.to(25_700)
    rig.write("gap")
    rig.to(40_500)
    assert rig.server.commands() == [("INCR", number) for number in range(4)]
    assert (25_700, (PEER_NOT_CONNECTED, False)) in rig.answers


class TestStraightWay:
    """What was sent over clear links goes on by the rules of whatever becomes of the links while the server works."""

    @staticmethod
    def rig():
        rig = Rig(lag_ms=0, service_ns=10 * MS)
        rig.write()
        rig.to(5)
        assert rig.peer.in_flight == 1
        assert rig.answers == []
        return rig

    def test_an_answer_takes_the_lag_that_the_way_back_has_by_then(self):
        rig = self.rig()
        rig.back.set_lag(Constant(30))
        rig.write()
        assert rig.peer.in_flight == 2
        rig.to(1_000)
        assert rig.answers == [(40, 1), (45, 2)]
        assert rig.peer.in_flight == 0

    def test_an_answer_is_not_overtaken_by_later_ones_when_the_way_is_clear_again(self):
        rig = self.rig()
        rig.back.set_lag(Constant(30))
        rig.to(12)
        rig.back.set_lag(Constant(0))
        for _ in range(2):
            rig.write()
            rig.to(50)
        assert rig.answers == [(40, 1), (40, 2)]
        rig.to(1_000)
        assert rig.answers[2:] == [(60, 3)]

    def test_a_request_is_counted_once_whatever_becomes_of_the_links(self):
        rig = self.rig()
        rig.back.set_lag(Constant(30))
        assert rig.peer.in_flight == 1
        rig.back.set_lag(Constant(0))
        assert rig.peer.in_flight == 1
        rig.write()
        assert rig.peer.in_flight == 2
        rig.to(1_000)
        assert rig.answers == [(10, 1), (15, 2)]
        assert rig.peer.in_flight == 0

    def test_a_held_way_back_holds_the_answer_until_the_peers_time_out(self):
        rig = self.rig()
        rig.back.cut(Cut.HOLD)
        rig.to(25_199)
        assert rig.answers == []
        rig.to(25_200)
        assert rig.answers == [(25_200, (PEER_REFUSED, True))]
        assert rig.server.commands() == [("INCR", "n")]
        rig.back.mend()
        rig.to(60_000)
        assert len(rig.answers) == 1

    def test_a_mended_way_back_delivers_the_answer_that_it_held(self):
        rig = self.rig()
        rig.back.cut(Cut.HOLD)
        rig.to(100)
        rig.back.mend()
        rig.to(200)
        assert rig.answers == [(100, 1)]

    @pytest.mark.parametrize("way", ["out", "back"])
    def test_a_reset_fails_what_is_at_the_server_as_possibly_applied(self, way):
        rig = self.rig()
        getattr(rig, way).cut(Cut.DROP)
        assert rig.answers == [(5, (PEER_REFUSED, True))]
        assert rig.peer.in_flight == 0
        rig.to(60_000)
        assert rig.server.commands() == [("INCR", "n")]
        assert len(rig.answers) == 1

    def test_closing_fails_what_is_at_the_server_as_possibly_applied(self):
        rig = self.rig()
        rig.peer.close()
        assert rig.answers == [(5, (PEER_REFUSED, True))]
        rig.to(60_000)
        assert len(rig.answers) == 1

    def test_a_server_that_is_killed_fails_them_with_the_text_of_the_far_side(self):
        rig = self.rig()
        rig.server.kill()
        rig.to(6)
        assert rig.answers == [(5, (STORAGE_REFUSED, True))]

    def test_a_peer_time_out_below_that_of_the_server_still_comes_first(self):
        rig = Rig(lag_ms=0, timeouts=Timeouts(peer_write_ms=100))
        rig.server.pause()
        rig.write()
        rig.to(1_000)
        assert rig.answers == [(100, (PEER_REFUSED, True))]


def test_closing_fails_everything_and_ends_every_attempt():
    rig = Rig()
    rig.write()
    rig.peer.close()
    assert rig.answers == [(0, (PEER_REFUSED, False))]
    rig.write()
    assert rig.answers[1:] == [(0, (PEER_NOT_CONNECTED, False))]
    rig.out.cut(Cut.DROP)
    rig.out.mend()
    rig.to(60_000)
    assert not rig.peer.connected
    assert rig.server.executed == []


def test_a_request_that_arrives_twice_is_executed_twice_and_answered_once():
    rig = Rig()
    rig.out.set_duplication(1.0, after_ns=3 * MS)
    rig.write()
    rig.to(100)
    assert [(time_ns - rig.begin_ns) // MS for time_ns, _ in rig.server.executed] == [10, 13]
    assert rig.server.store["n"] == 2
    assert rig.answers == [(20, 1)]


def test_a_reply_that_arrives_twice_is_heard_once():
    rig = Rig()
    rig.back.set_duplication(1.0, after_ns=3 * MS)
    rig.write()
    rig.to(100)
    assert rig.answers == [(20, 1)]
    assert rig.peer.in_flight == 0


def test_a_copy_of_what_was_reported_as_not_applied_is_not_applied_either():
    rig = Rig()
    rig.out.set_duplication(1.0, after_ns=50 * MS)
    rig.write()
    rig.to(5)
    rig.out.cut(Cut.DROP)
    rig.out.mend()
    rig.to(1_000)
    assert rig.answers == [(5, (PEER_REFUSED, False))]
    assert rig.server.executed == []
