"""Goal: runs and hunts from Python are those of the command line, also where a loop runs. Method: short simulations."""

import pyarrow as pa
import pytest
from support.coroutines import coroutine

from zonelab import ClusterError, ScenarioError, runs
from zonelab.analysis.runs.errors import RunError

SHORT = {"load.duration_s": 1, "load.rate_per_s": 20}


def test_a_run_has_a_verdict_figures_and_tables_and_can_be_read_again(tmp_path):
    done = runs.run("steady", seed=3, level="DC_ONE", set=SHORT, folder=tmp_path)
    assert (done.scenario, done.seed, done.level, done.status) == ("steady", 3, "DC_ONE", "complete")
    assert done.verdict.valid is True
    assert done.summary["seed"] == 3
    pushed = done.history.filter(pa.compute.equal(done.history["f"].cast(pa.string()), "push"))
    assert len(set(pushed["message_id"].to_pylist())) == done.verdict.totals.pushed > 0
    assert done.table("faults").num_rows == 0
    assert runs.read(done.folder) == done


def test_a_mapping_is_a_scenario_and_a_workload_has_its_own_verdict(tmp_path):
    told = {"name": "mine", "load": {"duration_s": 1, "rate_per_s": 20}, "workload": {"kind": "register"}}
    done = runs.run(told, seed=9, set={"level": "DC_ONE"}, folder=tmp_path)
    assert (done.scenario, done.seed, done.level) == ("mine", 9, "DC_ONE")
    assert isinstance(done.verdict, runs.Verdict)
    assert done.table("values").num_rows > 0


@coroutine
async def test_a_hunt_has_an_outcome_for_each_seed_within_a_running_loop(tmp_path):

    hunted = runs.hunt("steady", runs=2, seed_from=5, messages=5, set=SHORT, folder=tmp_path)
    assert list(hunted.observations) == [5, 6]
    assert hunted.complete


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda at: runs.run("stedy", folder=at), ScenarioError, "stedy: no such scenario (did you mean steady?)"),
        (
            lambda at: runs.run("steady", on="vm", folder=at),
            ClusterError,
            "on: got 'vm'; accepted: sim, process, docker",
        ),
        (lambda at: runs.run("steady", set={"load.durations": 1}, folder=at), ScenarioError, "load.durations: unknown"),
        (lambda at: runs.hunt("steady", runs=0, folder=at), ClusterError, "runs: got 0; accepted: 1 or more"),
        (lambda at: runs.read(at), RunError, "not a run directory"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path, call, error, reason):
    with pytest.raises(error) as refused:
        call(tmp_path)
    assert reason in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_table_that_no_run_has_is_refused(tmp_path):
    done = runs.run("steady", set=SHORT, folder=tmp_path)
    with pytest.raises(ClusterError, match="table: got 'lags'; accepted: operations, faults"):
        done.table("lags")
