"""What a scenario says about links and time-outs, as both arms take it."""

from typing import TypedDict

from cluster.handoff import HandoffSettings
from cluster.lag import Lag, parse_lag
from cluster.timeouts import Timeouts
from cluster.topology import Topology
from scenarios.spec import Scenario, parse_link

_NS_PER_MS = 1_000_000


class NetworkOptions(TypedDict):
    """Fields of ``cluster.network.NetworkSettings``."""

    seed: int
    lag: Lag
    lags: dict[tuple[str, str], Lag]
    coherence_ns: int
    loss: float
    timeouts: Timeouts
    topology: Topology
    read_repair: bool
    hinted_handoff: HandoffSettings | None


def network_options(scenario: Scenario) -> NetworkOptions:
    links, replication = scenario.links, scenario.replication
    handoff = replication.hinted_handoff
    return NetworkOptions(
        seed=scenario.seed,
        lag=parse_lag(links.lag),
        lags={parse_link(link): parse_lag(lag) for link, lag in links.overrides.items()},
        coherence_ns=round(links.coherence_ms * _NS_PER_MS),
        loss=links.loss,
        timeouts=Timeouts(factor=replication.time_factor),
        topology=scenario.topology.layout,
        read_repair=replication.read_repair,
        hinted_handoff=None if handoff is None else HandoffSettings(queue=handoff.queue),
    )
