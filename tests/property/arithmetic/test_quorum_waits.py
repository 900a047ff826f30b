"""Goal: simulated commands wait as long as arithmetic says. Method: order statistics of round trips; planted bugs.

A round trip is the sum of two lags. At DC_QUORUM of three zones the own server answers at once, so a command waits for
the smaller of two round trips; at DC_ONE it waits for none. Commands are so far apart that none waits behind another.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.lags.distributions import Floats, quantiles_ms
from zonelab.analysis.statistics import distribution_margin
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Link
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.votes.levels import Level, LevelRule
from zonelab.scenarios.lags.distributions import distribution_of
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME

COMMANDS = 1_000
MARGIN = distribution_margin(COMMANDS, confidence=0.9999)
PAUSE_NS = 100_000_000_000
AT_ONCE = ServerSettings(request_ns=0, reply_ns=0, service_ns=0)
LAGS = ("exponential:2ms", "pareto:1ms:2.5", "lnkd-disk-w")

SHARES = (np.arange(1_000) + 0.5) / 1_000

Cdf = Callable[[Floats], Floats]


def waits_ms(lag: str, level: Level) -> Floats:
    """How long each of many single commands took."""
    settings = SimSettings(seed=1, lag=parse_lag(lag), server=AT_ONCE, timeouts=Timeouts(factor=1_000))
    cluster = SimCluster(("a", "b", "c"), settings)
    found = []

    async def whole() -> None:
        async with cluster:
            connection = cluster.connection("a", level)
            for number in range(COMMANDS):
                begin_ns = cluster.runtime.now_ns()
                await connection.execute(("SET", "k", str(number)))
                found.append(cluster.runtime.now_ns() - begin_ns)
                await cluster.runtime.sleep(PAUSE_NS)

    cluster.runtime.run_until_complete(whole())
    return np.array(found) / 1e6


def sum_of(first: Cdf, second_ms: Floats) -> Cdf:
    """The distribution function of the sum of two independent delays; of the second, quantiles at equal steps."""
    return lambda at_ms: np.array([first(at - second_ms).mean() for at in np.atleast_1d(at_ms)])


def round_trip(lag: str) -> Cdf:
    one_way = distribution_of(parse_lag(lag))
    return sum_of(one_way.share_within, quantiles_ms(one_way, SHARES))


def least_of_two(each: Cdf) -> Cdf:
    return lambda at_ms: 1 - (1 - each(at_ms)) ** 2


def distance(values: Sequence[float] | Floats, cdf: Cdf) -> float:
    return float(stats.ks_1samp(values, cdf, method="asymp").statistic)


def quorum_distance(lag: str) -> float:
    return distance(waits_ms(lag, Level.DC_QUORUM), least_of_two(round_trip(lag)))


@pytest.mark.parametrize("lag", LAGS)
def test_a_quorum_waits_for_the_smaller_of_two_round_trips(lag: str) -> None:
    assert quorum_distance(lag) <= MARGIN


def test_constant_lags_add_up_exactly_and_one_zone_waits_for_no_link() -> None:
    assert set(waits_ms("2ms", Level.DC_SAFE_QUORUM)) == {4.0}
    assert set(waits_ms("exponential:2ms", Level.DC_ONE)) == {0.0}


def test_a_vote_that_waits_for_one_reply_too_many_is_caught(monkeypatch) -> None:
    monkeypatch.setattr(LevelRule, "needed", lambda rule, zones: zones // 2 + 2)
    assert quorum_distance(LAGS[0]) > MARGIN


def test_a_link_that_draws_one_lag_for_all_its_messages_is_caught(monkeypatch) -> None:
    right = Link.__init__
    monkeypatch.setattr(Link, "__init__", lambda self, **given: right(self, **given | {"coherence_ns": 10**18}))
    assert quorum_distance(LAGS[0]) > MARGIN


PUSHES = 200
SERVERS_MS = 0.09
"""Of both commands: the way to a server, and its work."""


def push_waits_ms() -> Floats:
    scenario = small(
        level="DC_QUORUM",
        links={"lag": "exponential:5ms", "coherence_ms": 200},
        queue={"unack_ms": 10_000, "unack_interval_ms": 100_000},
        load={"duration_s": PUSHES / 2, "rate_per_s": {"a": 2}, "arrival": "constant", "delay": "0"},
        consumers={"per_zone": 0},
        drain={"bound_s": 110},
    )
    _, tables, _ = run_in_memory(scenario)
    names = ["time_ns", "invoke_ns", "f", "type"]
    columns = tables.tables[OPERATIONS_NAME].batch(names).to_pydict()
    return np.array(
        [
            (columns["time_ns"][row] - columns["invoke_ns"][row]) / 1e6
            for row, what in enumerate(zip(columns["f"], columns["type"], strict=True))
            if what == ("push", "ok")
        ]
    )


def test_a_push_is_two_such_waits_one_after_the_other() -> None:
    """It writes the payload, then the id, both within the time for which links keep a lag: so both wait as long."""
    found = push_waits_ms() - SERVERS_MS
    margin = distribution_margin(found.size, confidence=0.9999)
    assert found.size >= PUSHES - 1
    one = least_of_two(round_trip("exponential:5ms"))
    assert distance(found, lambda at_ms: one(at_ms / 2)) <= margin
    for commands in (1, 3):
        assert distance(found, lambda at_ms, commands=commands: one(at_ms / commands)) > margin
