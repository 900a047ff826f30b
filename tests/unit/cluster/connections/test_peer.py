"""Goal: the two hops to another zone fail by Dynomite's rules, and say truly what was not applied.

Method: one peer channel in virtual time, over links that are cut and a server that is killed or paused.
"""

import pytest
from support.cluster.stepped import MS, SteppedCluster

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.failures import PEER_NOT_CONNECTED, PEER_REFUSED, STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut

LOST, DOUBTFUL = (PEER_REFUSED, False), (PEER_REFUSED, True)
NOT_CONNECTED = (PEER_NOT_CONNECTED, False)


class PeerChannel:
    """The channel from zone a to zone b, and what came back: (ms since the start, reply or (text, maybe applied))."""

    def __init__(self, *, lag_ms=10, service_ns=0, timeouts=None):
        self.cluster = SteppedCluster("ab", lag=ConstantLag(lag_ms), service_ns=service_ns, timeouts=timeouts)
        self.peer = self.cluster.channel("a", "b")
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

    @property
    def executed(self):
        """The keys of what the server executed, with the times in ms."""
        return [(command[1], (time_ns - self.begin_ns) // MS) for time_ns, command in self.server.executed]


def test_a_request_takes_the_lag_of_both_links():
    channel = PeerChannel()
    channel.write()
    assert channel.peer.in_flight == 1
    channel.to(100)
    assert (channel.answers, channel.executed, channel.peer.in_flight) == ([(20, 1)], [("n", 10)], 0)


@pytest.mark.parametrize(
    ("mode", "answer"), [pytest.param(Cut.HOLD, DOUBTFUL, id="timed out"), pytest.param(Cut.DROP, LOST, id="reset")]
)
def test_callers_of_much_that_a_peer_did_not_answer_are_told_over_several_turns_of_the_loop(mode, answer):
    channel = PeerChannel()
    channel.out.cut(Cut.HOLD)
    others = []

    def told(answer):
        if not channel.answers:
            channel.cluster.runtime.call_later(0, lambda: others.append(len(channel.answers)))
        channel.note(answer)

    for _ in range(1_000):
        channel.peer.submit(Batch([("GET", "n")], writes=False), told)
    channel.out.cut(mode)
    channel.to(5_200)
    assert 0 < others[0] < len(channel.answers) == 1_000
    assert {told for _, told in channel.answers} == {answer}


@pytest.mark.parametrize(("kind", "after_ms"), [("read", 5_200), ("write", 25_200)])
def test_a_peer_that_cannot_be_reached_times_out_after_5_2_s_for_a_read_and_25_2_s_for_a_write(kind, after_ms):
    channel = PeerChannel()
    channel.out.cut(Cut.HOLD)
    getattr(channel, kind)()
    channel.to(after_ms - 1)
    assert channel.answers == []
    channel.to(after_ms)
    assert channel.answers == [(after_ms, DOUBTFUL)]
    assert not channel.peer.connected


def test_a_read_that_times_out_takes_the_writes_on_the_connection_with_it():
    channel = PeerChannel()
    channel.out.cut(Cut.HOLD)
    channel.write()
    channel.to(1_000)
    channel.read()
    channel.to(6_201)
    assert channel.answers == [(6_200, DOUBTFUL)] * 2


@pytest.mark.parametrize(("mended_ms", "answers"), [(20_000, [(20_020, 1)]), (30_000, [(25_200, DOUBTFUL)])])
def test_held_requests_are_applied_when_the_way_opens_in_time_or_not(mended_ms, answers):
    channel = PeerChannel()
    channel.out.cut(Cut.HOLD)
    channel.write()
    channel.to(mended_ms)
    channel.out.mend()
    channel.to(60_000)
    assert channel.answers == answers
    assert channel.executed == [("n", mended_ms + 10)]


def test_while_the_way_is_closed_requests_fail_at_once_and_are_kept_nowhere():
    channel = PeerChannel()
    channel.out.cut(Cut.DROP)
    channel.write()
    channel.out.mend()
    channel.to(500)
    channel.write()
    channel.to(60_000)
    assert channel.answers == [(0, NOT_CONNECTED), (500, NOT_CONNECTED)]
    assert channel.executed == []


def test_a_reset_fails_what_has_not_arrived_as_certainly_not_applied():
    channel = PeerChannel()
    channel.write("arrives")
    channel.to(15)
    channel.write("does not")
    channel.out.cut(Cut.DROP)
    assert channel.answers == [(15, DOUBTFUL), (15, LOST)]
    channel.out.mend()
    channel.to(60_000)
    assert channel.executed == [("arrives", 10)]


def test_a_reset_of_the_way_back_also_stops_what_is_on_its_way_out():
    """The request still moves on the link out, which is whole: it must not be applied after it was given up as lost."""
    channel = PeerChannel()
    channel.write()
    channel.to(5)
    channel.back.cut(Cut.DROP)
    channel.to(60_000)
    assert (channel.answers, channel.executed) == ([(5, LOST)], [])


def test_an_answer_of_an_earlier_connection_is_not_taken_for_one_of_the_next():
    channel = PeerChannel(timeouts=Timeouts(peer_write_ms=100, reconnect_ms=(50,)))
    channel.back.set_lag(ConstantLag(1_000))
    channel.write("early")
    channel.to(200)
    channel.back.set_lag(ConstantLag(0))
    channel.write("late")
    channel.to(2_000)
    assert channel.answers == [(100, DOUBTFUL), (300, DOUBTFUL)]
    assert channel.executed == [("early", 10), ("late", 210)]


@pytest.mark.parametrize("mode", [Cut.DROP, Cut.HOLD])
@pytest.mark.parametrize("way", ["out", "back"])
def test_no_connection_is_made_while_either_way_is_cut_and_the_back_off_grows(mode, way):
    channel = PeerChannel(lag_ms=0)
    link = getattr(channel, way)
    link.cut(Cut.DROP)
    link.cut(mode)
    channel.to(24_000)
    link.mend()
    channel.to(24_900)
    assert not channel.peer.connected
    channel.to(25_000)
    assert channel.peer.connected


def test_a_server_that_refuses_is_reported_by_the_far_side():
    channel = PeerChannel()
    channel.server.kill()
    channel.to(1)
    channel.write()
    channel.to(100)
    assert channel.answers == [(21, (STORAGE_REFUSED, False))]


def test_a_server_that_stalls_is_reported_by_the_far_side_after_five_seconds():
    channel = PeerChannel()
    channel.server.pause()
    channel.write()
    channel.to(5_100)
    assert channel.answers == [(5_020, (STORAGE_REFUSED, True))]
    assert not channel.peer.connected
    channel.to(6_100)
    assert channel.peer.connected


@pytest.mark.parametrize(("lag_ms", "answered_ms"), [(10, 22), (0, 12)])
def test_a_server_that_is_killed_with_requests_inside_may_have_applied_them(lag_ms, answered_ms):
    channel = PeerChannel(lag_ms=lag_ms, service_ns=50 * MS)
    channel.write()
    channel.to(12)
    channel.server.kill()
    channel.to(100)
    assert channel.answers == [(answered_ms, (STORAGE_REFUSED, True))]


def test_a_frozen_peer_accepts_connections_so_only_the_gap_before_reconnecting_is_lost():
    channel = PeerChannel(lag_ms=0)
    channel.out.cut(Cut.FREEZE)
    for number in range(4):
        channel.to(number * 7_000)
        channel.write(number)
    channel.to(25_700)
    channel.write("gap")
    channel.to(40_000)
    channel.out.mend()
    channel.to(40_500)
    assert [key for key, _ in channel.executed] == ["0", "1", "2", "3"]
    assert (25_700, NOT_CONNECTED) in channel.answers


class TestStraightWay:
    """What was sent over clear links goes on by the rules of whatever becomes of the links while the server works."""

    @staticmethod
    def channel():
        channel = PeerChannel(lag_ms=0, service_ns=10 * MS)
        channel.write()
        channel.to(5)
        assert (channel.peer.in_flight, channel.answers) == (1, [])
        return channel

    def test_an_answer_takes_the_lag_that_the_way_back_has_by_then(self):
        channel = self.channel()
        channel.back.set_lag(ConstantLag(30))
        channel.write()
        assert channel.peer.in_flight == 2
        channel.to(1_000)
        assert (channel.answers, channel.peer.in_flight) == ([(40, 1), (50, 2)], 0)

    def test_an_answer_is_not_overtaken_by_later_ones_when_the_way_is_clear_again(self):
        channel = self.channel()
        channel.back.set_lag(ConstantLag(30))
        channel.to(12)
        channel.back.set_lag(ConstantLag(0))
        for _ in range(2):
            channel.write()
            channel.to(50)
        assert channel.answers == [(40, 1), (40, 2)]
        channel.to(1_000)
        assert channel.answers[2:] == [(60, 3)]

    def test_a_request_is_counted_once_whatever_becomes_of_the_links(self):
        channel = self.channel()
        for lag_ms in (30, 0):
            channel.back.set_lag(ConstantLag(lag_ms))
            assert channel.peer.in_flight == 1
        channel.write()
        assert channel.peer.in_flight == 2
        channel.to(1_000)
        assert (channel.answers, channel.peer.in_flight) == ([(10, 1), (20, 2)], 0)

    @pytest.mark.parametrize(("mended_ms", "answer"), [(60_000, (25_200, DOUBTFUL)), (100, (100, 1))])
    def test_a_held_way_back_holds_the_answer_until_it_is_mended_or_the_peers_time_out(self, mended_ms, answer):
        channel = self.channel()
        channel.back.cut(Cut.HOLD)
        channel.to(min(mended_ms, 25_200) - 1)
        assert channel.answers == []
        channel.to(mended_ms)
        channel.back.mend()
        channel.to(90_000)
        assert channel.answers == [answer]
        assert channel.executed == [("n", 10)]

    @pytest.mark.parametrize("reset", ["out", "back", "closed"])
    def test_a_reset_or_closing_fails_what_is_at_the_server_as_possibly_applied(self, reset):
        channel = self.channel()
        if reset == "closed":
            channel.peer.close()
        else:
            getattr(channel, reset).cut(Cut.DROP)
        assert (channel.answers, channel.peer.in_flight) == ([(5, DOUBTFUL)], 0)
        channel.to(60_000)
        assert channel.executed == [("n", 10)]
        assert len(channel.answers) == 1

    def test_a_peer_time_out_below_that_of_the_server_still_comes_first(self):
        channel = PeerChannel(lag_ms=0, timeouts=Timeouts(peer_write_ms=100))
        channel.server.pause()
        channel.write()
        channel.to(1_000)
        assert channel.answers == [(100, DOUBTFUL)]


def test_closing_fails_everything_and_ends_every_attempt():
    channel = PeerChannel()
    channel.write()
    channel.peer.close()
    channel.write()
    assert channel.answers == [(0, LOST), (0, NOT_CONNECTED)]
    channel.out.cut(Cut.DROP)
    channel.out.mend()
    channel.to(60_000)
    assert not channel.peer.connected
    assert channel.executed == []


@pytest.mark.parametrize(("way", "executed"), [("out", [("n", 10), ("n", 13)]), ("back", [("n", 10)])])
def test_a_request_that_arrives_twice_is_executed_twice_and_its_reply_is_heard_once(way, executed):
    channel = PeerChannel()
    getattr(channel, way).set_duplication(1.0, after_ns=3 * MS)
    channel.write()
    channel.to(100)
    assert channel.executed == executed
    assert (channel.answers, channel.peer.in_flight) == ([(20, 1)], 0)


def test_a_copy_of_what_was_reported_as_not_applied_is_not_applied_either():
    channel = PeerChannel()
    channel.out.set_duplication(1.0, after_ns=50 * MS)
    channel.write()
    channel.to(5)
    channel.out.cut(Cut.DROP)
    channel.out.mend()
    channel.to(1_000)
    assert (channel.answers, channel.executed) == ([(5, LOST)], [])
