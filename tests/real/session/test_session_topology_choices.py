"""Goal: what can be chosen of the data centres, zones and servers of a session is so.

Method: the command line as a user runs it, with clusters of few servers.
"""

from time import perf_counter

import pytest
from support.app.session_cluster import SessionCluster

from zonelab.cluster.real.zones.docker.zone_image import build_image
from zonelab.cluster.topology.described import Placement

pytestmark = pytest.mark.real


def test_a_file_says_where_servers_are_and_zones_may_differ(lab):
    (lab.folder / "t.yaml").write_text("topology: {data_centres: {east: {a: 2, b: 1}, west: {c: 1}}, hash: murmur3}")
    status = lab.up("--topology", "t.yaml", "--level", "DC_QUORUM", "--time-factor", "0.5")
    assert [zone["zone"] for zone in status["zones"]] == ["a1", "a2", "b", "c"]
    layout = Placement(data_centres=status["data_centres"], hash="murmur3").layout
    keys = [f"key:{number}" for number in range(20)]
    with lab.client("b") as client:
        assert client.mset(dict.fromkeys(keys, "1"))
        assert client.mget(keys) == ["1"] * 20
    expected = {
        node: sorted(key for key in keys if position.zone.owner(layout.token(key.encode())).name == node)
        for node, position in layout.positions.items()
    }
    for node, own in expected.items():
        lab.until(lambda node=node, own=own: sorted(lab.server(node).keys()) == own)
    assert lab.run("fault", "cut", "west") == "1:cut west, until zonelab heal\n"
    lab.run("down")
    lab.assert_nothing_is_left()


def test_a_file_says_how_slow_single_links_are_and_they_are_so_again_after_faults(lab):
    (lab.folder / "t.yaml").write_text(
        "data_centres: {dc1: {eu-west-1a: 1, b: 2}}\n"
        "links: {lag: constant:1ms, overrides: {eu-west-1a>b1: constant:70ms, eu-west-1a>b2: constant:70ms}}\n"
    )
    told = {link["link"]: link["lag"] for link in lab.up("--topology", "t.yaml", "--level", "DC_QUORUM")["links"]}
    assert told == dict.fromkeys(told, "constant:1ms") | dict.fromkeys(
        ["eu-west-1a>b1", "eu-west-1a>b2"], "constant:70ms"
    )
    with lab.client("eu-west-1a") as client:
        begin_s = perf_counter()
        assert client.set("k", "v")
        assert perf_counter() - begin_s >= 0.07
    lab.run("fault", "lag", "eu-west-1a", "constant:5ms")
    assert {link["lag"] for link in lab.status()["links"] if "eu-west-1a" in link["link"]} == {"constant:5ms"}
    lab.run("heal")
    lab.run("fault", "restart", "eu-west-1a", "--coordinator")
    assert {link["link"]: link["lag"] for link in lab.status()["links"]} == told


@pytest.mark.parametrize("option", [(), ("--hinted-handoff",)])
def test_a_server_that_was_away_has_what_it_missed_only_with_hinted_handoff(lab, option):
    status = lab.up("--nodes", "2", "--time-factor", "0.5", *option)
    cluster = SessionCluster(lab, status)
    keys = [f"missed {number}" for number in range(20)]
    own = [key for key in keys if "b1" in cluster.owners(key, ("b1", "b2"))]
    assert 0 < len(own) < 20
    with lab.client("a2") as client:
        lab.run("fault", "kill", "b1")
        lab.until(lambda: not cluster.statistics("a2")["connected"]["b1"])
        assert client.mset(dict.fromkeys(keys, "1"))
        cluster.heal()
        client.set(own[0], "2")
        lab.until(lambda: lab.server("b1").get(own[0]) == "2")
        expected = "1" if option else None
        lab.until(lambda: [lab.server("b1").get(key) for key in own[1:]] == [expected] * (len(own) - 1))
        assert lab.server("b1").dbsize() == (len(own) if option else 1)


@pytest.mark.docker
def test_servers_may_be_containers(lab):
    build_image()
    lab.up("--dcs", "2", "--zones", "1", "--nodes", "2", "--on", "docker", "--time-factor", "0.5")
    keys = [f"key:{number}" for number in range(20)]
    with lab.client("a1") as near, lab.client("b2") as far:
        assert near.mset(dict.fromkeys(keys, "1"))
        lab.until(lambda: far.mget(keys) == ["1"] * 20)
        held = [set(lab.server(node).keys()) for node in ("b1", "b2")]
        assert held[0] | held[1] == set(keys)
        assert all(held)
        lab.run("fault", "kill", "b")
        assert [lab.zone(node)["server"]["state"] for node in ("b1", "b2")] == ["dead", "dead"]
        lab.run("fault", "restart", "b", "--warm")
        lab.until(lambda: [set(lab.server(node).keys()) for node in ("b1", "b2")] == held)
    lab.run("down")
    lab.assert_nothing_is_left()
