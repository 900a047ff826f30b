"""Goal: clients' bytes reach the owners of their keys, and only the parts that these own; answers are put together.

Method: rings over nodes in memory that execute what they are sent and keep it; what several nodes do is compared with
``zonelab.cluster.coordinators.token_ring``, which is given the same commands as words.
"""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cluster.racks import even_rack
from support.cluster.wire_rings import EACH, QUORUM, READ, SAFE, WRITE, Cluster, Node, parsed

from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.connections.failures import NO_QUORUM, PEER_NOT_CONNECTED, ZoneFailure
from zonelab.cluster.coordinators.token_ring import KEYS_APART, RingCoordinator
from zonelab.cluster.real.upstream import pack
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.wire_ring import TRANSACTION_APART
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.topology.topology import DataCentre, Topology
from zonelab.cluster.votes.levels import Level

TWO_DCS = Topology(
    (
        DataCentre("east", tuple(even_rack(name, 2) for name in "abc")),
        DataCentre("west", tuple(even_rack(name, 2) for name in "def")),
    ),
    hash_tag="{}",
)
ONE_DC = Topology((DataCentre("east", (even_rack("a", 3), even_rack("b", 3), even_rack("c", 2))),), hash_tag="{}")
KEYS = [f"key:{number}".encode() for number in range(12)]


def key_of(cluster, *, like=None, unlike=None):
    """A key with the owners of ``like``, or other ones than ``unlike``."""
    names = (f"other:{number}".encode() for number in range(1000))
    if like is not None:
        return next(name for name in names if cluster.owners(name) == cluster.owners(like))
    return next(name for name in names if cluster.owners(name).isdisjoint(cluster.owners(unlike)))


def test_each_key_is_at_its_owner_in_every_zone_and_answers_keep_the_clients_order():
    cluster = Cluster(ONE_DC)
    pairs = [word for key in KEYS for word in (key, b"value\r\nof " + key)]
    assert cluster.ask(WRITE, (b"MSET", *pairs)) == [b"OK"]
    for name, node in cluster.nodes.items():
        assert set(node.data) == {key for key in KEYS if name in cluster.owners(key)}, name
    asked = [*reversed(KEYS), b"nobody's", KEYS[3]]
    values = [None if key == b"nobody's" else b"value\r\nof " + key for key in asked]
    assert cluster.ask(READ, (b"MGET", *asked), (b"EXISTS", *asked), (b"GET", KEYS[5])) == [
        values,
        len(KEYS) + 1,
        b"value\r\nof " + KEYS[5],
    ]
    assert cluster.ask(WRITE, (b"DEL", *KEYS, b"nobody's")) == [len(KEYS)]
    assert not any(node.data for node in cluster.nodes.values())


def test_a_nil_of_resp3_is_an_element_like_any_other():
    cluster = Cluster(ONE_DC)
    for node in cluster.nodes.values():
        node.execute = lambda words: None
    raw = []
    packed = pack((b"MGET", *KEYS))
    for node in cluster.nodes.values():
        node.submit = lambda batch, done: done([wire.array([b"_\r\n"] * (len(parsed(batch.packed)[0]) - 1))])
    cluster.own.submit(QUORUM, WireCommands([READ.example], protocol=3), raw.append, packed=packed)
    assert raw == [[b"*12\r\n" + b"_\r\n" * 12]]


def test_commands_of_one_group_of_owners_are_sent_as_the_client_wrote_them():
    cluster = Cluster(ONE_DC)
    other = key_of(cluster, like=KEYS[0])
    commands = [(b"SET", KEYS[0], b"1", b"KEEPTTL"), (b"INCR", other), (b"INCR", other)]
    assert cluster.ask(WRITE, *commands) == [b"OK", 1, 2]
    for name, node in cluster.nodes.items():
        assert node.heard == ([[list(one) for one in commands]] if name in cluster.owners(other) else [])


