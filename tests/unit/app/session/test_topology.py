"""Goal: a session of several data centres and servers a zone is laid out as asked for, and broken where it is told.

Method: settings, names and files by themselves; the board on servers and coordinators that the test plays.
"""

import re
from pathlib import Path

import pytest
from support.app.session_board import fault, with_board
from support.cluster.racks import even_rack

from zonelab.app.session.fault_board import Conflict
from zonelab.app.session.settings import checked_settings, read_topology
from zonelab.app.session.targets import Places
from zonelab.cluster.topology.topology import DataCentre, Topology
from zonelab.cluster.wiring.settings import Links
from zonelab.cluster.zone import ClusterError, Restart, ZoneState
from zonelab.scenarios.errors import NotAccepted

EAST, WEST = ("a1", "a2", "b1", "b2"), ("c1", "c2", "d")


PLACES = Places(
    checked_settings(runs=Path("runs"), data_centres={"east": {"a": 2, "b": 2}, "west": {"c": 2, "d": 1}}).layout
)
on_board = with_board(*PLACES.nodes, places=PLACES)


@pytest.fixture
def settings(tmp_path):
    def made(**values):
        return checked_settings(runs=tmp_path, **values)

    return made


def test_servers_are_named_by_their_zones_and_their_ports_follow_each_other(settings):
    two = settings(dcs=2, zones=2, nodes=2)
    assert two.names == ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2")
    assert [dc.name for dc in two.layout.dcs] == ["dc1", "dc2"]
    assert two.port_of("d2") == 7408
    assert settings(dcs=2, zones=3).names == tuple("abcdef")
    assert settings().layout.flat
    assert not settings(dcs=2, zones=1).layout.flat
    tokens = [node.token for node in settings(zones=1, nodes=4).layout.racks[0].nodes]
    assert tokens == [0, 2**30, 2**31, 3 * 2**30]


@pytest.mark.parametrize("text", ["{}", "topology:\n  {}"])
def test_a_file_may_be_the_section_or_a_scenario_that_has_it(tmp_path, text):
    file = tmp_path / "t.yaml"
    section = "{data_centres: {east: {a: 1}, west: {b: 3}}, hash: murmur3, hash_tag: '[]'}"
    file.write_text(text.format(section))
    found = read_topology(file)
    placed = {"data_centres": {"east": {"a": 1}, "west": {"b": 3}}, "hash": "murmur3", "hash_tag": "[]"}
    assert found == {**placed, "links": Links()}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read: No such file"),
        ("{", "not valid YAML"),
        ("data_centres: [a]", r"yaml: data_centres: got \['a'\]; accepted: a mapping"),
        ("{zones: [a], links: 3}", "yaml: links: got 3; accepted: a mapping"),
        ("{zones: [a], links: {bandwidth: 3}}", "yaml: links.bandwidth: unknown field"),
        ("topology: 3", "got 3; accepted: data_centres, hash, hash_tag, as in scenarios"),
        ("[1]", r"got \[1\]; accepted: data_centres, hash, hash_tag"),
        ("", "got None; accepted: data_centres"),
        ("data_centres: {east: {a: 0}}", r"data_centres.east.a: got 0"),
        ("data_centres: {east: {A: 1}}", r"data_centres.east.A.*: got 'A'; accepted: a zone name"),
        ("data_centers: {}", r"data_centers: unknown field \(did you mean data_centres\?\), got {}"),
        ("{data_centres: {east: {a: 1}}, hash: sha1}", "hash: got 'sha1'; accepted: .*murmur"),
        ("hash_tag: '{'", "hash_tag: got '{'; accepted: two ASCII"),
    ],
)
def test_a_file_that_is_no_topology_is_told_in_one_line(tmp_path, text, words):
    file = tmp_path / "t.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(NotAccepted, match=words) as told:
        read_topology(file)
    assert "\n" not in str(told.value)


