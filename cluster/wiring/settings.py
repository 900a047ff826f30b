"""Settings of a cluster between clients and servers: links, time-outs, topology and options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.fields import DelayText, Flag, NonNegative, Section, parse_link
from zonelab.cluster.links.lag import ConstantLag, Lag
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.options.versions.clock import COORDINATORS_MAX
from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.cluster.topology.topology import Topology
from zonelab.cluster.votes.levels import VoteBy
from zonelab.cluster.zone import ClusterError


class Links(Section):
    """The links between zones, as scenarios, sessions and gateways' files say them."""

    lag: DelayText = "0"
    overrides: dict[str, DelayText] = Field(default_factory=dict)
    """By link, written ``a>b``: from coordinator a to zone b."""
    coherence_ms: NonNegative = 25.0
    """A drawn lag holds this long: messages sent within it take equally long. 0: every message draws its own."""
    loss: Annotated[float, Field(strict=True, ge=0, lt=1)] = 0.0
    """Share of transmissions that are lost; TCP repeats them after 200 ms, 400 ms and so on."""


class ReplicationOptions(Section):
    """The options of coordinators, as scenarios, sessions and gateways' files say them; all are off by default."""

    read_repair: Flag = False
    """Dynomite's option: versions by wall clock, the newest wins, zones seen to be behind are written to."""
    hinted_handoff: HandoffSettings | None = None
    """Ours: writes that did not reach a zone are kept and sent when it can be reached again."""
    votes: VoteBy = VoteBy.VALUE
    """Criterion between replies that differ; by version is ours."""
    anti_entropy: AntiEntropySettings | None = None
    """Ours: zones are compared in the background, and what is newer is copied."""
    strict: Flag = False
    """Refuse what works here and not on Dynomite."""

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.read_repair and self.versioned:
            raise ValueError(
                "read_repair: got true; accepted: false with votes: version or anti_entropy, which have other versions"
            )
        if self.strict and (self.read_repair or self.versioned or self.hinted_handoff is not None):
            raise ValueError(
                "strict: got true; accepted: false with hinted_handoff, votes: version and anti_entropy, which "
                "Dynomite does not have, and read_repair, with which it crashes"
            )
        return self

    @property
    def versioned(self) -> bool:
        """Writes carry versions."""
        return self.votes is VoteBy.VERSION or self.anti_entropy is not None

    def fit(self, topology: Topology | None) -> None:
        """Raise ``ClusterError`` if ``topology`` cannot have these options; None is one data centre."""
        if topology is None:
            return
        if self.anti_entropy is not None and not topology.flat:
            raise ClusterError("anti_entropy needs one data centre and zones of one server, got another topology")
        if self.versioned and len(topology.nodes) > COORDINATORS_MAX:
            raise ClusterError(f"versions are for up to {COORDINATORS_MAX} servers, got {len(topology.nodes)}")


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """``lags`` overrides ``lag`` for single links, by (source, target); a drawn lag holds for ``coherence_ns``.

    ``loss`` is the share of transmissions that every link loses. ``topology`` says where the nodes are whose names the
    network is given; without it each is a zone of one data centre. Raises ``ClusterError`` if it cannot have the
    options of ``replication``.
    """

    seed: int
    lag: Lag = field(default_factory=ConstantLag)
    lags: Mapping[tuple[str, str], Lag] | None = None
    coherence_ns: int = 25_000_000
    loss: float = 0.0
    timeouts: Timeouts = field(default_factory=Timeouts)
    topology: Topology | None = None
    replication: ReplicationOptions = field(default_factory=ReplicationOptions)

    def __post_init__(self) -> None:
        self.replication.fit(self.topology)

    @classmethod
    def of(
        cls,
        *,
        seed: int,
        links: Links,
        replication: ReplicationOptions,
        time_factor: float,
        topology: Topology | None,
        **others: Any,
    ) -> Self:
        """Return settings with what text says of links and options, and ``others`` of their own."""
        return cls(
            seed=seed,
            lag=parse_lag(links.lag),
            lags={parse_link(link): parse_lag(lag) for link, lag in links.overrides.items()},
            coherence_ns=round(links.coherence_ms * 1e6),
            loss=links.loss,
            timeouts=Timeouts(factor=time_factor),
            topology=topology,
            replication=replication,
            **others,
        )