def test_what_several_clients_want_of_one_group_of_owners_travels_together_and_each_gets_its_own_answers():
    cluster = Cluster(ONE_DC)
    runs = [[KEYS[0], KEYS[1]], [KEYS[1]], [KEYS[0], KEYS[2], KEYS[3]], [KEYS[3]]]
    told = {}
    members = [(WRITE.run(len(keys), 2), lambda out, number=number: told.update({number: out})) for number, keys in
               enumerate(runs)]  # fmt: skip
    everything = [(b"INCR", key) for keys in runs for key in keys]
    packed = b"".join(map(pack, everything))
    cluster.own.submit_together(QUORUM, members, WRITE.run(len(everything), 2), packed)
    counts = defaultdict(int)
    for number, keys in enumerate(runs):
        expected = []
        for key in keys:
            counts[key] += 1
            expected.append(b":%d\r\n" % counts[key])
        assert told[number] == expected
    for name, node in cluster.nodes.items():
        assert len(node.heard) <= 3, name
    groups = {frozenset(cluster.owners(key)) for keys in runs for key in keys}
    assert sum(len(node.heard) for node in cluster.nodes.values()) == sum(map(len, groups))


def test_a_command_for_every_node_neither_overtakes_nor_is_overtaken():
    for together in (False, True):
        cluster = Cluster(ONE_DC)
        before, after = [(b"SET", key, b"1") for key in KEYS[:6]], [(b"SET", key, b"2") for key in KEYS[4:9]]
        commands = [*before, (b"FLUSHALL",), *after]
        if together:
            members = [(WRITE.run(len(part), 2), lambda _: None) for part in (before, [(b"FLUSHALL",)], after)]
            packed = b"".join(map(pack, commands))
            cluster.own.submit_together(QUORUM, members, WRITE.run(len(commands), 2), packed)
        else:
            assert cluster.ask(WRITE, *commands) == [b"OK"] * len(commands)
        for name, node in cluster.nodes.items():
            assert set(node.data) == {key for key in KEYS[4:9] if name in cluster.owners(key)}, (name, together)


def test_keyless_reads_are_answered_by_the_own_node():
    cluster = Cluster(ONE_DC, node="b2")
    cluster.nodes["b2"].execute([b"MSET", b"x", b"1", b"y", b"2"])
    assert cluster.ask(KINDS[CommandRoute.LOCAL_READ], (b"DBSIZE",)) == [2]
    assert [name for name, node in cluster.nodes.items() if node.heard] == ["b2"]


def test_scripts_and_transactions_whose_keys_are_apart_are_refused_and_go_nowhere():
    cluster = Cluster(ONE_DC)
    far, near = key_of(cluster, unlike=KEYS[0]), key_of(cluster, like=KEYS[0])
    assert cluster.ask(WRITE, (b"EVAL", b"return 1", b"2", KEYS[0], far)) == [KEYS_APART]
    assert cluster.transaction((b"SET", KEYS[0], b"1"), (b"INCR", far)) == [TRANSACTION_APART]
    assert not any(node.heard for node in cluster.nodes.values())
    assert cluster.ask(WRITE, (b"EVAL", b"return 1", b"2", KEYS[0], near)) == [1]
    cluster.transaction((b"SET", KEYS[0], b"1"), (b"INCR", near))
    for name, node in cluster.nodes.items():
        assert [words[0] for words in node.words] == (
            [b"EVAL", b"MULTI", b"SET", b"INCR", b"EXEC"] if name in cluster.owners(near) else []
        )


def test_other_commands_of_several_keys_go_to_the_owners_of_the_first_unchecked():
    cluster = Cluster(ONE_DC)
    far = key_of(cluster, unlike=KEYS[0])
    assert cluster.ask(WRITE, (b"SMOVE", KEYS[0], far, b"member")) == [0]
    assert {name for name, node in cluster.nodes.items() if node.heard} == cluster.owners(KEYS[0])


def test_a_wrong_number_of_arguments_is_told_and_goes_nowhere_but_the_rest_of_the_run_does():
    cluster = Cluster(ONE_DC)
    said = cluster.ask(WRITE, (b"SET", KEYS[0]), (b"FLUSHALL",), (b"INCR",), (b"INCR", KEYS[1]))
    assert said[0] == "ERR wrong number of arguments for 'set' command"
    assert said[1:] == [b"OK", "ERR wrong number of arguments for 'incr' command", 1]
    heard = [words for node in cluster.nodes.values() for words in node.words]
    assert {words[0] for words in heard} == {b"FLUSHALL", b"INCR"}
    assert all(len(words) > 1 for words in heard if words[0] == b"INCR")


