"""Goal: a server's connection fails and recovers by Dynomite's rules. Method: a simulated server."""

from itertools import pairwise
from weakref import WeakSet

import pytest
from support.cluster.stepped import MS, LoggedServer, S

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.connections.turns import COMMANDS_PER_TURN
from zonelab.cluster.coordinators.direct import DirectConnection
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.schedule import Schedule, TieBreak
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.sim.upstream import SimUpstream
from zonelab.engine.ports import Indeterminate, Unavailable


class OneServer:
    """A connection to one server, and what came back, with times in seconds."""

    def __init__(self, *, up=True, service_ns=0):
        self.runtime = SimRuntime(seed=1, schedule=Schedule(tie_break=TieBreak.FIFO))
        clock = NodeClock(epoch_ns=0, run_ns=self.runtime.now_ns)
        free = ServerSettings(request_ns=0, reply_ns=0, service_ns=service_ns)
        self.server = LoggedServer("a", runtime=self.runtime, clock=clock, settings=free)
        if up:
            self.server.boot()
        upstream = SimUpstream(self.server, runtime=self.runtime)
        self.connection = ServerConnection(upstream=upstream, runtime=self.runtime, timeouts=Timeouts())
        self.connected_s = []
        self.connection.on_connected = lambda: self.connected_s.append(round(self.runtime.now_ns() / S, 3))
        self.answers = []
        self.connection.open()
        self.run_to(1 * MS)

    def run_to(self, time_ns):
        self.runtime.run(for_ns=time_ns - self.runtime.now_ns())

    def submit(self, *commands):
        self.connection.submit(Batch(commands, writes=True), self.note)

    def note(self, answer):
        self.answers.append((self.runtime.now_ns() / S, answer))

    @property
    def failures(self):
        """Times of failures, and whether the commands may have been applied."""
        assert all(str(answer) == STORAGE_REFUSED for _, answer in self.answers if isinstance(answer, ZoneFailure))
        return [(time_s, answer.maybe_applied) for time_s, answer in self.answers if isinstance(answer, ZoneFailure)]


def test_replies_come_back_in_order_one_list_a_pipeline():
    one = OneServer(service_ns=1 * MS)
    one.submit(("SET", "k", "v"), ("GET", "k"))
    one.submit(("INCR", "n"))
    assert one.connection.in_flight == 2
    one.run_to(10 * MS)
    assert [answer for _, answer in one.answers] == [[b"OK", b"v"], [1]]
    assert one.connection.in_flight == 0


def test_a_server_that_refuses_fails_at_once_and_keeps_nothing():
    one = OneServer(up=False)
    assert not one.connection.connected
    one.submit(("INCR", "n"))
    assert one.failures == [(0.001, False)]
    one.server.restart()
    one.run_to(60 * S)
    assert one.connection.connected
    assert one.server.executed == []


def test_a_server_that_stalls_times_out_after_five_seconds_with_everything_on_the_connection():
    one = OneServer()
    one.run_to(1 * S)
    one.server.pause()
    one.submit(("INCR", "n"))
    one.run_to(3 * S)
    one.submit(("INCR", "n"))
    one.run_to(6 * S - 1)
    assert one.failures == []
    one.run_to(6 * S + 1)
    assert one.failures == [(6, True), (6, True)]
    assert not one.connection.connected


def test_callers_of_much_that_times_out_are_told_in_order_over_several_turns_of_the_loop():
    one = OneServer()
    one.server.pause()
    told = []
    turns = []

    def turn():
        turns.append(len(told))
        if len(told) < 2_000:
            one.runtime.call_later(0, turn)

    for number in range(2_000):
        one.connection.submit(Batch([("INCR", "n")], writes=True), lambda _, number=number: told.append(number))
    one.runtime.call_later(Timeouts().datastore_ns, turn)
    one.run_to(5 * S + 2 * MS)
    assert told == list(range(2_000))
    assert max(after - before for before, after in pairwise(turns)) <= COMMANDS_PER_TURN
    for number in range(2_000):
        one.connection.submit(Batch([("INCR", "n")], writes=True), lambda _, number=number: told.append(number))
    one.connection.close()
    assert len(told) == 4_000, "nobody waits for what is closed for good"


def test_large_commands_that_time_out_are_freed_over_several_turns_of_the_loop():
    one = OneServer()
    one.server.pause()
    told, turns = [], []

    def turn():
        turns.append(len(told))
        if len(told) < 40:
            one.runtime.call_later(0, turn)

    for _ in range(40):
        one.connection.submit(Batch([("INCR", "n")], writes=True, packed=bytes(4_000_000)), told.append)
    one.runtime.call_later(Timeouts().datastore_ns, turn)
    one.run_to(5 * S + 2 * MS)
    assert len(told) == 40
    assert 2 <= max(after - before for before, after in pairwise(turns)) <= 5, "20 MB are freed in a few milliseconds"


