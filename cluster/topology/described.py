"""Topologies as text files describe them: data centre → zone → nodes."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, model_validator

from zonelab.cluster.topology.key_hashes import KeyHash
from zonelab.cluster.topology.topology import DataCentre, Node, Rack, Topology, even_tokens

Nodes = Sequence[str] | Mapping[str, int]
"""The nodes of a zone with their tokens; or their names alone, for evenly spaced tokens."""


def topology_of(
    data_centres: Mapping[str, Mapping[str, Nodes]], *, hash: KeyHash = KeyHash.MURMUR, hash_tag: str | None = None
) -> Topology:
    """The topology of these data centres, by name, with their zones, by name. Raises ``TopologyError``."""
    dcs = tuple(
        DataCentre(name, tuple(Rack(zone, _nodes(nodes)) for zone, nodes in zones.items()))
        for name, zones in data_centres.items()
    )
    return Topology(dcs, hash=hash, hash_tag=hash_tag)


def _nodes(given: Nodes) -> tuple[Node, ...]:
    tokens = given if isinstance(given, Mapping) else dict(zip(given, even_tokens(len(given)), strict=True))
    return tuple(Node(name, token) for name, token in tokens.items())


class Placement(BaseModel):
    """Placement of the nodes in a gateway's configuration. ``data_centres`` as for ``topology_of``.

    ``hash_tag``: two characters, such as ``{}``: only what is between them in a key decides its node.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_centres: dict[str, dict[str, list[str] | dict[str, int]]] = Field(min_length=1)
    hash: KeyHash = KeyHash.MURMUR
    hash_tag: str | None = None

    @model_validator(mode="after")
    def _can_be(self) -> "Placement":
        assert self.layout.nodes
        return self

    @cached_property
    def layout(self) -> Topology:
        """Return the topology. Raises ``TopologyError`` if there can be no such one."""
        return topology_of(self.data_centres, hash=self.hash, hash_tag=self.hash_tag)
