"""What a run with ``queue.engine: gmq`` has in its tables, and what becomes of it when its dispatcher dies or stops."""

import pytest
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import MessageClass
from zonelab.scenarios.run_files.tables import FINAL_STATE_NAME, OPERATIONS_NAME
from zonelab.scenarios.spec.reading import load_scenario

ORIGINAL = {"engine": "gmq", "compat": True, "unack_ms": 3_000}


def run(**changes):
    _, tables, verdict = run_in_memory(small(queue=ORIGINAL, topology={"zones": ["a"]}, **changes))
    return {name: table.batch().to_pylist() for name, table in tables.tables.items()}, verdict


def test_the_end_state_tells_the_leased_from_those_that_wait():
    told = [{"at_ms": 0, "zone": "a", "id": each, "poison": each == "poison"} for each in ("poison", "late")]
    told[1]["delay_ms"] = 60_000
    tables, _ = run(load={"rate_per_s": 0, "operations": told}, drain={"bound_s": 4})
    rows = {(row["place"], row["message_id"], row["serving"]) for row in tables[FINAL_STATE_NAME]}
    stored = {("payload", "late", False), ("payload", "poison", False)}
    assert rows == {("queue", "late", True), ("unack", "poison", True), *stored}


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_without_its_dispatcher_a_push_is_refused(how):
    outage = {"kind": "service_crash", "zone": "a", "service": "dispatcher", "how": how, "at_s": 0.5, "for_s": 2}
    tables, _ = run(faults=[outage], load={"rate_per_s": 30, "duration_s": 4, "delay": "0"})
    pushes = [row for row in tables[OPERATIONS_NAME] if row["f"] == "push" and row["type"] != "invoke"]
    during = [row for row in pushes if 1e9 < row["time_ns"] < 2.4e9]
    assert {row["error"] for row in during} == {"no dispatcher runs"}
    assert {row["type"] for row in pushes if row["time_ns"] > 3e9} == {"ok"}


@pytest.mark.parametrize(
    ("name", "mode", "lost"),
    [
        ("gmq-kill-9", "mode=default", True),
        ("gmq-kill-9", "compat=true", True),
        ("gmq-kill-9", "mode=hardened", False),
        ("gmq-safe-exit", "mode=default", False),
        ("gmq-safe-exit", "compat=true", False),
    ],
)
def test_a_stop_at_the_instant_of_a_kill_loses_nothing(name, mode, lost):
    """Some ninety jobs are in a scan: out of their buckets, and not ready yet."""
    _, _, verdict = run_in_memory(load_scenario(name, overrides=["arm=sim", f"queue.{mode}"]))
    assert verdict.totals.acknowledged > 400
    assert (verdict.counts[MessageClass.LOST] > 50, verdict.valid) == (lost, not lost)


@pytest.mark.parametrize(("mode", "refused"), [("compat=true", "abc"), ("mode=default", "abc"), ("mode=hardened", "a")])
def test_with_the_zone_of_its_dispatcher_gmq_is_lost_to_every_zone_unless_hardened(mode, refused):
    overrides = ["arm=sim", "level=DC_QUORUM", f"queue.{mode}"]
    _, tables, verdict = run_in_memory(load_scenario("gmq-zone-lost", overrides=overrides))
    rows = tables.tables[OPERATIONS_NAME].batch().to_pylist()
    failed = {row["zone"] for row in rows if row["f"] == "push" and row["type"] == "fail"}
    assert "".join(sorted(failed)) == refused
    assert (verdict.valid, verdict.counts[MessageClass.LOST] == 0) == (mode == "mode=hardened",) * 2


@pytest.mark.parametrize(("mode", "late"), [("compat=true", True), ("mode=default", False), ("mode=hardened", False)])
def test_n6_other_dispatchers_do_not_wake_for_the_jobs_of_one_that_ended_in_the_original(mode, late):
    overrides = ["arm=sim", "level=DC_QUORUM", f"queue.{mode}"]
    _, _, verdict = run_in_memory(load_scenario("gmq-two-dispatchers", overrides=overrides))
    late_ms = verdict.queue.lateness_ms["all"]["p99"]
    assert (verdict.valid, late_ms > 7_000, late_ms < 1_000) == (True, late, not late)
