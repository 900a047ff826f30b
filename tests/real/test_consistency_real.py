"""Goal: the anomalies of the consistency lab show on real servers as in simulation. Method: the shipped scenarios on
three server processes, checked from disk; what depends on chance is held against its law, not against a rate.
"""

import pyarrow.parquet as pq
import pytest
from support.scenarios.consistency import ONE, QUORUM, SAFE, SHOWN, assert_shown, run_for_real, run_in_memory

from zonelab.analysis.runs.accesses import FINAL_VALUES, VALUES
from zonelab.analysis.workloads import WorkloadKind
from zonelab.app.cli.main import run_cli

pytestmark = pytest.mark.real

SHOWN_FOR_REAL = [
    ("stale-quorum-read", QUORUM),
    ("two-writers", ONE),
    ("two-writers", SAFE),
    ("eval-pops-differ", QUORUM),
    ("error-but-applied", SAFE),
    ("there-and-back", QUORUM),
    ("nil-outvotes", QUORUM),
    ("missed-write", QUORUM),
    ("stale-at-dc-one", ONE),
    ("retried-increment", QUORUM),
]


@pytest.mark.parametrize(("name", "level"), SHOWN_FOR_REAL, ids=lambda value: str(value))
def test_a_scenario_shows_on_real_servers_what_it_shows_in_simulation(name, level, tmp_path):
    assert_shown(run_for_real(name, tmp_path, f"level={level}"), SHOWN[name, level])


@pytest.mark.parametrize("level", [ONE, QUORUM, SAFE])
def test_a_lock_never_has_two_owners_at_a_quorum_and_often_at_dc_one(level, tmp_path):
    verdict = run_for_real("lock-race", tmp_path, f"level={level}", "workload.keys=200", "load.duration_s=2")
    assert verdict.consistency.workload is WorkloadKind.LOCK
    assert sum(count for name, count in verdict.consistency.figures.items() if name.startswith("owners_")) == 200
    if level is ONE:
        assert verdict.counts["two_owners"] > 20
    else:
        assert verdict.counts["two_owners"] == 0
        assert verdict.consistency.figures["owners_1"] > 0


def test_a_counter_at_dc_one_gives_numbers_twice_and_at_safe_quorum_never(tmp_path):
    one = run_for_real("counter-ids", tmp_path, "level=DC_ONE", "load.duration_s=2")
    safe = run_for_real("counter-ids", tmp_path, "level=DC_SAFE_QUORUM", "load.duration_s=2")
    assert one.counts["duplicate_number"] > 20
    assert safe.counts["duplicate_number"] == 0
    assert safe.consistency.operations["next"]["info"] > 0


def test_writers_side_by_side_leave_real_zones_different_though_every_write_was_confirmed(tmp_path):
    verdict = run_for_real("lockstep-writers", tmp_path, "level=DC_SAFE_QUORUM", "load.duration_s=2")
    writes = verdict.consistency.operations["write"]
    assert writes["ok"] == sum(writes.values()) > 1_800
    assert verdict.counts["divergent"] > 0


def test_sets_on_real_servers_keep_what_was_confirmed_and_differ_where_a_zone_missed_it(tmp_path):
    verdict = run_for_real("sets", tmp_path, "level=DC_QUORUM")
    assert verdict.counts["lost_add"] == verdict.counts["unwritten"] == verdict.counts["applied_after_fail"] == 0
    assert verdict.counts["divergent"] == 3
    assert verdict.valid is False


def test_registers_on_real_servers_are_checked_from_disk_and_again_by_the_command_line(tmp_path, capsys):
    verdict = run_for_real("registers", tmp_path)
    assert verdict.counts["applied_after_fail"] == verdict.counts["unwritten"] == 0
    assert sum(sum(counts.values()) for counts in verdict.consistency.operations.values()) > 1_500
    run = tmp_path / "registers" / "latest"
    assert pq.read_schema(run / "history" / "values-000001.parquet").names == VALUES.names
    assert pq.read_schema(run / "final_values.parquet").names == FINAL_VALUES.names
    exits = {True: 0, False: 1, "unknown": 2}
    assert run_cli(["check", str(run)]) == exits[verdict.valid]
    assert "nonlinearizable" in capsys.readouterr().out
    assert run_cli(["report", str(run)]) == 0
    page = (run / "report.html").read_text()
    assert "register workload" in page
    if verdict.consistency.counterexamples:
        assert "Smallest counterexamples" in page


def test_one_writing_zone_without_faults_is_linearizable_on_real_servers(tmp_path):
    """Needs no luck: writes of one coordinator reach every server in one order, whatever the machine does."""
    verdict = run_for_real("registers", tmp_path, "faults=[]", "load={duration_s: 3, rate_per_s: {a: 100}}")
    assert verdict.valid is True
    assert run_in_memory("registers", "faults=[]", "load={duration_s: 3, rate_per_s: {a: 100}}").valid is True
