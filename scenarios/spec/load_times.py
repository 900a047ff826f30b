"""Times of the load of a scenario's runs, so that one shows a fault as long as it is and the end of its backlog."""

from functools import lru_cache
from math import inf
from random import Random

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.engine.units import NS_PER_S
from zonelab.scenarios.spec.evaluate import LoadTimes
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.thinning import MESSAGES_MAX, most_thinned

RECONNECT_MAX_S = 10.0
"""Dynomite's longest back-off before it tries again to connect; scaled by ``replication.time_factor``."""

_DRAWS = 4_000


def load_times(scenario: Scenario) -> LoadTimes:
    """Return the times of runs, which are thinned as far as they can be where they would have too many messages."""
    load = scenario.load
    rates = [load.rate_of(zone) for zone in scenario.zones]
    at_work = max(rates) * _mean_s(scenario.consumers.processing)
    return LoadTimes(
        run_s=load.duration_s,
        busy=at_work / max(1, scenario.consumers.per_zone),
        settle_s=settle_s(scenario),
        most_s=MESSAGES_MAX * most_thinned(scenario) / sum(rates) if any(rates) else inf,
        grows=load.operations is None and load.arrivals is None,
    )


def settle_s(scenario: Scenario, *, reconnects: bool = True) -> float:
    """One lease and one look for ended leases; and the longest reconnection, after a fault."""
    lease_s = (scenario.queue.unack_ms + scenario.queue.unack_interval_ms) / 1000
    return lease_s + (RECONNECT_MAX_S * scenario.replication.time_factor if reconnects else 0.0)


@lru_cache(maxsize=16)
def _mean_s(text: str) -> float:
    draw = parse_lag(text).sampler(Random(0))
    return sum(draw() for _ in range(_DRAWS)) / _DRAWS / NS_PER_S
