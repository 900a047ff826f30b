"""Targets of faults by name: nodes, zones, data centres, and the links between them."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import permutations

from zonelab.cluster.topology.topology import Topology, one_dc
from zonelab.scenarios.errors import NotAccepted

_PAIRS_SHOWN_MAX = 4
"""With more names than that, pairs of them are not listed."""


class Places:
    """Places of a cluster that is up. A zone of one node, and the node, have one name."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self.nodes = topology.nodes

    @classmethod
    def of_zones(cls, zones: Sequence[str]) -> "Places":
        """One data centre, one node a zone."""
        return cls(one_dc(zones))

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """By every name the nodes that it means. A single data centre needs none."""
        dcs = self._topology.dcs if len(self._topology.dcs) > 1 else ()
        found = {dc.name: tuple(node.name for rack in dc.racks for node in rack.nodes) for dc in dcs}
        found |= {rack.name: tuple(node.name for node in rack.nodes) for rack in self._topology.racks}
        return found | {node: (node,) for node in self.nodes}

    def nodes_of(self, target: str) -> tuple[str, ...]:
        """Raises ``NotAccepted``."""
        if target not in self.groups:
            kind = "zone" if self._topology.flat else "server, zone or data centre"
            raise NotAccepted(f"{kind} {target!r} is not there; accepted: {', '.join(self.groups)}")
        return self.groups[target]

    def links_of(self, target: str) -> tuple[str, ...]:
        """The links that ``target`` means: ``b`` all from and to b, ``a:b`` both ways, ``a>b`` one way, ``all``.

        Links within a zone or a data centre are not from or to it. Raises ``NotAccepted``.
        """
        every = list(permutations(self.nodes, 2))
        if not every:
            raise NotAccepted(f"links {target!r} are not there: one zone alone has no links")
        found = every if target == "all" else self._between(target, every)
        if not found:
            raise NotAccepted(f"links {target!r} are not there; accepted: {self._links_accepted()}")
        return tuple(f"{one}>{other}" for one, other in found)

    def links_at(self, nodes: Collection[str]) -> tuple[str, ...]:
        """The links from and to any of ``nodes``, those between them too."""
        pairs = permutations(self.nodes, 2)
        return tuple(f"{one}>{other}" for one, other in pairs if one in nodes or other in nodes)

    def twins_of(self, node: str) -> tuple[str, ...]:
        """The nodes of other zones that have the same keys, those of its own data centre first."""
        position = self._topology.positions[node]
        own = _share(position.zone.tokens, node, [each.name for each in position.zone.nodes])
        found = [
            other
            for other, its in self._topology.positions.items()
            if its.zone is not position.zone
            and _share(its.zone.tokens, other, [each.name for each in its.zone.nodes]) == own
        ]
        return tuple(sorted(found, key=lambda other: self._topology.positions[other].dc is not position.dc))

    def _between(self, target: str, every: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        ends = re.split("[:>]", target)
        if len(ends) > 2 or any(end not in self.groups for end in ends):
            return []
        first, last = self.groups[ends[0]], self.groups[ends[-1]]
        if len(ends) == 1:
            return [(one, other) for one, other in every if (one in first) is not (other in first)]
        both_ways = ":" in target
        return [
            (one, other)
            for one, other in every
            if (one in first and other in last) or (both_ways and one in last and other in first)
        ]

    def _links_accepted(self) -> str:
        names = list(self.groups)
        pairs = [f"{one}:{other}" for at, one in enumerate(names) for other in names[at + 1 :]]
        few = pairs if len(names) <= _PAIRS_SHOWN_MAX else pairs[:1]
        return ", ".join((*names, *few, f"{names[0]}>{names[1]} (one way)", "all"))


def _share(tokens: tuple[int, ...], node: str, names: Sequence[str]) -> tuple[int, int]:
    """The range of tokens that a node owns: above the first number, up to the second."""
    at = names.index(node)
    return tokens[at - 1], tokens[at]
