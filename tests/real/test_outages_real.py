"""Goal: outages of whole zones and links, and slow programs, do to real zones what they do to simulated ones.

Method: short runs on process zones, those of links and programs on containers, too; what programs did between the
recorded begin and end of a fault.
"""

from pathlib import Path
from statistics import median
from typing import Any

import pytest
from support.scenarios.short_runs import Ran, run_short

from zonelab.scenarios.arms import ZoneKind

LOAD = {"duration_s": 4, "rate_per_s": 30, "delay": "0"}
AT = {"at_s": 1.0, "for_s": 1.5}
ZONES = "abc"


@pytest.fixture(
    params=[
        pytest.param(ZoneKind.PROCESS, marks=pytest.mark.real),
        pytest.param(ZoneKind.DOCKER, marks=pytest.mark.docker),
    ],
    ids=str,
)
def on(request: pytest.FixtureRequest) -> ZoneKind:
    kind: ZoneKind = request.param
    return kind


def run_with(directory: Path, *faults: dict[str, Any], **changes: Any) -> Ran:
    run = run_short(directory, **{"load": LOAD, "faults": list(faults), "persistence": "aof-everysec", **changes})
    assert (run.record.status, run.record.error, run.record.drained) == ("complete", None, True)
    return run


def begun(run: Ran, f: str, *, fault: int = 0, after: bool = False) -> list[dict[str, Any]]:
    """Operations that were invoked while a fault was in force, or after it had ended."""
    row = next(row for row in run.table("faults") if row["fault"].startswith(f"{fault}:"))
    first_ns, last_ns = (row["end_ns"], float("inf")) if after else (row["begin_ns"], row["end_ns"])
    operations = [one for one in run.table("operations") if (one["f"], one["type"]) == (f, "invoke")]
    return [one for one in operations if first_ns < one["time_ns"] < last_ns]


def done(run: Ran, f: str) -> list[dict[str, Any]]:
    """Those of ``begun`` that succeeded: one whose turn has come as its program dies begins, and ends with it."""
    succeeded = {one["op_id"] for one in run.table("operations") if one["type"] == "ok"}
    return [one for one in begun(run, f) if one["op_id"] in succeeded]


def failures(run: Ran) -> dict[str, set[str]]:
    """By coordinator, the zones that did not answer it."""
    return {zone: set(told["zone_failures"]) for zone, told in run.json("run.json")["coordinators"].items()}


@pytest.mark.parametrize("arrivals", ["stop", "move"])
def test_a_zone_that_is_out_does_nothing_and_its_jobs_stop_or_move(tmp_path: Path, arrivals: str, on: ZoneKind) -> None:
    run = run_with(tmp_path, {"kind": "zone_outage", "zone": "b", "arrivals": arrivals, **AT}, on=on)
    pushes = done(run, "push")
    assert {one["zone"] for one in pushes} == {one["zone"] for one in done(run, "pop")} == {"a", "c"}
    assert ("b" in {one["message_id"][0] for one in pushes}) is (arrivals == "move")
    assert all("b" in failures(run)[zone] for zone in "ac")
    after = [one["process"] for one in begun(run, "push", after=True) if one["zone"] == "b"]
    assert set(after) <= {"producer-b.2"}, "a container may be back after the load"


def test_a_link_that_fails_both_ways_parts_two_zones_and_no_other(tmp_path: Path, on: ZoneKind) -> None:
    run = run_with(tmp_path, {"kind": "cut", "link": "a:b", **AT}, level="DC_SAFE_QUORUM", on=on)
    assert failures(run) == {"a": {"b"}, "b": {"a"}, "c": set()}


def test_a_link_that_flaps_parts_its_zones_and_is_up_at_the_end(tmp_path: Path, on: ZoneKind) -> None:
    flap = {"kind": "flap", "link": "a:b", "down_s": 0.3, "up_s": 0.3, "at_s": 0.5, "for_s": 3.0}
    run = run_with(tmp_path, flap, load={**LOAD, "duration_s": 4}, on=on)
    assert failures(run) == {"a": {"b"}, "b": {"a"}, "c": set()}
    assert {one["zone"] for one in begun(run, "push", after=True)} == set(ZONES)


def test_servers_that_restart_one_after_another_are_each_killed_at_their_time_and_come_back(
    tmp_path: Path, on: ZoneKind
) -> None:
    rolling = [{"kind": "kill", "zone": zone, "at_s": 0.5 + place, "for_s": 0.3} for place, zone in enumerate(ZONES)]
    run = run_with(tmp_path, *rolling, load={**LOAD, "duration_s": 5}, on=on)
    rows = sorted(run.table("faults"), key=lambda row: row["begin_ns"])
    assert [row["target"] for row in rows] == list(ZONES)
    load_ns = run.record.phases["load"][0]
    assert all(row["begin_ns"] >= load_ns + fault["at_s"] * 1e9 for row, fault in zip(rows, rolling, strict=True))
    assert all(row["end_ns"] >= row["begin_ns"] + 0.3e9 for row in rows)


def test_a_slow_consumer_works_longer_on_each_message_while_it_is_slow(tmp_path: Path, on: ZoneKind) -> None:
    slow = {"kind": "consumer_slow", "zone": "a", "factor": 40.0, **AT}
    consumers = {"per_zone": 1, "batch": 1, "processing": "constant:5ms"}
    run = run_with(tmp_path, slow, consumers=consumers, on=on)
    during, after = (worked_ms(run, begun(run, "ack", after=after)) for after in (False, True))
    assert min(during) > 190
    assert median(after) < min(during)


@pytest.mark.docker
def test_a_full_disk_of_a_container_is_refused_in_a_line(tmp_path: Path) -> None:
    full = {"kind": "disk_full", "zone": "b", **AT}
    run = run_short(tmp_path, load=LOAD, faults=[full], persistence="aof-everysec", on=ZoneKind.DOCKER)
    refused = "zone b: disk_full is possible in simulation and on process zones only"
    assert (run.record.status, run.record.error) == ("failed", refused)


def worked_ms(run: Ran, acks: list[dict[str, Any]]) -> list[float]:
    """Time from the end of the pop of each message of zone a to its ack."""
    popped = {
        (one["message_id"], one["process"]): one["time_ns"]
        for one in run.table("operations")
        if (one["f"], one["type"], one["zone"]) == ("pop", "ok", "a") and one["message_id"]
    }
    keys = [((one["message_id"], one["process"]), one["time_ns"]) for one in acks if one["zone"] == "a"]
    fault_ns = run.table("faults")[0]["begin_ns"]
    return [(acked_ns - popped[key]) / 1e6 for key, acked_ns in keys if key in popped and popped[key] > fault_ns]
