"""Goal: the administration tells what a coordinator does, changes what it is asked to, and lets nobody else do so.

Method: the application in the test's own process, with real links and a gateway that the test plays.
"""

import asyncio
import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from zonelab.cluster.admin import app
from zonelab.cluster.admin.app import BODY_BYTES_MAX, administration
from zonelab.cluster.admin.settings import AdminSettings, read_admin_settings
from zonelab.cluster.admin.view import GatewayView
from zonelab.cluster.coordinators.token_ring import RingStatistics
from zonelab.cluster.links.link import Cut
from zonelab.cluster.votes.levels import Decision, Level
from zonelab.cluster.zone import ClusterError


def metrics_of(client):
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {(one.name, *sorted(one.labels.items())): one.value for family in families for one in family.samples}


def test_a_coordinator_that_reaches_its_own_server_is_healthy_whatever_the_others_do(client, gateway):
    gateway.connected_to["b"] = False
    answer = client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"zone": "a", "healthy": True, "connected": {"a": True, "b": False}}


def test_a_coordinator_that_does_not_reach_its_own_server_is_not_healthy(client, gateway):
    gateway.connected_to["a"] = False
    assert client.get("/health").status_code == 503


def test_topology_tells_how_each_link_is(client, gateway):
    gateway.links["a", "b"].cut(Cut.HOLD)
    gateway.links["a", "b"].send(lambda: None)
    links = client.get("/topology").json()["links"]
    assert [(one["link"], one["lag"], one["cut"], one["in_flight"]) for one in links] == [
        ("a>b", "constant:2ms", "hold", 1),
        ("b>a", "constant:2ms", None, 0),
    ]


def test_divergence_counts_votes_in_which_zones_differed_before_and_after_the_decision(client, gateway):
    counts = gateway.counted.levels[Level.DC_QUORUM]
    counts.decisions.update({Decision.AGREED: 10, Decision.MAJORITY: 2, Decision.FIRST_ARRIVED: 3})
    counts.late_disagreements = 4
    gateway.counted.levels[Level.DC_SAFE_QUORUM].decisions[Decision.NO_QUORUM] = 5
    assert client.get("/statistics").json()["divergence"] == 2 + 3 + 4 + 5


def test_what_options_have_done_is_told_and_read_repair_by_its_name(client, gateway):
    gateway.counted.count("repairs", 3)
    gateway.counted.count("hints stored", 2)
    told = client.get("/statistics").json()
    assert (told["repairs"], told["options"]) == (3, {"repairs": 3, "hints stored": 2})
    assert metrics_of(client)["zonelab_options_total", ("what", "hints stored"), ("zone", "a")] == 2


def test_metrics_are_what_prometheus_reads(client, gateway):
    gateway.counted.levels[Level.DC_QUORUM].decisions[Decision.AGREED] = 10
    gateway.counted.zone_failures["b"] = {'Peer "Node"\n is not connected': 2}
    gateway.counted.unknown_scripts["b"] = {"times": 3, "since_utc": "2026-11-28T04:00:00Z"}
    gateway.links["a", "b"].cut(Cut.DROP)
    found = metrics_of(client)
    assert found["zonelab_unknown_scripts_total", ("other", "b"), ("zone", "a")] == 3
    agreed = ("decision", "agreed"), ("level", "DC_QUORUM"), ("zone", "a")
    assert found["zonelab_decisions_total", *agreed] == 10
    assert found["zonelab_link_cut", ("link", "a>b"), ("zone", "a")] == 1
    assert found["zonelab_link_cut", ("link", "b>a"), ("zone", "a")] == 0
    text = ("error", 'Peer "Node"\n is not connected'), ("other", "b"), ("zone", "a")
    assert found["zonelab_zone_failures_total", *text] == 2