def test_an_uneven_mset_is_not_taken_apart():
    cluster = Cluster(ONE_DC)
    uneven = [b"MSET", KEYS[0], b"1", key_of(cluster, unlike=KEYS[0])]
    for node in cluster.nodes.values():
        node.execute = lambda words: b"OK"
    cluster.ask(WRITE, uneven)
    assert {name: node.words for name, node in cluster.nodes.items() if node.heard} == {
        name: [uneven] for name in cluster.owners(KEYS[0])
    }


def test_a_dead_node_is_missing_in_the_votes_on_its_own_keys_only():
    cluster = Cluster(ONE_DC)
    own, other = key_of(cluster, like=KEYS[0]), key_of(cluster, unlike=KEYS[0])
    zone_b = next(name for name in cluster.owners(own) if name.startswith("b"))
    cluster.nodes[zone_b].down = True
    assert cluster.ask(WRITE, (b"INCR", own), (b"INCR", other)) == [1, 1]
    assert cluster.own.statistics.zone_failures == {zone_b: {PEER_NOT_CONNECTED: 1}}
    zone_c = next(name for name in cluster.owners(own) if name.startswith("c"))
    cluster.nodes[zone_c].down = True
    alone = [name for name in KEYS if zone_c not in cluster.owners(name) and zone_b not in cluster.owners(name)]
    assert cluster.ask(WRITE, (b"INCR", own), (b"INCR", alone[0])) == [PEER_NOT_CONNECTED, 1]
    assert cluster.ask(READ, (b"MGET", own, alone[0])) == [PEER_NOT_CONNECTED]
    assert cluster.nodes[next(iter(cluster.owners(own) - {zone_b, zone_c}))].data[own] == b"2"


def test_writes_go_to_another_data_centre_once_and_reads_do_not():
    cluster = Cluster(TWO_DCS, passing=True)
    cluster.ask(WRITE, (b"MSET", *[word for key in KEYS for word in (key, key)]), (b"INCR", b"n"))
    cluster.ask(READ, (b"MGET", *KEYS))
    for name, node in cluster.nodes.items():
        own = {key for key in [*KEYS, b"n"] if name in cluster.owners(key)}
        assert set(node.data) == own, name
        if b"n" in own:
            assert node.data[b"n"] == b"1"
    used = [name for name, forward in cluster.forwards.items() if forward.heard]
    assert used == ["d", "d2"], "zone d is to zone a what its place among the names says"
    statistics = cluster.own.statistics
    assert (statistics.remote_sent, statistics.remote_dropped, statistics.remote_failed) == (2, 0, 0)
    for name in "def":
        assert not any(words[0] == b"MGET" for words in cluster.nodes[name].words)


def test_a_transaction_for_another_data_centre_stays_one_piece():
    cluster = Cluster(TWO_DCS, passing=True)
    cluster.transaction((b"SET", b"k", b"1"), (b"INCR", b"k"))
    for name in cluster.owners(b"k"):
        assert cluster.nodes[name].heard == [[[b"MULTI"], [b"SET", b"k", b"1"], [b"INCR", b"k"], [b"EXEC"]]], name


def test_writes_for_another_data_centre_fail_over_to_its_next_zone_and_are_dropped_if_there_is_none():
    cluster = Cluster(TWO_DCS)
    for name in ("d", "d2"):
        cluster.forwards[name].down = True
    assert cluster.ask(WRITE, (b"SET", b"k", b"1")) == [b"OK"]
    [used] = [name for name, forward in cluster.forwards.items() if forward.heard]
    assert used in ("e", "e2")
    for forward in cluster.forwards.values():
        forward.down = True
    assert cluster.ask(WRITE, (b"SET", b"k", b"2")) == [b"OK"]
    statistics = cluster.own.statistics
    assert (statistics.remote_sent, statistics.remote_failed_over, statistics.remote_dropped) == (1, 1, 1)


