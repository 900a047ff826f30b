"""Zones of several nodes."""

from zonelab.cluster.topology.topology import TOKENS, Node, Rack, even_tokens, node_names


def even_rack(name, nodes, *, offset=0):
    """A zone whose nodes own equal shares, named ``a``, ``a2``, ``a3`` and so on."""
    tokens = [(offset + token) % TOKENS for token in even_tokens(nodes)]
    return Rack(name, tuple(Node(node, token) for node, token in zip(node_names(name, nodes), tokens, strict=True)))
