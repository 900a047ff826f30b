"""Settings of a cluster between clients and servers: links, time-outs, topology and options."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag, Lag
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.options.versions.clock import COORDINATORS_MAX
from zonelab.cluster.options.versions.settings import AntiEntropySettings, VoteBy
from zonelab.cluster.topology.topology import Topology
from zonelab.cluster.zone import ClusterError


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """``lags`` overrides ``lag`` for single links, by (source, target); a drawn lag holds for ``coherence_ns``.

    ``loss`` is the share of transmissions that every link loses. ``topology`` says where the nodes are whose names the
    network is given; without it each is a zone of one data centre. ``read_repair`` is Dynomite's option of this name,
    ``hinted_handoff``, ``votes`` by version and ``anti_entropy`` are ours. The last two of these
    keep versions. ``strict`` refuses what works here and not on Dynomite, so it goes with none of them.
    """

    seed: int
    lag: Lag = field(default_factory=ConstantLag)
    lags: Mapping[tuple[str, str], Lag] | None = None
    coherence_ns: int = 25_000_000
    loss: float = 0.0
    timeouts: Timeouts = field(default_factory=Timeouts)
    topology: Topology | None = None
    read_repair: bool = False
    hinted_handoff: HandoffSettings | None = None
    votes: VoteBy = VoteBy.VALUE
    anti_entropy: AntiEntropySettings | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        if self.versioned and self.read_repair:
            raise ClusterError(
                "read_repair has versions of its own, not those of votes by version and anti_entropy; accepted: one or "
                "the other"
            )
        if self.anti_entropy is not None and self.topology is not None and not self.topology.flat:
            raise ClusterError("anti_entropy needs one data centre and zones of one server, got another topology")
        if self.strict and (self.read_repair or self.versioned or self.hinted_handoff is not None):
            raise ClusterError(
                "strict goes with none of hinted_handoff, votes by version and anti_entropy, which Dynomite does not "
                "have, and read_repair, with which it crashes; accepted: one or the other"
            )
        if self.versioned and self.topology is not None and len(self.topology.nodes) > COORDINATORS_MAX:
            raise ClusterError(f"versions are for up to {COORDINATORS_MAX} servers, got {len(self.topology.nodes)}")

    @property
    def versioned(self) -> bool:
        """Writes carry versions."""
        return self.votes is VoteBy.VERSION or self.anti_entropy is not None
