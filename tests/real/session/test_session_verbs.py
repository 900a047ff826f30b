"""Goal: a cluster of ``zonelab up`` serves ordinary clients, breaks as told, heals, and leaves its history.

Method: the command line as a user runs it, in an empty folder, with redis-py as the client.
"""

import contextlib
import json
import socket
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
import redis

pytestmark = pytest.mark.real


def rows(lab, name):
    return pq.read_table(lab.folder / "runs" / "session" / "latest" / f"{name}.parquet").to_pylist()


def test_what_is_set_through_one_port_is_got_through_every_port(lab):
    status = lab.up("--lag", "lognormal:1ms:5ms")
    assert [zone["zone"] for zone in status["zones"]] == ["a", "b", "c"]
    for writer in "abc":
        with lab.client(writer) as client:
            assert client.set(f"by {writer}", writer)
    for reader in "abc":
        with lab.client(reader) as client:
            assert [client.get(f"by {writer}") for writer in "abc"] == ["a", "b", "c"]
    told = lab.zone("b")["statistics"]
    assert told["levels"]["DC_QUORUM"]["decisions"]["agreed"] == 4
    assert told["latency_ms"]["p50"] >= 1
    lab.run("down")
    lab.assert_nothing_is_left()


def test_a_write_during_a_cut_is_missing_in_the_zone_that_was_cut_off_and_a_quorum_shows_it(lab):
    lab.up()
    with lab.client("a") as a, lab.server("b") as server_b, lab.server("c") as server_c:
        a.set("before", "1")
        lab.run("fault", "cut", "b")
        assert a.set("during", "2")
        assert server_c.get("during") == "2"
        assert lab.run("heal") == "ended 1:cut b\n1 key differs: `during` a 1, b 0, c 1 elements\n"
        assert lab.run("heal") == "nothing to heal\n"
        lab.until(lambda: all(lab.zone("a")["statistics"]["connected"].values()))
        a.set("after", "3")
        lab.until(lambda: server_b.get("after"))
        assert server_b.mget("before", "during", "after") == ["1", None, "3"]
        with lab.client("b") as b:
            lab.until(lambda: all(lab.zone("b")["statistics"]["connected"].values()))
            assert b.get("during") == "2"
    assert lab.until(lambda: lab.zone("b")["statistics"]["divergence"]) >= 1
    assert {"command": "GET", "zone": "b", "reply": "nil", "times": 1} in lab.status()["deviations"]
    assert "Errors and differing replies, by server" in lab.run("status")
    assert "1 key differs: `during` a 1, b 0, c 1 elements" in lab.run("down")
    run = lab.folder / "runs" / "session" / "latest"
    assert lab.run("check", str(run), code=2) == ""
    lab.run("report", str(run))
    page = (run / "report.html").read_text()
    assert "<th>GET</th><td>b</td><td>nil</td>" in page
    assert "1 key differs: `during` a 1, b 0, c 1 elements." in page


def test_faults_for_a_time_end_by_themselves_and_all_is_recorded(lab):
    lab.up()
    lab.run("fault", "cut", "a:b", "--for", "300ms")
    lab.run("fault", "lag", "a>c", "constant:3ms", "--for", "0.3")
    lab.run("fault", "kill", "c", "--for", "500ms")
    lab.run("fault", "coordinator_pause", "b", "--for", "1s")
    lab.until(lambda: not lab.status()["faults"])
    with lab.client("c") as c:
        lab.until(lambda: lab.zone("c")["statistics"]["connected"]["c"])
        assert c.set("k", "v")
    lab.run("down")
    found = {row["fault"]: row for row in rows(lab, "faults")}
    kinds = [row["kind"] for row in found.values()]
    assert kinds == ["cut", "lag", "kill", "coordinator_pause"]
    for name, at_least_s in (("1:cut a:b", 0.3), ("3:kill c", 0.5), ("4:coordinator_pause b", 1.0)):
        lasted_s = (found[name]["end_ns"] - found[name]["begin_ns"]) / 1e9
        assert lasted_s >= at_least_s
    assert [row["verb"] for row in rows(lab, "verbs")] == ["up", "fault", "fault", "fault", "fault", "down"]
    samples = rows(lab, "samples")
    assert {row["zone"] for row in samples} == {"a", "b", "c"}
    assert sum(row["operations_per_s"] or 0 for row in samples if row["zone"] == "c") > 0
    printed = json.loads(lab.run("report", "runs/session/latest", "--json"))
    page = (lab.folder / printed["report"]).read_text()
    for words in ("3:kill c", "coordinator_pause", "Commands, errors and latency"):
        assert words in page
    lab.run("check", "runs/session/latest", code=2)


