"""Goal: what ``zonelab up`` is told about repairs happens between its processes, is counted, and gets into the report.

Method: the command line as a user runs it; a zone misses writes during a cut, and its server is read directly.
"""

import json

import pytest

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
    return sum(lab.zone(name)["statistics"]["options"].get(what, 0) for name in "abc")


def test_anti_entropy_brings_a_zone_what_it_missed_removals_included_and_the_report_counts_it(lab):
    lab.up("--votes", "version", "--anti-entropy", "200ms")
    miss(lab)
    with lab.server("b") as server_b:
        lab.until(lambda: server_b.mget("k", "gone") == ["new", None])
    assert lab.until(lambda: done(lab, "anti-entropy copied")) >= 1
    assert read(lab) == ("new", None)
    assert "anti-entropy copied" in lab.run("status")
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
    assert lab.until(lambda: done(lab, "hints replayed")) == 2
    lab.run("down")


def test_read_repair_works_for_clients_of_a_port(lab):
    lab.up("--read-repair")
    miss(lab)
    with lab.server("b") as server_b, lab.client("b") as b:
        lab.until(lambda: all(lab.zone("b")["statistics"]["connected"].values()))
        lab.until(lambda: b.get("k") == "new" and server_b.get("k") == "new")
    assert lab.until(lambda: done(lab, "repairs")) >= 1
    lab.run("down")


def test_options_that_do_not_fit_are_refused_before_anything_starts(lab):
    refusal = lab.run("up", "--read-repair", "--votes", "version", code=64)
    assert "one or the other" in refusal
    assert "one data centre" in lab.run("up", "--nodes", "2", "--anti-entropy", "1s", code=64)
    lab.assert_nothing_is_left()