def test_a_file_may_say_everything_of_links(tmp_path):
    path = tmp_path / "t.yaml"
    path.write_text("topology: {zones: [a, b]}\nlinks: {lag: 2ms, overrides: {a>b: 80ms}, loss: 0.1}\n")
    made = checked_settings(**read_topology(path), runs=tmp_path)
    assert made.links == Links(lag="2ms", overrides={"a>b": "80ms"}, loss=0.1)


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ("{overrides: {a>z: constant:1ms}}", "--topology: links.overrides: got 'a>z'; accepted: two of a, b"),
        ("{overrides: {a>b: quick}}", "links.overrides['a>b']: unknown lag 'quick'; accepted: 0, 2ms"),
        ("{loss: 2.0}", "links.loss: got 2.0; accepted: "),
    ],
)
def test_lags_of_links_that_are_not_accepted_are_told(tmp_path, links, words):
    path = tmp_path / "t.yaml"
    path.write_text(f"zones: [a, b]\nlinks: {links}\n")
    with pytest.raises(NotAccepted, match=re.escape(words)):
        checked_settings(**read_topology(path), runs=tmp_path)


def test_a_name_means_a_server_a_zone_or_a_data_centre():
    assert PLACES.nodes_of("west") == WEST
    assert PLACES.nodes_of("a") == ("a1", "a2")
    assert PLACES.nodes_of("b2") == ("b2",)
    assert PLACES.nodes_of("d") == ("d",)
    with pytest.raises(NotAccepted, match="accepted: east, west, a, b, c, d, a1, a2, b1, b2, c1, c2"):
        PLACES.nodes_of("a3")


def test_links_are_those_between_what_is_named_and_not_those_within():
    assert set(PLACES.links_of("east:west")) == {f"{one}>{far}" for one in EAST for far in WEST} | {
        f"{far}>{one}" for one in EAST for far in WEST
    }
    assert set(PLACES.links_of("east")) == set(PLACES.links_of("west")) == set(PLACES.links_of("east:west"))
    assert set(PLACES.links_of("a>d")) == {"a1>d", "a2>d"}
    around = set(PLACES.links_of("a"))
    assert "a1>a2" not in around
    assert around == {f"{one}>{far}" for one in ("a1", "a2") for far in (*EAST[2:], *WEST)} | {
        f"{far}>{one}" for one in ("a1", "a2") for far in (*EAST[2:], *WEST)
    }
    assert set(PLACES.links_of("a1:a2")) == {"a1>a2", "a2>a1"}
    assert set(PLACES.links_of("a:a1")) == {"a1>a2", "a2>a1"}
    assert len(PLACES.links_of("all")) == 7 * 6
    for wrong in ("a1>a1", "north", "a:north", "a:b:c"):
        with pytest.raises(NotAccepted, match=r"accepted: east, west, a, b, .*, east:west, east>west .one way., all"):
            PLACES.links_of(wrong)


def test_data_is_copied_between_servers_of_the_same_keys_only():
    uneven = Topology(
        (
            DataCentre("east", (even_rack("a", 2), even_rack("b", 2), even_rack("c", 1))),
            DataCentre("west", (even_rack("d", 2), even_rack("e", 2, offset=5))),
        )
    )
    places = Places(uneven)
    assert places.twins_of("a") == ("b", "d")
    assert places.twins_of("d2") == ("a2", "b2")
    assert places.twins_of("c") == places.twins_of("e") == ()


def states(lab, names):
    return [lab.zones[name].state.value for name in names]


@on_board
async def test_a_zone_or_a_data_centre_is_one_fault_of_all_its_servers(lab):
    told = await lab.board.begin(fault("kill", "a"))
    assert (told["fault"], told["nodes"]) == ("1:kill a", ["a1", "a2"])
    await lab.board.begin(fault("pause", "west"))
    assert states(lab, EAST) == ["dead", "dead", "running", "running"]
    assert states(lab, WEST) == ["paused"] * 3
    assert await lab.board.heal() == ["ended 1:kill a", "ended 2:pause west"]
    assert states(lab, (*EAST, *WEST)) == ["running"] * 7
    assert [row["name"] for row in lab.notes.rows] == ["1:kill a", "2:pause west"]
    await lab.board.begin(fault("coordinator_crash", "b"))
    assert [name for name, one in lab.coordinators.items() if one.state is ZoneState.DEAD] == ["b1", "b2"]
    assert await lab.board.restart("east", of_coordinator=True) == [
        "ended 3:coordinator_crash b",
        "restarted coordinator a1",
        "restarted coordinator a2",
    ]


