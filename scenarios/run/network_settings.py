"""Network settings of a scenario: links and time-outs, as both arms take them."""

from typing import TypedDict

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.fields import parse_link
from zonelab.cluster.links.lag import Lag
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.options.versions.settings import AntiEntropySettings, VoteBy
from zonelab.cluster.topology.topology import Topology
from zonelab.scenarios.spec.replication import AntiEntropy
from zonelab.scenarios.spec.scenario import Scenario

_NS_PER_MS = 1_000_000


class NetworkOptions(TypedDict):
    """Fields of ``zonelab.cluster.wiring.network.NetworkSettings``."""

    seed: int
    lag: Lag
    lags: dict[tuple[str, str], Lag]
    coherence_ns: int
    loss: float
    timeouts: Timeouts
    topology: Topology
    read_repair: bool
    hinted_handoff: HandoffSettings | None
    votes: VoteBy
    anti_entropy: AntiEntropySettings | None
    strict: bool


def network_options(scenario: Scenario) -> NetworkOptions:
    links, replication = scenario.links, scenario.replication
    handoff, comparing = replication.hinted_handoff, replication.anti_entropy
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
        votes=replication.votes,
        anti_entropy=None if comparing is None else _anti_entropy(comparing),
        strict=replication.strict,
    )


def _anti_entropy(section: AntiEntropy) -> AntiEntropySettings:
    return AntiEntropySettings(
        interval_ns=section.interval_ms * _NS_PER_MS,
        entries=section.entries,
        retention_ns=round(section.retention_s * 1e9),
    )
