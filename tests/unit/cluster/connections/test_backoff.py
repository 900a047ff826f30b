"""Goal: reconnection waits 1, 2, 4, 8, 10, 10 s and starts over after success. Method: attempts in virtual time."""

import pytest

from cluster.connections.backoff import Reconnect
from cluster.connections.timeouts import Timeouts
from cluster.sim.runtime import SimRuntime

S = 1_000_000_000


class Attempts:
    """Attempts that fail until ``succeed`` is set, and the seconds at which they were made."""

    def __init__(self, timeouts=None):
        self.runtime = SimRuntime(seed=1)
        self.made_s = []
        self.succeed = False
        self.reconnect = Reconnect(runtime=self.runtime, timeouts=timeouts or Timeouts(), attempt=self.attempt)

    def attempt(self):
        self.made_s.append(self.runtime.now_ns() / S)
        if self.succeed:
            self.reconnect.up()
        else:
            self.reconnect.down()

    def run(self, duration_s):
        self.runtime.run(for_ns=round(duration_s * S))


def test_attempts_back_off_to_ten_seconds():
    attempts = Attempts()
    attempts.reconnect.down()
    attempts.run(46)
    assert attempts.made_s == [1, 3, 7, 15, 25, 35, 45]


def test_success_forgets_the_back_off():
    attempts = Attempts()
    attempts.reconnect.down()
    attempts.run(4)
    attempts.succeed = True
    attempts.run(6)
    attempts.reconnect.down()
    attempts.run(5)
    assert attempts.made_s == [1, 3, 7, 11]


def test_being_told_twice_that_the_connection_is_down_changes_nothing():
    attempts = Attempts()
    attempts.reconnect.down()
    attempts.run(0.5)
    attempts.reconnect.down()
    attempts.run(3)
    assert attempts.made_s == [1, 3]


def test_no_attempt_is_made_after_stopping():
    attempts = Attempts()
    attempts.reconnect.down()
    attempts.reconnect.stop()
    attempts.run(20)
    assert attempts.made_s == []


def test_one_factor_scales_every_wait():
    attempts = Attempts(Timeouts(factor=0.1))
    attempts.reconnect.down()
    attempts.run(2.6)
    assert attempts.made_s == [0.1, 0.3, 0.7, 1.5, 2.5]


def test_the_defaults_are_dynomites():
    timeouts = Timeouts()
    assert timeouts.datastore_ns == 5 * S
    assert timeouts.peer_ns(writes=False) == 5.2 * S
    assert timeouts.peer_ns(writes=True) == 25.2 * S
    assert [timeouts.reconnect_ns(attempt) / S for attempt in range(6)] == [1, 2, 4, 8, 10, 10]


def test_one_factor_scales_every_time_out():
    timeouts = Timeouts(factor=0.02)
    assert timeouts.datastore_ns == 0.1 * S
    assert timeouts.peer_ns(writes=False) == 0.104 * S
    assert timeouts.peer_ns(writes=True) == 0.504 * S


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_a_factor_that_is_not_positive_is_refused(factor):
    with pytest.raises(ValueError, match=f"factor must be above 0 and finite, got {factor}"):
        Timeouts(factor=factor)


def test_reconnecting_needs_a_delay():
    with pytest.raises(ValueError, match="at least one delay"):
        Timeouts(reconnect_ms=())