def test_what_failed_is_let_go_of_as_its_caller_is_told():
    """Else the memory of all votes that a stalled zone has held up is taken at once, and freed in one turn."""
    one = OneServer()
    one.server.pause()
    callers, left = WeakSet(), []

    def caller():
        def told(_):
            left.append(len(callers))

        callers.add(told)
        return told

    for _ in range(4):
        one.connection.submit(Batch([("INCR", "n")], writes=True), caller())
    one.connection.close()
    assert left == [4, 3, 2, 1]


def test_a_stalled_server_applies_what_timed_out_when_it_goes_on():
    one = OneServer()
    one.server.pause()
    one.submit(("SET", "k", "v"))
    one.run_to(7 * S)
    assert [applied for _, applied in one.failures] == [True]
    one.server.resume()
    assert one.server.value("k") == "v"
    one.run_to(20 * S)
    assert len(one.answers) == 1


def test_a_stalled_server_is_connected_to_again_after_one_second_each_time():
    """The kernel of a stopped process accepts connections, so the back-off never grows: a cycle of 5 s + 1 s."""
    one = OneServer()
    one.server.pause()
    for number in range(39):
        one.run_to(2 * MS + number * 501 * MS)
        one.submit(("INCR", "n"))
    one.run_to(20 * S)
    assert one.connected_s[1:] == [6.002, 12.014, 18.026]
    assert [time_s for time_s, applied in one.failures if not applied] == [5.012, 5.513, 11.024, 11.525, 17.036, 17.537]


def test_an_answer_in_time_gives_the_next_request_its_full_five_seconds():
    one = OneServer()
    one.submit(("INCR", "n"))
    one.run_to(2 * S)
    one.server.pause()
    one.submit(("INCR", "n"))
    one.run_to(7 * S - 1)
    assert one.failures == []
    one.run_to(7 * S + 1)
    assert one.failures == [(7, True)]


def test_a_killed_server_fails_what_is_in_flight_as_possibly_applied():
    one = OneServer(service_ns=10 * MS)
    one.submit(("INCR", "n"))
    one.run_to(5 * MS)
    one.server.kill()
    one.run_to(6 * MS)
    assert one.failures == [(0.005, True)]
    one.submit(("INCR", "n"))
    assert one.failures[1:] == [(0.006, False)]
    one.run_to(1 * S)
    assert one.server.executed == []


def test_a_paused_server_that_is_killed_never_applies_what_its_sockets_held():
    one = OneServer()
    one.server.pause()
    one.submit(("INCR", "n"))
    one.run_to(1 * S)
    one.server.kill()
    one.run_to(1 * S + 1 * MS)
    assert one.failures == [(1, True)]
    one.server.restart()
    one.run_to(30 * S)
    assert one.server.executed == []


@pytest.mark.parametrize(
    ("down_s", "found_s"), [(0.9, 1), (1.1, 3), (6.9, 7), (7.1, 15), (15.1, 25), (25.1, 35), (35.1, 45)]
)
def test_a_dead_server_is_tried_after_1_2_4_8_10_and_10_seconds_and_the_back_off_is_forgotten(down_s, found_s):
    one = OneServer()
    one.run_to(2 * S)
    for _ in range(2):
        killed_s = one.runtime.now_ns() / S
        one.server.kill()
        one.run_to(round((killed_s + down_s) * S))
        one.server.restart()
        one.run_to(round((killed_s + 50) * S))
        assert one.connected_s[-1] - killed_s == found_s


def test_closing_fails_what_is_in_flight_and_ends_every_attempt():
    one = OneServer(service_ns=10 * MS)
    one.submit(("INCR", "n"))
    one.connection.close()
    assert one.failures == [(0.001, True)]
    one.submit(("INCR", "n"))
    assert one.failures[1:] == [(0.001, False)]
    one.run_to(60 * S)
    assert len(one.connected_s) == 1


def test_closing_while_waiting_to_reconnect_ends_every_attempt():
    one = OneServer(up=False)
    one.connection.close()
    one.server.boot()
    one.run_to(60 * S)
    assert one.connected_s == []


def direct(one, *commands):
    return one.runtime.run_until_complete(DirectConnection(one.connection, runtime=one.runtime).execute(*commands))


@pytest.mark.parametrize(("command", "error"), [(("INCR", "n"), Indeterminate), (("GET", "n"), Unavailable)])
def test_a_direct_connection_tells_a_write_that_timed_out_from_a_read(command, error):
    one = OneServer()
    one.server.pause()
    with pytest.raises(error, match="Datastore refused connection"):
        direct(one, command)


def test_a_direct_connection_that_is_refused_applied_nothing():
    with pytest.raises(Unavailable, match="Datastore refused connection"):
        direct(OneServer(up=False), ("INCR", "n"))
