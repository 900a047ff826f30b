"""The section of a scenario file that says which servers there are and where."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from zonelab.cluster.fields import Section
from zonelab.cluster.topology import topology
from zonelab.cluster.topology.described import topology_of
from zonelab.cluster.topology.key_hashes import KeyHash
from zonelab.cluster.topology.topology import ZONES_MAX

SERVERS_MAX = 32
"""The most servers of one zone."""

_ZONE = re.compile(r"[a-z][a-z0-9-]{0,30}(?<!-)")


def _zone(text: str) -> str:
    if not _ZONE.fullmatch(text):
        raise ValueError(f"got {text!r}; accepted: a zone name: 1 to 31 of a-z, 0-9 and -, first a letter, last no -")
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
Servers = Annotated[int, Field(strict=True, ge=1, le=SERVERS_MAX)]


class TopologySection(Section):
    """Either ``zones``, of one data centre and one server each, or ``data_centres``."""

    data_centres: dict[ZoneName, dict[ZoneName, Servers]] = Field(default_factory=dict)
    """By name: its zones, and how many servers each has. Servers of a zone share its keys evenly by token."""
    hash: KeyHash = KeyHash.MURMUR
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
        """Return the places of all servers. Raises ``topology.TopologyError`` for a layout that is not possible."""
        if not self.data_centres:
            return topology.one_dc(self.zones)
        dcs = {
            dc: {zone: topology.node_names(zone, nodes) for zone, nodes in zones.items()}
            for dc, zones in self.data_centres.items()
        }
        return topology_of(dcs, hash=self.hash, hash_tag=self.hash_tag)
