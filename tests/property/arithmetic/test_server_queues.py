"""Goal: commands wait for whoever takes time over them as queueing theory says. Method: known queues; planted bugs.

One zone, commands that arrive as a Poisson process, and one of server, coordinator and program that takes time over
them: M/M/1, M/D/1 and M/G/1. The mean time from a command's arrival to its answer is that of Pollaczek and Khinchine,
E[S] + rate E[S^2] / (2 (1 - rate E[S])), and of two at work, M/M/2, that of Erlang, E[S] / (1 - (rate E[S] / 2)^2). For
M/M/1 the whole distribution is known: exponential with mean E[S] / (1 - rate E[S]). Waits of neighbours depend on each
other, so means are judged by blocks.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.scenarios.sim_runs import small

from zonelab.cluster.sim.server import SimServer
from zonelab.cluster.sim.station import Station
from zonelab.scenarios.run.simulated import ROUND_TRIP_NS, simulate
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables

RATE_PER_S = 500
LOAD_S = 20
BLOCKS = 40
CONFIDENCE = 0.999

SERVICE = {
    "exponential:1ms": (1e-3, 2e-6),
    "constant:1ms": (1e-3, 1e-6),
    "0.9*constant:0.5ms + 0.1*constant:5ms": (0.95e-3, 0.9 * 0.25e-6 + 0.1 * 25e-6),
}
"""First and second moment of the service times, in seconds."""


def waits_s(service: Any, *, load_s: float = LOAD_S) -> np.ndarray:
    """Of each read, in the order of their ends. ``service``: that of the server, or who takes how long."""
    scenario = small(
        topology={"zones": ["a"]},
        level="DC_ONE",
        load={"duration_s": load_s, "rate_per_s": RATE_PER_S, "delay": "0"},
        workload={"kind": "register", "mix": {"read": 1}},
        simulation={"service": service},
        drain={"bound_s": 60},
    )
    tables = MemoryTables()
    assert simulate(scenario, tables).record.status == "complete"
    columns = tables.tables[OPERATIONS_NAME].batch(["time_ns", "invoke_ns", "type"]).to_pydict()
    rows = zip(columns["time_ns"], columns["invoke_ns"], columns["type"], strict=True)
    return np.array([(end - begin - ROUND_TRIP_NS) / 1e9 for end, begin, kind in rows if kind == "ok"])


def interval(waits: np.ndarray) -> tuple[float, float]:
    """Of the mean, from the means of blocks that are long enough to be independent."""
    means = np.array([block.mean() for block in np.array_split(waits, BLOCKS)])
    low, high = stats.t.interval(CONFIDENCE, BLOCKS - 1, means.mean(), stats.sem(means))
    return float(low), float(high)


def expected_s(service: str) -> float:
    mean, square = SERVICE[service]
    return mean + RATE_PER_S * square / (2 * (1 - RATE_PER_S * mean))


@pytest.mark.parametrize("service", SERVICE)
def test_the_mean_wait_is_that_of_pollaczek_and_khinchine(service: str) -> None:
    low, high = interval(waits_s(service))
    assert low <= expected_s(service) <= high
    assert high - low < expected_s(service) / 2


def waits_at_s(who: str, service: str, *, capacity: int = 1) -> np.ndarray:
    """Where only ``who`` takes time."""
    return waits_s({"server": "0", who: {"time": service, "capacity": capacity}}, load_s=8)


@pytest.mark.parametrize(("who", "service"), [("coordinator", "exponential:1ms"), ("program", "constant:1ms")])
def test_coordinators_and_programs_are_waited_for_as_servers_are(who: str, service: str) -> None:
    low, high = interval(waits_at_s(who, service))
    assert low <= expected_s(service) <= high


def test_two_at_work_are_those_of_erlang() -> None:
    low, high = interval(waits_at_s("program", "exponential:1.5ms", capacity=2))
    load = RATE_PER_S * 1.5e-3 / 2
    assert low <= 1.5e-3 / (1 - load * load) <= high


def test_a_coordinator_that_serves_two_at_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Station.__init__

    def twice(self: Station, *given, **named) -> None:
        right(self, *given, **named)
        self._workers._capacity = 2

    monkeypatch.setattr(Station, "__init__", twice)
    _, high = interval(waits_at_s("coordinator", "exponential:1ms"))
    assert high < expected_s("exponential:1ms")


def test_nine_in_ten_commands_wait_as_long_as_the_exponential_distribution_says() -> None:
    mean_s = expected_s("exponential:1ms")
    low, high = interval((waits_s("exponential:1ms") > mean_s * np.log(10)).astype(float))
    assert low <= 0.1 <= high


def test_a_server_that_works_on_several_commands_at_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def receive(self: SimServer, connection, batch, on_replies) -> None:
        cost_ns = sum(self._costs_ns(batch))
        self._drawn_ns = []

        def answer() -> None:
            self._inbox.appendleft((connection, batch, on_replies, 0))
            self._finish()

        self._runtime.call_later(ROUND_TRIP_NS + cost_ns, answer)

    monkeypatch.setattr(SimServer, "receive", receive)
    _, high = interval(waits_s("exponential:1ms"))
    assert high < expected_s("exponential:1ms")


def test_a_mean_service_time_that_is_wrong_by_a_tenth_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = SimServer._costs_ns
    monkeypatch.setattr(SimServer, "_costs_ns", lambda self, batch: [cost * 9 // 10 for cost in right(self, batch)])
    _, high = interval(waits_s("exponential:1ms"))
    assert high < expected_s("exponential:1ms")
