"""The sections of a scenario file that say which servers there are and how they are kept alike."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from cluster.options.versions.clock import Votes
from cluster.topology import topology
from cluster.topology.key_hashes import Hash
from cluster.votes.vote import ZONES_MAX, Level
from scenarios.sections import Count, Flag, Millis, Positive, Section

_ZONE = re.compile(r"[a-z][a-z0-9]{0,15}")


def _zone(text: str) -> str:
    if not _ZONE.fullmatch(text):
        raise ValueError(f"got {text!r}; accepted: a zone name: 1 to 16 of a-z and 0-9, beginning with a letter")
    return text


def _different_zones(zones: tuple[str, ...], others: ValidationInfo) -> tuple[str, ...]:
    dcs = others.data.get("data_centres") or {}
    most = ZONES_MAX * max(1, len(dcs))
    if not 1 <= len(set(zones)) == len(zones) <= most:
        raise ValueError(f"got {list(zones)}; accepted: 1 to {most} different zone names")
    named = [zone for nodes in dcs.values() for zone in nodes]
    if dcs and list(zones) != named:
        raise ValueError(f"got {list(zones)}; accepted: nothing, or those of the data centres: {named}")
    return zones


def _tag(text: str | None) -> str | None:
    if text is not None and (len(text) != 2 or not text.isascii()):
        raise ValueError(f"got {text!r}; accepted: two ASCII characters, e.g. '{{}}'")
    return text


ZoneName = Annotated[str, AfterValidator(_zone)]


class Topology(Section):
    """Either ``zones``, of one data centre and one server each, or ``data_centres``."""

    data_centres: dict[ZoneName, dict[ZoneName, Count]] = Field(default_factory=dict)
    """By name: its zones, and how many servers each has. Servers of a zone share its keys evenly by token."""
    hash: Hash = Hash.MURMUR
    hash_tag: Annotated[str | None, AfterValidator(_tag)] = None
    """Two characters, such as ``{}``: only what is between them in a key decides its server."""
    zones: Annotated[tuple[ZoneName, ...], AfterValidator(_different_zones)] = ("a", "b", "c")

    @model_validator(mode="before")
    @classmethod
    def _zones_of_data_centres(cls, given: Any) -> Any:
        if isinstance(given, dict) and "zones" not in given and isinstance(given.get("data_centres"), dict):
            dcs = given["data_centres"].values()
            named = [zone for nodes in dcs if isinstance(nodes, dict) for zone in nodes]
            return {**given, "zones": named} if named else given
        return given

    @property
    def layout(self) -> topology.Topology:
        """Where every server is. Raises ``topology.TopologyError`` if that cannot be."""
        if not self.data_centres:
            return topology.one_dc(self.zones)
        dcs = tuple(
            topology.DataCentre(name, tuple(topology.even_rack(zone, nodes) for zone, nodes in zones.items()))
            for name, zones in self.data_centres.items()
        )
        return topology.Topology(dcs, hash=self.hash, hash_tag=self.hash_tag)


class Handoff(Section):
    """Writes that did not reach a zone are kept and sent when it can be reached again."""

    queue: Count = 100_000
    """So many are kept for each zone by each coordinator; those beyond are dropped."""


class AntiEntropy(Section):
    """Zones are compared in the background, and what is newer is copied."""

    interval_ms: Millis = 1_000
    entries: Count = 1_000
    """So many records a round looks at, for each other zone."""
    retention_s: Positive = 864_000.0
    """What was removed is remembered so long: ten days."""


class Replication(Section):
    time_factor: Positive = 0.1
    """Multiplies every time-out and back-off of the replication layer; 1 is Dynomite's own (5 s, 25 s, 1 to 10 s)."""
    read_level: Level | None = None
    """The level of reads, where it is not the scenario's."""
    read_repair: Flag = False
    """Dynomite's option: versions by wall clock, the newest wins, zones seen to be behind are written to."""
    hinted_handoff: Handoff | None = None
    votes: Votes = Votes.VALUE
    """What decides between replies that differ."""
    anti_entropy: AntiEntropy | None = None

    @model_validator(mode="after")
    def _one_kind_of_versions(self) -> "Replication":
        if self.read_repair and (self.votes is Votes.VERSION or self.anti_entropy is not None):
            raise ValueError(
                "read_repair: got true; accepted: false with votes: version or anti_entropy, which have other versions"
            )
        return self