def test_servers_and_coordinators_break_and_come_back_as_told(lab):
    lab.up()
    with lab.client("a") as a:
        a.set("k", "v")
    with lab.server("c") as server_c:
        lab.until(lambda: server_c.get("k"))
        lab.run("fault", "restart", "c")
        assert server_c.get("k") == "v"
        lab.run("fault", "kill", "c")
        assert lab.zone("c")["server"]["state"] == "dead"
        assert "is under" in lab.run("fault", "pause", "c", code=64)
        lab.run("fault", "restart", "c", "--wipe")
        assert server_c.get("k") is None
        lab.run("fault", "restart", "c", "--warm")
        assert server_c.get("k") == "v"
    lab.run("fault", "memory", "b")
    lab.until(lambda: lab.zone("b")["statistics"]["server_troubles"] == ["memory full"])
    lab.run("heal")
    lab.until(lambda: lab.zone("b")["statistics"]["server_troubles"] == [])
    lab.run("fault", "disk_full", "b")
    with lab.server("b") as server_b:
        lab.until(lambda: _refused(server_b))
    lab.until(lambda: lab.zone("b")["statistics"]["server_troubles"] == ["cannot write to its disk (full?)"])
    lab.run("heal")
    lab.until(lambda: lab.zone("b")["statistics"]["server_troubles"] == [])
    lab.run("fault", "slow", "a", "5")
    assert lab.zone("a")["server"]["state"] == "slow"
    lab.run("fault", "coordinator_crash", "b")
    with pytest.raises(redis.ConnectionError), lab.client("b") as b:
        b.ping()
    lab.run("heal")
    assert [(zone["server"]["state"], zone["coordinator"]["state"]) for zone in lab.status()["zones"]] == [
        ("running", "running")
    ] * 3
    with lab.client("b") as b:
        lab.until(lambda: all(lab.zone("b")["statistics"]["connected"].values()))
        assert b.get("k") == "v"


def _refused(server):
    """Return whether a write is refused for the sake of the server's files."""
    try:
        server.set("full", "v")
    except redis.ResponseError as error:
        return str(error).startswith("MISCONF")
    return False


def test_without_a_coordinator_the_others_do_not_reach_its_zone_and_without_its_port_they_do(lab):
    lab.up()
    with lab.client("b") as b, lab.client("c") as c, lab.server("a") as server_a, lab.server("c") as server_c:
        lab.run("fault", "coordinator_crash", "a")
        for number in range(20):
            assert b.set(f"b {number}", "v")
            assert c.set(f"c {number}", "v")
        lab.until(lambda: server_c.dbsize() == 40)
        told = lab.zone("b")["statistics"]
        assert told["connected"] == {"a": False, "b": True, "c": True}
        assert set(told["zone_failures"]["a"]) == {"ERR Peer: Peer Node is not connected"}
        lab.run("fault", "restart", "a", "--coordinator")
        for zone in "bc":
            lab.until(lambda zone=zone: all(lab.zone(zone)["statistics"]["connected"].values()))
        assert server_a.dbsize() == 0
        lab.run("fault", "port_crash", "a")
        assert b.set("by b", "v")
        lab.until(lambda: server_a.get("by b"))
        lab.run("heal")
    with lab.client("a") as a:
        assert a.get("by b") == "v"
        for zone in "bc":
            lab.run("fault", "coordinator_crash", zone)
        with pytest.raises(redis.ResponseError, match="Peer Node is not connected"):
            a.set("alone", "v")
        with pytest.raises(redis.ResponseError, match="Peer Node is not connected"):
            a.get("by b")
    lab.run("down")
    crashes = ["coordinator_crash", "port_crash", "coordinator_crash", "coordinator_crash"]
    assert [row["kind"] for row in rows(lab, "faults")] == crashes


def test_what_is_sent_to_a_zone_whose_coordinator_stands_still_times_out_and_arrives_when_it_goes_on(lab):
    lab.up("--level", "DC_ONE")
    with lab.client("b") as b, lab.server("a") as server_a:
        lab.run("fault", "coordinator_pause", "a")
        b.set("early", "v")
        failures = lab.until(lambda: lab.zone("b")["statistics"]["zone_failures"].get("a"))
        assert failures == {"ERR Peer: Peer Node refused connection": 1}
        lab.until(lambda: lab.zone("b")["statistics"]["connected"]["a"])  # its kernel accepts connections
        b.set("late", "v")
        assert server_a.dbsize() == 0
        cuts = {link["link"]: link["cut"] for link in lab.status()["links"]}
        assert cuts["b>a"] == cuts["a>b"] == "freeze"
        assert cuts["b>c"] is None
        lab.run("heal")
        lab.until(lambda: server_a.dbsize() == 2)


def test_a_coordinator_that_comes_back_during_a_cut_is_cut_off_as_well(lab):
    lab.up()
    lab.run("fault", "cut", "b")
    lab.run("fault", "restart", "b", "--coordinator")
    lab.until(lambda: lab.zone("b")["statistics"]["connected"] == {"a": False, "b": True, "c": False})


def test_clients_have_to_show_the_password_and_nothing_on_disk_shows_it(lab):
    lab.password = "a secret of 25 characters"
    lab.environment["ZONELAB_PASSWORD"] = lab.password
    lab.up("--zones", "1")
    with lab.client("a") as client, lab.client("a", password="wrong") as stranger:
        assert client.set("k", "v")
        with pytest.raises(redis.AuthenticationError):
            stranger.get("k")
    lab.run("down")
    files = [path for path in lab.folder.rglob("*") if path.is_file()]
    assert files
    assert not any(lab.password.encode() in path.read_bytes() for path in files)


def test_half_headers_at_every_control_port_do_not_keep_the_owner_out(lab):
    status = lab.up()
    ports = [
        urlsplit(where)
        for where in (lab.session["control"], *(zone["coordinator"]["admin"] for zone in status["zones"]))
    ]
    with contextlib.ExitStack() as stack:
        for port in ports:
            for _ in range(80):
                half = stack.enter_context(socket.create_connection((port.hostname, port.port)))
                half.sendall(b"GET /status HTTP/1.1\r\nHost: ")
        for _ in range(3):
            assert all(zone["statistics"] is not None for zone in lab.status()["zones"])
        lab.run("fault", "cut", "b")
        assert "ended 1:cut b" in lab.run("heal")
    lab.run("down")
    lab.assert_nothing_is_left()
