"""Goal: a key has the owners that Dynomite gives it, impossible ones are refused. Method: brute force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cluster.racks import even_rack

from zonelab.cluster.topology.described import topology_of
from zonelab.cluster.topology.key_hashes import TOKENS, KeyHash
from zonelab.cluster.topology.topology import DataCentre, Node, Rack, Topology, TopologyError, one_dc


def ring(*tokens: int) -> Rack:
    return Rack("a", tuple(Node(f"n{token}", token) for token in tokens))


@pytest.mark.parametrize(
    ("token", "owner"), [(0, "n100"), (100, "n100"), (101, "n200"), (300, "n300"), (301, "n100"), (TOKENS - 1, "n100")]
)
def test_the_owner_is_the_first_node_whose_token_is_not_smaller_and_then_the_ring_begins_again(token, owner):
    assert ring(300, 100, 200).owner(token).name == owner


@given(
    tokens=st.lists(st.integers(0, TOKENS - 1), min_size=1, max_size=6, unique=True), token=st.integers(0, TOKENS - 1)
)
def test_the_owner_is_what_a_walk_over_all_nodes_finds(tokens, token):
    larger = [own for own in sorted(tokens) if own >= token]
    assert ring(*tokens).owner(token).token == (larger[0] if larger else min(tokens))


def test_every_zone_has_its_own_ring():
    dc = DataCentre("dc1", (even_rack("a", 1), even_rack("b", 2), even_rack("c", 4)))
    owners = {dc.owners(token) for token in range(0, TOKENS, TOKENS // 16)}
    assert {owner[0] for owner in owners} == {"a"}
    assert {owner[1] for owner in owners} == {"b", "b2"}
    assert {owner[2] for owner in owners} == {"c", "c2", "c3", "c4"}


def test_even_shares_are_even():
    rack = even_rack("a", 4)
    names = [rack.owner(token).name for token in range(0, TOKENS, 1 << 20)]
    assert [names.count(node.name) for node in rack.nodes] == [1024] * 4


def test_a_hash_tag_puts_keys_together():
    tagged = Topology((DataCentre("dc1", (even_rack("a", 4),)),), hash_tag="{}")
    keys = [b"{7}:%d" % number for number in range(50)]
    assert len({tagged.token(key) for key in keys}) == 1
    assert len({Topology(tagged.dcs).token(key) for key in keys}) == 50


def test_the_hash_can_be_chosen():
    dcs = one_dc("abc").dcs
    assert Topology(dcs).token(b"apple") == 4142305122
    assert Topology(dcs, hash=KeyHash.MURMUR3).token(b"hello") == 0x248BFA47


def test_places_name_every_node_with_its_zone_and_data_centre():
    dcs = (DataCentre("dc1", (even_rack("a", 2), even_rack("b", 1))), DataCentre("dc2", (even_rack("c", 1),)))
    topology = Topology(dcs)
    where = {name: (place.dc.name, place.zone.name) for name, place in topology.positions.items()}
    assert where == {"a": ("dc1", "a"), "a2": ("dc1", "a"), "b": ("dc1", "b"), "c": ("dc2", "c")}
    assert not topology.flat
    assert not topology.whole
    assert one_dc("abc").flat


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Node("n", TOKENS), "token of node n: got 4294967296; accepted: 0 to 4294967295"),
        (lambda: Node(""), "must not be empty"),
        (lambda: ring(1, 1), "got .1, 1.; accepted: one or more, all different"),
        (lambda: ring(), "tokens of zone a"),
        (lambda: one_dc([]), "zones of data centre dc1: got ..; accepted: 1 to"),
        (lambda: one_dc("abcdefgh"), "accepted: 1 to 7"),
        (lambda: one_dc("aa"), "zone names: got"),
        (lambda: Topology(()), "data centres: got none"),
        (lambda: Topology(one_dc("a").dcs * 2), "data centre names"),
        (lambda: Topology(one_dc("a").dcs, hash_tag="{"), "hash tag: got"),
        (lambda: topology_of({"dc": {"a": []}}), r"tokens of zone a: got \[\]; accepted: one or more, all different"),
        (lambda: Topology((DataCentre("d", (even_rack("a", 2), Rack("b", (Node("a2"),)))),)), "node names"),
    ],
)
def test_a_topology_that_cannot_be_is_refused_with_the_value_given(make, message):
    with pytest.raises(TopologyError, match=message):
        make()