def test_measured_latencies_are_cumulative_buckets_that_end_with_all_commands(client, gateway):
    for _ in range(3):
        gateway.server.sampler(Level.DC_ONE, True, lambda _outcome: None)([b"v"])
    found = metrics_of(client)
    buckets = {key: value for key, value in found.items() if key[0] == "zonelab_latency_seconds_bucket"}
    counts = [value for _, value in sorted(buckets.items(), key=lambda one: float(dict(one[0][1:])["le"]))]
    assert counts == sorted(counts)
    labels = ("kind", "read"), ("level", "DC_ONE"), ("outcome", "ok"), ("zone", "a")
    assert counts[-1] == found["zonelab_latency_seconds_count", *labels] >= 3


def test_clients_that_were_closed_for_what_was_held_for_them_are_counted(client, gateway):
    gateway.closed = 12
    assert 'zonelab_port_over_memory_total{zone="a"} 12.0' in client.get("/metrics").text


def test_a_node_of_a_topology_tells_where_nodes_are_and_what_became_of_writes_for_other_data_centres(client, gateway):
    gateway.placed = {"east": {"a": {"a1": 0, "a2": 2147483648}}, "west": {"<b>": {"b": 7}}}
    gateway.counted = RingStatistics(remote_sent=5, remote_failed_over=2, remote_dropped=1, remote_failed=3)
    gateway.peers = {"b": False}
    assert client.get("/topology").json()["data_centres"] == gateway.placed
    told = client.get("/statistics").json()
    assert told["remote"] == {"sent": 5, "failed_over": 2, "dropped": 1, "failed": 3}
    assert told["peers"] == {"b": False}
    found = metrics_of(client)
    assert found["zonelab_remote_total", ("what", "failed_over"), ("zone", "a")] == 2
    assert found["zonelab_peer", ("other", "b"), ("zone", "a")] == 0


def test_links_become_what_is_asked_for_and_others_stay(client, gateway):
    answer = client.put("/links", json={"a>b": {"lag": "constant:50ms", "loss": 0.25, "cut": "drop"}})
    assert answer.status_code == 200
    assert [one["cut"] for one in answer.json()] == ["drop", None]
    link = gateway.links["a", "b"]
    assert (str(link.lag), link.loss, link.cut_mode) == ("constant:50ms", 0.25, Cut.DROP)


def test_healing_gives_links_back_what_they_began_with(client, gateway):
    client.put("/links", json={"a>b": {"lag": "0", "loss": 0.25, "cut": "hold", "duplicate": 1}})
    client.post("/heal")
    link = gateway.links["a", "b"]
    assert (str(link.lag), link.loss, link.cut_mode) == ("constant:2ms", 0.0, None)
    arrived = []
    link.send(lambda: arrived.append("once"))
    gateway.runtime.run(for_ns=1_000_000_000)
    assert arrived == ["once"]


def test_levels_change_for_those_who_connect_from_now_on(client, gateway):
    answer = client.put("/levels", json={"read": "DC_SAFE_QUORUM"})
    assert answer.json() == {"read": "DC_SAFE_QUORUM", "write": "DC_QUORUM"}
    assert gateway.server.read_level is Level.DC_SAFE_QUORUM


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/links", {"a>z": {}}, ("'a>z'", "a>b, b>a")),
        ("/links", {"a>b": {"lag": "soon"}}, ("'soon'", "constant:2ms")),
        ("/links", {"a>b": {"loss": 1}}, ("a>b.loss", "got '1'", "less than 1")),
        ("/links", {"a>b": {"cut": "half"}}, ("'half'", "'drop', 'hold' or 'freeze'")),
        ("/links", {"a>b": {"lagg": "0"}}, ("a>b.lagg", "not permitted")),
        ("/links", [], ("an object", "'[]'")),
        ("/levels", {"read": "ALL"}, ("'ALL'", "'DC_ONE'")),
    ],
)
def test_a_wrong_value_is_told_with_what_is_accepted_and_changes_nothing(client, gateway, path, body, words):
    answer = client.put(path, json=body)
    assert answer.status_code == 422
    assert all(word in answer.json()["error"] for word in words), answer.json()
    assert gateway.links["a", "b"].loss == 0
    assert gateway.server.read_level is Level.DC_ONE