@on_board
async def test_of_a_group_of_coordinators_those_that_came_up_again_are_told_that_the_others_did_not(lab):
    async def refuse():
        raise ClusterError("coordinator b2 could not start")

    told = await lab.board.begin(fault("coordinator_crash", "b"))
    assert {"b1>b2", "a1>b2", "b1>c1"} < set(told["links"])
    assert not any(link in told["links"] for link in ("a1>a2", "a1>c1"))
    start, lab.coordinators["b2"].start = lab.coordinators["b2"].start, refuse
    with pytest.raises(ClusterError, match="b2 could not start"):
        await lab.board.heal()
    assert lab.coordinators["b1"].cuts()["b1>a1"] == "drop"
    lab.coordinators["b2"].start = start
    await lab.board.heal()
    assert all(one.cuts() == {} and one.state is ZoneState.RUNNING for one in lab.coordinators.values())


@on_board
async def test_a_server_under_a_fault_of_its_zone_takes_no_second_one_and_none_of_a_group_is_touched_then(lab):
    await lab.board.begin(fault("pause", "a2"))
    for target in ("a2", "a", "east"):
        with pytest.raises(Conflict, match="zone a2 is under 1:pause a2 already"):
            await lab.board.begin(fault("kill", target))
    assert states(lab, EAST) == ["running", "paused", "running", "running"]
    assert len(lab.board.active) == 1


@on_board
async def test_a_zone_restarts_with_the_data_of_servers_of_the_same_keys(lab):
    await lab.board.begin(fault("kill", "a2"))
    assert await lab.board.restart("a", Restart.WARM) == ["ended 1:kill a2", "restarted zone a1"]
    assert lab.zones["a1"].verbs == ["kill", "restart warm from b1"]
    assert lab.zones["a2"].verbs == ["kill", "restart warm from b2"]
    await lab.board.restart("east", Restart.WARM)
    assert lab.zones["b1"].verbs == ["kill", "restart warm from c1"]
    with pytest.raises(Conflict, match=r"zone d: .*same keys; accepted now: keep, wipe"):
        await lab.board.restart("d", Restart.WARM)
    assert lab.zones["d"].verbs == []


@on_board
async def test_a_warm_restart_that_would_end_the_fault_of_a_zone_is_refused_unless_all_of_it_can_be_copied(lab):
    await lab.board.begin(fault("kill", "a"))
    for twin in ("b2", "c2"):
        await lab.board.begin(fault("kill", twin))
    with pytest.raises(Conflict, match=r"zone a2: .*same keys; accepted now: keep, wipe"):
        await lab.board.restart("a1", Restart.WARM)
    assert lab.zones["a1"].verbs == ["kill"]
    assert len(await lab.board.heal()) == 3


@on_board
async def test_of_a_zone_that_cannot_be_healed_whole_the_rest_is(lab):
    await lab.board.begin(fault("kill", "a"))
    lab.zones["a1"].broken = True
    with pytest.raises(ClusterError, match="a1: the server ended"):
        await lab.board.heal()
    assert states(lab, ("a1", "a2")) == ["dead", "running"]
    lab.zones["a1"].broken = False
    assert await lab.board.heal() == ["ended 1:kill a"]
    assert states(lab, ("a1", "a2")) == ["running", "running"]


@on_board
async def test_data_centres_are_cut_off_from_each_other_and_not_within(lab):
    told = await lab.board.begin(fault("cut", "east:west"))
    assert len(told["links"]) == 2 * 4 * 3
    cut = {link for one in lab.coordinators.values() for link, state in one.links.items() if state["cut"]}
    assert cut == set(told["links"])
    assert lab.coordinators["a1"].links["a1>b1"]["cut"] is None