def test_a_coordinator_elsewhere_with_another_password_counts_as_a_failure():
    cluster = Cluster(TWO_DCS)
    for forward in cluster.forwards.values():
        forward.submit = lambda batch, done: done([ZoneFailure("NOAUTH Authentication required.", maybe_applied=False)])
    assert cluster.ask(WRITE, (b"SET", b"k", b"1")) == [b"OK"]
    assert cluster.own.statistics.remote_failed == 1


@pytest.mark.parametrize("kind", [READ, WRITE])
def test_at_each_safe_quorum_every_data_centre_must_agree_by_itself(kind):
    cluster = Cluster(TWO_DCS)
    command = (b"GET", b"k") if kind is READ else (b"INCR", b"k")
    if kind is WRITE:
        assert cluster.ask(WRITE, command, level=EACH) == [1]
        assert {cluster.nodes[name].data[b"k"] for name in cluster.owners(b"k")} == {b"1"}
        assert not any(forward.heard for forward in cluster.forwards.values()), "nothing is passed on twice"
    for number, name in enumerate(sorted(cluster.owners(b"k") - cluster.own_owners(b"k"))):
        cluster.nodes[name].execute([b"SET", b"k", b"%d" % (10 * number)])
    assert cluster.ask(kind, command, level=EACH) == [NO_QUORUM]
    for name in cluster.owners(b"k") - cluster.own_owners(b"k"):
        cluster.nodes[name].down = True
    assert cluster.ask(kind, command, level=EACH) == [PEER_NOT_CONNECTED]
    assert cluster.ask(kind, command, level=SAFE)[0] not in (NO_QUORUM, PEER_NOT_CONNECTED)


@st.composite
def topologies(draw):
    letters = iter("abcdefgh")
    dcs = tuple(
        DataCentre(
            name, tuple(even_rack(next(letters), draw(st.integers(1, 3))) for _ in range(draw(st.integers(1, 3))))
        )
        for name in draw(st.sampled_from([["east"], ["east", "west"]]))
    )
    return Topology(dcs, hash_tag=draw(st.sampled_from([None, "{}"])))


keys = st.sampled_from([*KEYS, b"{tag}1", b"{tag}2", b""])
reads = st.one_of(st.tuples(st.just(b"GET"), keys), st.lists(keys, min_size=1).map(lambda some: (b"MGET", *some)))
writes = st.one_of(
    st.tuples(st.just(b"SET"), keys, st.binary(max_size=3)),
    st.tuples(st.just(b"INCR"), st.just(b"counter")),
    st.lists(keys, min_size=1).map(lambda some: (b"DEL", *some)),
    st.lists(st.tuples(keys, st.binary(max_size=3)), min_size=1).map(lambda some: (b"MSET", *sum(some, ()))),
    st.just((b"FLUSHALL",)),
)
runs = st.one_of(
    st.tuples(st.just(READ), st.lists(reads, min_size=1)), st.tuples(st.just(WRITE), st.lists(writes, min_size=1))
)


@given(topologies(), st.lists(runs, max_size=5), st.sampled_from(list(Level)), st.data())
@settings(max_examples=150, deadline=None)
def test_nodes_get_what_they_get_of_a_ring_that_is_given_words(topology, pipelines, level, data):
    node = data.draw(st.sampled_from(topology.nodes))
    wired, worded = Cluster(topology, node=node), {name: Node() for name in topology.nodes}
    forwards = {name: Node() for name in wired.forwards}
    plain = RingCoordinator(
        node=node, topology=topology, channels=worded, forwards=forwards, runtime=SimRuntime(seed=1)
    )
    for kind, commands in pipelines:
        answers = []
        plain.submit(level, commands, answers.append)
        assert wired.ask(kind, *commands, level=level) == answers[0]
    for name in topology.nodes:
        assert wired.nodes[name].words == worded[name].words
    for name, forward in forwards.items():
        assert wired.forwards[name].words == forward.words
