"""Where the nodes are, as a gateway's configuration says it."""

from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cluster.topology.key_hashes import Hash
from cluster.topology.topology import DataCentre, Node, Rack, Topology, even_tokens


class Placement(BaseModel):
    """``data_centres``: by name its zones, by name their nodes, with their tokens, or as a list for evenly spaced ones.

    ``hash_tag``: two characters, such as ``{}``: only what is between them in a key decides its node.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_centres: dict[str, dict[str, list[str] | dict[str, int]]] = Field(min_length=1)
    hash: Hash = Hash.MURMUR
    hash_tag: str | None = None

    @model_validator(mode="after")
    def _can_be(self) -> "Placement":
        assert self.layout.nodes
        return self

    @cached_property
    def layout(self) -> Topology:
        """Raises ``TopologyError`` if there can be no such topology."""
        dcs = tuple(
            DataCentre(name, tuple(Rack(zone, _nodes(nodes)) for zone, nodes in zones.items()))
            for name, zones in self.data_centres.items()
        )
        return Topology(dcs, hash=self.hash, hash_tag=self.hash_tag)


def _nodes(told: list[str] | dict[str, int]) -> tuple[Node, ...]:
    tokens = told if isinstance(told, dict) else dict(zip(told, even_tokens(len(told)), strict=True))
    return tuple(Node(name, token) for name, token in tokens.items())
