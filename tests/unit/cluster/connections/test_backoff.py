"""Goal: time-outs and reconnection are Dynomite's, scaled by one factor. Method: attempts in virtual time.

How long a connection to a server waits is in ``test_server``.
"""

import pytest

from zonelab.cluster.connections.backoff import Reconnect
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.sim.runtime import SimRuntime

S = 1_000_000_000


@pytest.mark.parametrize("factor", [1, 0.1])
def test_attempts_back_off_by_the_factor_and_being_told_twice_changes_nothing(factor):
    runtime, made_s = SimRuntime(seed=1), []

    def attempt():
        made_s.append(runtime.now_ns() / S)
        reconnect.down()

    reconnect = Reconnect(runtime=runtime, timeouts=Timeouts(factor=factor), attempt=attempt)
    reconnect.down()
    runtime.run(for_ns=round(factor * S / 2))
    reconnect.down()
    runtime.run(for_ns=round(factor * 40 * S))
    assert made_s == [pytest.approx(factor * waited) for waited in (1, 3, 7, 15, 25, 35)]
    reconnect.stop()
    runtime.run(for_ns=20 * S)
    assert len(made_s) == 6


@pytest.mark.parametrize("factor", [1, 0.02])
def test_one_factor_scales_dynomites_defaults(factor):
    timeouts = Timeouts(factor=factor)
    assert timeouts.datastore_ns == 5 * S * factor
    assert timeouts.peer_ns(writes=False) == 5.2 * S * factor
    assert timeouts.peer_ns(writes=True) == 25.2 * S * factor
    assert [timeouts.reconnect_ns(attempt) for attempt in range(6)] == [
        factor * S * wait for wait in (1, 2, 4, 8, 10, 10)
    ]


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_a_factor_that_is_not_positive_is_refused(factor):
    with pytest.raises(ValueError, match=f"factor must be above 0 and finite, got {factor}"):
        Timeouts(factor=factor)


def test_reconnecting_needs_a_delay():
    with pytest.raises(ValueError, match="at least one delay"):
        Timeouts(reconnect_ms=())
