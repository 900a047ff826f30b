"""Goal: a server's connection fails and recovers by Dynomite's rules. Method: a scripted server in virtual time."""

import pytest
from support.cluster.scripted import MS, S, ScriptedServer

from cluster.connections.batch import Batch
from cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from cluster.connections.server import ServerConnection
from cluster.connections.timeouts import Timeouts
from cluster.coordinators.direct import DirectConnection
from cluster.sim.runtime import SimRuntime
from engine.ports import Indeterminate, Unavailable


class Rig:
    """A connection to one server, and what came back, with times."""

    def __init__(self, *, up=True, service_ns=0):
        self.runtime = SimRuntime(seed=1)
        self.server = ScriptedServer("a", self.runtime, service_ns=service_ns)
        self.server.up = up
        self.connection = ServerConnection(upstream=self.server.upstream(), runtime=self.runtime, timeouts=Timeouts())
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
    rig = Rig(service_ns=1 * MS)
    rig.submit(("SET", "k", "v"), ("GET", "k"))
    rig.submit(("INCR", "n"))
    assert rig.connection.in_flight == 2
    rig.run_to(10 * MS)
    assert [answer for _, answer in rig.answers] == [[b"OK", b"v"], [1]]
    assert rig.connection.in_flight == 0


def test_a_server_that_refuses_fails_at_once_and_keeps_nothing():
    rig = Rig(up=False)
    assert not rig.connection.connected
    rig.submit(("INCR", "n"))
    assert rig.failures == [(0.001, False)]
    rig.server.restart()
    rig.run_to(60 * S)
    assert rig.connection.connected
    assert rig.server.executed == []


def test_a_server_that_stalls_times_out_after_five_seconds_with_everything_on_the_connection():
    rig = Rig()
    rig.run_to(1 * S)
    rig.server.pause()
    rig.submit(("INCR", "n"))
    rig.run_to(3 * S)
    rig.submit(("INCR", "n"))
    rig.run_to(6 * S - 1)
    assert rig.failures == []
    rig.run_to(6 * S + 1)
    assert rig.failures == [(6, True), (6, True)]
    assert not rig.connection.connected


def test_a_stalled_server_applies_what_timed_out_when_it_goes_on():
    rig = Rig()
    rig.server.pause()
    rig.submit(("SET", "k", "v"))
    rig.run_to(7 * S)
    assert [applied for _, applied in rig.failures] == [True]
    rig.server.resume()
    assert rig.server.store == {"k": "v"}
    rig.run_to(20 * S)
    assert len(rig.answers) == 1


def test_a_stalled_server_is_connected_to_again_after_one_second_each_time():
    """The kernel of a stopped process accepts connections, so the back-off never grows: a cycle of 5 s + 1 s."""
    rig = Rig()
    rig.server.attempts.clear()
    rig.server.pause()
    for number in range(39):
        rig.run_to(2 * MS + number * 501 * MS)
        rig.submit(("INCR", "n"))
    rig.run_to(20 * S)
    assert [time_ns // MS for time_ns in rig.server.attempts] == [6_002, 12_014, 18_026]
    assert [time_s for time_s, applied in rig.failures if not applied] == [5.012, 5.513, 11.024, 11.525, 17.036, 17.537]


def test_an_answer_in_time_gives_the_next_request_its_full_five_seconds():
    rig = Rig()
    rig.submit(("INCR", "n"))
    rig.run_to(2 * S)
    rig.server.pause()
    rig.submit(("INCR", "n"))
    rig.run_to(7 * S - 1)
    assert rig.failures == []
    rig.run_to(7 * S + 1)
    assert rig.failures == [(7, True)]


def test_a_killed_server_fails_what_is_in_flight_as_possibly_applied():
    rig = Rig(service_ns=10 * MS)
    rig.submit(("INCR", "n"))
    rig.run_to(5 * MS)
    rig.server.kill()
    rig.run_to(6 * MS)
    assert rig.failures == [(0.005, True)]
    rig.submit(("INCR", "n"))
    assert rig.failures[1:] == [(0.006, False)]
    rig.run_to(1 * S)
    assert rig.server.executed == []


def test_a_paused_server_that_is_killed_never_applies_what_its_sockets_held():
    rig = Rig()
    rig.server.pause()
    rig.submit(("INCR", "n"))
    rig.run_to(1 * S)
    rig.server.kill()
    rig.run_to(1 * S + 1 * MS)
    assert rig.failures == [(1, True)]
    rig.server.restart()
    rig.run_to(30 * S)
    assert rig.server.executed == []


def test_a_dead_server_is_tried_after_1_2_4_8_10_and_10_seconds():
    rig = Rig()
    rig.run_to(2 * S)
    rig.server.kill()
    rig.server.attempts.clear()
    rig.run_to(48 * S)
    assert [time_ns // S - 2 for time_ns in rig.server.attempts] == [1, 3, 7, 15, 25, 35, 45]


def test_a_server_that_comes_back_is_found_by_the_next_attempt_and_the_back_off_forgotten():
    rig = Rig()
    rig.server.kill()
    rig.run_to(4 * S)
    rig.server.restart()
    rig.run_to(8 * S)
    assert rig.connection.connected
    rig.server.kill()
    rig.server.attempts.clear()
    rig.run_to(10 * S)
    assert [time_ns // S for time_ns in rig.server.attempts] == [9]


def test_connecting_is_told_to_who_asks():
    rig = Rig(up=False)
    connected = []
    rig.connection.on_connected = lambda: connected.append(rig.runtime.now_ns() // S)
    rig.server.restart()
    rig.run_to(30 * S)
    assert connected == [1]


def test_closing_fails_what_is_in_flight_and_ends_every_attempt():
    rig = Rig(service_ns=10 * MS)
    rig.submit(("INCR", "n"))
    rig.connection.close()
    assert rig.failures == [(0.001, True)]
    rig.submit(("INCR", "n"))
    assert rig.failures[1:] == [(0.001, False)]
    rig.server.attempts.clear()
    rig.run_to(60 * S)
    assert rig.server.attempts == []


def test_closing_while_waiting_to_reconnect_ends_every_attempt():
    rig = Rig(up=False)
    rig.connection.close()
    rig.server.attempts.clear()
    rig.run_to(60 * S)
    assert rig.server.attempts == []


def direct(rig, *commands):
    return rig.runtime.run_until_complete(DirectConnection(rig.connection, runtime=rig.runtime).execute(*commands))


def test_a_direct_connection_returns_the_servers_replies():
    assert direct(Rig(), ("SET", "k", "v"), ("GET", "k"), ("GET", "absent")) == [b"OK", b"v", None]


@pytest.mark.parametrize(("command", "error"), [(("INCR", "n"), Indeterminate), (("GET", "n"), Unavailable)])
def test_a_direct_connection_tells_a_write_that_timed_out_from_a_read(command, error):
    rig = Rig()
    rig.server.pause()
    with pytest.raises(error, match="Datastore refused connection"):
        direct(rig, command)


def test_a_direct_connection_that_is_refused_applied_nothing():
    with pytest.raises(Unavailable, match="Datastore refused connection"):
        direct(Rig(up=False), ("INCR", "n"))
