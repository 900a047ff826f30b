"""Data centres, zones (Dynomite's racks) and nodes, and which node owns a key.

Every zone holds a full copy of the data, shared out among its nodes by token: the owner in a zone is the first node
whose token is at least the key's, or the one with the smallest token if there is none
(``dyn_vnode.c``, ``dnode_peer_for_key_on_rack`` of Netflix Dynomite at 2046b05). The owner is looked up in every zone
by itself, so zones may have different numbers of nodes. One token a node.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from zonelab.cluster.topology.key_hashes import TOKENS, KeyHash, hash_function, hashed_part

ZONES_MAX = 7
"""In a data centre. Dynomite's arrays hold three replies; with more racks its behaviour is undefined (issue 764).
Beyond three the rule is ours: see ``zonelab.cluster.votes.vote.Vote``."""


class TopologyError(ValueError):
    """A topology that cannot be. One line with the value given and what is accepted."""


@dataclass(frozen=True, slots=True)
class Node:
    """One server and its coordinator. ``name`` is unique in the cluster."""

    name: str
    token: int = 0

    def __post_init__(self) -> None:
        if not self.name:
            raise TopologyError("a node's name must not be empty")
        if not 0 <= self.token < TOKENS:
            raise TopologyError(f"token of node {self.name}: got {self.token}; accepted: 0 to {TOKENS - 1}")


@dataclass(frozen=True)
class Rack:
    """A zone: ``nodes`` in the order of their tokens, whatever the order given."""

    name: str
    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        tokens = [node.token for node in self.nodes]
        if not tokens or len(dict.fromkeys(tokens)) != len(tokens):
            raise TopologyError(f"tokens of zone {self.name}: got {tokens}; accepted: one or more, all different")
        object.__setattr__(self, "nodes", tuple(sorted(self.nodes, key=lambda node: node.token)))

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        return tuple(node.token for node in self.nodes)

    def owner(self, token: int) -> Node:
        return self.nodes[bisect_left(self.tokens, token) % len(self.nodes)]


@dataclass(frozen=True)
class DataCentre:
    name: str
    racks: tuple[Rack, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.racks) <= ZONES_MAX:
            names = [rack.name for rack in self.racks]
            raise TopologyError(f"zones of data centre {self.name}: got {names}; accepted: 1 to {ZONES_MAX}")

    def owners(self, token: int) -> tuple[str, ...]:
        """The owner in every zone, by name, in the order of the zones."""
        bounds, owners = self._shares
        return owners[bisect_left(bounds, token) % len(bounds)]

    @cached_property
    def _shares(self) -> tuple[list[int], list[tuple[str, ...]]]:
        """The tokens of all zones, ascending, and for each the owners of keys up to it and above the one before."""
        bounds = sorted(dict.fromkeys(token for rack in self.racks for token in rack.tokens))
        return bounds, [tuple(rack.owner(bound).name for rack in self.racks) for bound in bounds]


@dataclass(frozen=True)
class NodePosition:
    """Position of a node. ``rack`` is the position of its zone in its data centre."""

    dc: DataCentre
    rack: int

    @property
    def zone(self) -> Rack:
        return self.dc.racks[self.rack]


@dataclass(frozen=True)
class Topology:
    """``hash_tag``: two characters, such as ``{}``, between which a key's hashed part is; none as in Dynomite."""

    dcs: tuple[DataCentre, ...]
    hash: KeyHash = KeyHash.MURMUR
    hash_tag: str | None = None
    positions: Mapping[str, NodePosition] = field(init=False, repr=False, compare=False)
    """Position of every node, by name, in the order of the topology."""

    def __post_init__(self) -> None:
        if not self.dcs:
            raise TopologyError("data centres: got none; accepted: one or more")
        tag = self.hash_tag
        if tag is not None and (len(tag) != 2 or not tag.isascii()):
            raise TopologyError(f"hash tag: got {tag!r}; accepted: two ASCII characters, e.g. '{{}}'")
        _unique("data centre", [dc.name for dc in self.dcs])
        _unique("zone", [rack.name for dc in self.dcs for rack in dc.racks])
        _unique("node", [node.name for dc in self.dcs for rack in dc.racks for node in rack.nodes])
        object.__setattr__(self, "positions", dict(self._positions()))

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.positions)

    @property
    def racks(self) -> tuple[Rack, ...]:
        return tuple(rack for dc in self.dcs for rack in dc.racks)

    @cached_property
    def flat(self) -> bool:
        """One data centre with one node a zone: nothing to route."""
        return len(self.dcs) == 1 and self.whole

    @cached_property
    def whole(self) -> bool:
        """Every node has all the data."""
        return all(len(rack.nodes) == 1 for rack in self.racks)

    def remote_links(self) -> list[tuple[str, str]]:
        """From every node to every one in another data centre."""
        positions = self.positions
        return [(one, far) for one in positions for far in positions if positions[one].dc is not positions[far].dc]

    def token(self, key: bytes) -> int:
        tag = None if self.hash_tag is None else self.hash_tag.encode()
        return hash_function(self.hash)(hashed_part(key, tag))

    def _positions(self) -> Iterator[tuple[str, NodePosition]]:
        for dc in self.dcs:
            for position, rack in enumerate(dc.racks):
                for node in rack.nodes:
                    yield node.name, NodePosition(dc, position)


def _unique(kind: str, names: Sequence[str]) -> None:
    if len(dict.fromkeys(names)) != len(names):
        raise TopologyError(f"{kind} names: got {list(names)}; accepted: all different")


def one_dc(zones: Sequence[str]) -> Topology:
    """One data centre, one node a zone, named as the zone."""
    return _one_dc(tuple(zones))


@lru_cache(maxsize=64)  # a scenario is asked for its topology time and again
def _one_dc(zones: tuple[str, ...]) -> Topology:
    return Topology((DataCentre("dc1", tuple(Rack(zone, (Node(zone),)) for zone in zones)),))


def placed(topology: Topology) -> dict[str, dict[str, dict[str, int]]]:
    """By data centre and zone the tokens of the nodes."""
    return {
        dc.name: {rack.name: {node.name: node.token for node in rack.nodes} for rack in dc.racks} for dc in topology.dcs
    }


def node_names(zone: str, nodes: int) -> list[str]:
    """Return the names of ``nodes`` nodes of a zone: the first has the zone's name, the others are ``a2``, ``a3`` and
    so on.
    """
    return [zone, *(f"{zone}{number}" for number in range(2, nodes + 1))]


def even_tokens(nodes: int) -> list[int]:
    """Tokens with which so many nodes of a zone own equal shares."""
    step = TOKENS // max(1, nodes)
    return [step * index for index in range(nodes)]
