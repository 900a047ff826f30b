"""Goal: programs of the user's own get a run, a history and a verdict, and nothing of them outlives it.

Method: a small queue in Python over a sorted set, on process zones, through the runner.
"""

import sys
from pathlib import Path
from typing import Any

import pytest
from support.scenarios.short_runs import Ran, ran

from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.spec.reading import scenario_of

pytestmark = pytest.mark.real

GUEST = Path(__file__).parents[2] / "support" / "guests" / "sound_queue.py"
PUSH = [sys.executable, str(GUEST), "push", "{url}", "60"]
WORK = [sys.executable, str(GUEST), "work", "{url}"]


def ran_with(tmp_path: Path, kind: ZoneKind = ZoneKind.PROCESS, **changed: Any) -> Ran:
    given: dict[str, Any] = {
        "name": "own",
        "level": "DC_QUORUM",
        "load": {"duration_s": 60},
        "programs": {
            "producer": {"command": PUSH, "ends": True, "zone": "a"},
            "worker": {"command": WORK, "zone": "a", "count": 2},
        },
        "drain": {"bound_s": 60, "quiet_s": 2},
        **changed,
    }
    return ran(scenario_of(given, source="own"), tmp_path / "runs", on=kind)


def test_a_sound_queue_is_valid_while_a_zone_dies(tmp_path: Path) -> None:
    fault = {"kind": "kill", "zone": "b", "at_s": 0.3, "for_s": 1.5, "restart": "warm"}
    run = ran_with(tmp_path, faults=[fault])
    assert (run.record.status, run.record.error) == ("complete", None)
    verdict = run.check()
    assert (verdict.valid, verdict.reasons) == (True, ())
    assert verdict.totals.pushed == verdict.totals.acked == 60
    info = run.json("run.json")
    assert sorted(info["programs"]) == ["producer-a-0", "worker-a-0", "worker-a-1"]
    assert {one["exit_code"] for one in info["programs"].values()} == {0}
    assert [row["kind"] for row in run.table("faults")] == ["kill"]


def test_programs_are_cut_off_while_their_coordinator_is_dead_and_find_it_where_it_was(tmp_path: Path) -> None:
    run = ran_with(tmp_path, faults=[{"kind": "coordinator_crash", "zone": "a", "at_s": 0.3, "for_s": 1}])
    assert (run.record.status, run.record.error) == ("complete", None)
    verdict = run.check()
    assert (verdict.valid, verdict.reasons) == (True, ())
    assert verdict.totals.pushed == verdict.totals.acked == 60


@pytest.mark.parametrize("failover", [False, True])
def test_an_address_that_fails_over_leads_to_a_coordinator_that_lives(tmp_path: Path, failover: bool) -> None:
    crash = {"kind": "coordinator_crash", "zone": "a", "at_s": 0.3, "for_s": 4}
    own = {"zone": "a", "failover": failover}
    run = ran_with(
        tmp_path,
        faults=[crash],
        programs={
            "producer": {"command": PUSH, "ends": True, **own},
            "worker": {"command": WORK, **own, "record_commands": True},
        },
    )
    assert (run.record.status, run.record.error) == ("complete", None)
    assert (run.check().valid, run.check().totals.acked) == (True, 60)
    (fault,) = [row for row in run.table("faults") if row["end_ns"] is not None]
    margin_ns = 100_000_000
    acks = [row["time_ns"] for row in run.table("operations") if (row["f"], row["type"]) == ("ack", "ok")]
    meanwhile = [at for at in acks if fault["begin_ns"] + margin_ns < at < fault["end_ns"] - margin_ns]
    assert bool(meanwhile) is failover


@pytest.mark.docker
def test_programs_reach_zones_in_containers(tmp_path: Path) -> None:
    run = ran_with(tmp_path, ZoneKind.DOCKER, topology={"zones": ["a"]})
    assert (run.record.status, run.record.error) == ("complete", None)
    assert (run.check().valid, run.check().totals.acked) == (True, 60)