def test_of_several_links_none_changes_if_one_is_wrong(client, gateway):
    assert client.put("/links", json={"a>b": {"cut": "drop"}, "a>z": {"cut": "drop"}}).status_code == 422
    assert gateway.links["a", "b"].cut_mode is None


def test_text_that_is_no_json_is_refused(client):
    assert client.put("/links", content=b"{").status_code == 422


def test_a_body_without_end_is_refused_before_it_fills_the_memory(client):
    answer = client.put("/links", content=b" " * (BODY_BYTES_MAX + 1))
    assert answer.status_code == 422
    assert str(BODY_BYTES_MAX) in answer.json()["error"]


@pytest.mark.parametrize("credentials", [None, "Bearer wrong", "Basic " + "t" * 32])
def test_who_does_not_show_the_token_may_look_but_change_nothing(asked, gateway, credentials):
    client = asked(token="t" * 32)
    headers = {} if credentials is None else {"Authorization": credentials}
    assert client.get("/statistics", headers=headers).status_code == 200
    answer = client.put("/links", json={"a>b": {"cut": "drop"}}, headers=headers)
    assert answer.status_code == 401
    assert gateway.links["a", "b"].cut_mode is None


def test_without_a_token_nobody_may_change_anything(asked):
    client = asked(base_url="http://localhost")
    assert client.post("/heal").status_code == 403


@pytest.mark.parametrize("path", ["/topology", "/statistics", "/heal"])
def test_a_name_of_somebody_else_that_leads_here_is_refused(client, path):
    method = "POST" if path == "/heal" else "GET"
    assert client.request(method, path, headers={"Host": "evil.example:8001"}).status_code == 403


def test_a_page_of_somebody_else_may_not_use_it_even_with_the_token(client):
    assert client.post("/heal", headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.post("/heal", headers={"Origin": "http://127.0.0.1:8001"}).status_code == 200


def test_further_names_are_accepted_if_the_settings_say_so(asked):
    client = asked(hosts=("coordinator-a",), base_url="http://coordinator-a:8001")
    assert client.get("/health").status_code == 200


def test_wrong_settings_are_told_in_one_line(tmp_path):
    path = tmp_path / "admin.json"
    path.write_text(json.dumps({"port": 70_000, "tokn": "x"}))
    with pytest.raises(ClusterError, match=r"port: .*less than 65536.*tokn: "):
        read_admin_settings(path)
    with pytest.raises(ClusterError, match="cannot be read"):
        read_admin_settings(tmp_path / "none.json")


def test_the_last_five_seconds_are_told_beside_the_totals(asked, gateway):
    client = asked()
    for second in range(8):
        gateway.commands = 7 + 100 * second
        gateway.runtime.run_until_complete(gateway.runtime.sleep(1_000_000_000))
        gateway.server.sampler(Level.DC_ONE, True, lambda _outcome: None)([b"v"])
        client.view.sample()
    gateway.commands += 20
    gateway.runtime.run_until_complete(gateway.runtime.sleep(1_000_000_000))
    recent = client.get("/statistics").json()["recent"]
    assert (recent["seconds"], recent["operations_per_s"], recent["errors_per_s"]) == (5, 84, 0)


def test_a_server_that_does_not_answer_keeps_nobody_from_counting(monkeypatch, gateway):
    """A server that stands still is asked for a second, again and again; the last seconds are counted meanwhile."""
    samples, enough = [], asyncio.Event()

    class Stuck(GatewayView):
        def sample(self):
            samples.append(None)
            if len(samples) == 3:
                enough.set()

        async def look_at_server(self):
            await asyncio.Event().wait()

    async def counted():
        async with administration(AdminSettings())(gateway), asyncio.timeout(30):
            await enough.wait()

    monkeypatch.setattr(app, "GatewayView", Stuck)
    monkeypatch.setattr(app, "PERIOD_S", 0.01)
    asyncio.run(counted())
