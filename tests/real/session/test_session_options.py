"""Goal: what ``zonelab up`` is told about repairs happens between its processes, is counted, and gets into the report.

Method: the command line as a user runs it; a zone misses writes during a cut, and its server is read directly.
"""

import json
from itertools import count

import pytest
import redis

from zonelab.cluster.options.strict.door import REFUSED

NAMED = "Zone b answered NOSCRIPT "

pytestmark = pytest.mark.real


def miss(lab):
    """Write while zone b is cut off: a value, and the removal of another. Nobody has read them when it is back."""
    with lab.client("a") as a:
        assert a.set("k", "old")
        assert a.set("gone", "1")
        lab.run("fault", "cut", "b")
        assert a.set("k", "new")
        assert a.delete("gone") == 1
        lab.run("heal")
        lab.until(lambda: all(lab.zone("a")["statistics"]["connected"].values()))


def read(lab):
    """A read may write back what the zones that it asks lack."""
    with lab.client("a") as a:
        return a.get("k"), a.get("gone")


def done(lab, what):
    return sum(done_by(lab, zone, what) for zone in "abc")


def done_by(lab, zone, what):
    return lab.zone(zone)["statistics"]["options"].get(what, 0)


def test_anti_entropy_brings_a_zone_what_it_missed_removals_included_and_the_report_counts_it(lab):
    lab.up("--votes", "version", "--anti-entropy", "200ms")
    miss(lab)
    with lab.server("b") as server_b:
        lab.until(lambda: server_b.mget("k", "gone") == ["new", None])
    assert lab.until(lambda: done(lab, "anti-entropy copied")) >= 1
    assert read(lab) == ("new", None)
    lab.until(lambda: "anti-entropy copied" in lab.run("status"))  # a coordinator may answer it too late
    lab.run("down")
    run = lab.folder / "runs" / "session" / "latest"
    told = json.loads((run / "run.json").read_text())
    assert any(each["options"].get("anti-entropy copied") for each in told["coordinators"].values())
    lab.run("report", str(run))
    assert "anti-entropy copied" in (run / "report.html").read_text()
    lab.assert_nothing_is_left()


def test_hinted_handoff_sends_a_zone_what_it_missed_in_the_bytes_that_clients_wrote(lab):
    lab.up("--hinted-handoff")
    miss(lab)
    with lab.server("b") as server_b:
        lab.until(lambda: server_b.mget("k", "gone") == ["new", None])
    assert read(lab) == ("new", None)
    assert lab.until(lambda: done(lab, "hints replayed")) >= 2
    lab.run("down")


def test_read_repair_works_for_clients_of_a_port(lab):
    lab.up("--read-repair")
    miss(lab)
    with lab.server("b") as server_b, lab.client("b") as b:
        lab.until(lambda: all(lab.zone("b")["statistics"]["connected"].values()))
        lab.until(lambda: b.get("k") == "new" and server_b.get("k") == "new")
    assert lab.until(lambda: done(lab, "repairs")) >= 1
    lab.run("down")


def test_strict_mode_refuses_at_every_port_and_says_how_often(lab):
    lab.up("--strict")
    for zone in "abc":
        with lab.client(zone, protocol=2) as client:
            assert client.hset("h", "f", "1") in (0, 1)
            with pytest.raises(redis.ResponseError, match="strict: HSET: a number of arguments"):
                client.hset("h", mapping={"f": "1", "g": "2"})
    lab.until(lambda: all(done_by(lab, zone, REFUSED) for zone in "abc"))
    assert REFUSED in lab.run("status")
    lab.run("down")
    told = json.loads((lab.folder / "runs" / "session" / "latest" / "run.json").read_text())
    assert all(each["options"][REFUSED] for each in told["coordinators"].values())


@pytest.mark.parametrize("option", [(), ("--reload-scripts",)], ids=["by default", "reloaded"])
def test_a_server_that_lost_its_scripts_stays_behind_and_is_named_unless_they_are_reloaded(lab, option):
    lab.up(*option)
    values = count()
    with lab.client("a") as a, lab.server("b") as server_b:
        script = a.register_script("redis.call('SET', KEYS[1], ARGV[1]) return ARGV[1]")

        def reaches_b():
            value = script(keys=["k"], args=[next(values)])
            return server_b.get("k") == value

        lab.until(reaches_b)
        reached = server_b.get("k")
        lab.run("fault", "kill", "b")
        lab.run("heal")
        if option:
            lab.until(reaches_b)
        else:
            lab.until(lambda: not reaches_b() and NAMED in lab.run("status"))
            assert server_b.get("k") == reached
    assert (NAMED in lab.run("status")) is not bool(option)
    lab.run("down")
    run = lab.folder / "runs" / "session" / "latest"
    lab.run("report", str(run))
    assert (NAMED in (run / "report.html").read_text()) is not bool(option)


def test_options_that_do_not_fit_are_refused_before_anything_starts(lab):
    for arguments, words in (
        (("--read-repair", "--votes", "version"), "read_repair: got true; accepted: false with"),
        (("--strict", "--hinted-handoff"), "strict: got true; accepted: false with"),
        (("--nodes", "2", "--anti-entropy", "1s"), "one data centre"),
        (("--dcs", "3", "--zones", "6", "--nodes", "2"), "36 servers are too many; accepted: 1 to 32"),
        (("--topology", "none.yaml"), "none.yaml: cannot be read"),
    ):
        said = lab.run("up", "--port", "0", *arguments, code=64)
        assert words in said
        assert said.count("\n") == 1
    lab.assert_nothing_is_left()
