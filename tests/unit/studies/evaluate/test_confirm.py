"""Goal: the best settings are run again, a wrong model is found, and what is known is not measured again.

Method: simulated runs in place of real ones, by the same door; the model that predicts has their lag or another one.
"""

from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest
import yaml
from support.scenarios.sim_runs import SMALL, tell_as_busy
from support.studies.planted_outcomes import Planted, outcome

from zonelab.analysis.comparison.confirmation import ConfirmationStatus
from zonelab.scenarios.arms import Arm, ZoneKind
from zonelab.scenarios.run.simulated import run_in_sim
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.confirmation import ONLY_SIMULATED, Confirmation, ConfirmationRow
from zonelab.studies.evaluate.confirming import PREDICTED, ConfirmationRuns
from zonelab.studies.evaluate.evaluation import Evaluation
from zonelab.studies.evaluate.real_run import RealRuns
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.many_runs.run_all import IN_THIS_PROCESS
from zonelab.studies.many_runs.task import Workers

LAG = "constant:3ms"
LENGTHS = {"lengths_s": [0.0625, 0.125, 0.25]}
FAULTS = {
    "slow": {"per_year": 1, "lasts_s": 1, "fault": {"kind": "slow", "zone": "any"}, **LENGTHS},
    "stop": {"per_year": 1, "lasts_s": 1, "fault": {"kind": "pause", "zone": "any"}, **LENGTHS},
}


@dataclass
class StandIn:
    """Simulated runs whose links are ``lag`` apart. ``until``: Ctrl-C comes in the run after so many.

    ``busy``: seeds whose runs had a busy machine.
    """

    lag: str = LAG
    until: int = 99
    busy: tuple[int, ...] = ()
    made: list[tuple[str, int]] = field(default_factory=list)

    def __call__(self, scenario, *, kind, runs, watcher, command):
        assert (scenario.arm, kind) == (Arm.REAL, ZoneKind.PROCESS)
        links = scenario.links.model_copy(update={"lag": self.lag})
        changed = scenario.model_copy(update={"arm": Arm.SIM, "links": links})
        if len(self.made) >= self.until:
            return runs, RunRecord(status="interrupted", error="interrupted by the user")
        self.made.append((scenario.level, scenario.seed))
        directory, record = run_in_sim(changed, runs=runs, watcher=watcher, command=command)
        if scenario.seed in self.busy:
            tell_as_busy(directory)
        return directory, record


def confirmed(
    folder: Path,
    real: StandIn,
    *,
    lag: str = LAG,
    workers: Workers = IN_THIS_PROCESS,
    repeats: int = 2,
    timed=None,
    **changes,
) -> Confirmation:
    """By the model with ``lag``, whose runs ``workers`` make."""
    section = {"vary": {"level": ["DC_QUORUM"]}, "objectives": ["losses == 0"], "faults": {}, **changes}
    load = {"duration_s": 0.5, "rate_per_s": 10}
    path = folder / "rollout.yaml"
    path.write_text(yaml.safe_dump({**SMALL, "links": {"lag": lag}, "evaluate": section, "load": load}))
    evaluation = Evaluation(Rollout.load(str(path)), workers=workers)
    runs = 4 * len(evaluation.rollout.year.cells)
    with evaluation.experiment.state(folder / lag) as state:
        done = evaluation.run(Budget(runs=runs), state=state)
        servers = RealRuns(on=ZoneKind.PROCESS, runs=folder, command="again", run_real=real)
        confirming = ConfirmationRuns(evaluation=evaluation, real=servers, repeats=repeats, **(timed or {}))
        return confirming.confirmed(done, simulated=state, directory=folder / lag)


def test_a_true_model_is_confirmed_and_what_is_known_is_not_measured_again(tmp_path: Path):
    real = StandIn(until=1)
    broken = confirmed(tmp_path, real)
    assert (broken.complete, broken.holds, broken.failure) == (False, False, None)
    real.until = 99
    found = confirmed(tmp_path, real)
    assert (found.complete, found.holds) == (True, True)
    assert real.made == [("DC_QUORUM", 1), ("DC_QUORUM", 2)]
    (row,) = found.rows
    assert [pair.operation for pair in row.pairs] == ["push", "lease", "ack"]
    assert {pair.predicted.runs for pair in row.pairs} == {PREDICTED}, "though 4 were enough to decide"
    assert ONLY_SIMULATED in found.sentences()


def test_a_lag_ten_times_too_long_or_too_short_is_not_confirmed(tmp_path: Path):
    for lag in ("constant:30ms", "constant:300us"):
        (row,) = confirmed(tmp_path, StandIn(), lag=lag).rows
        assert row.status is ConfirmationStatus.NOT
        assert ("links have a median of 0.3 ms" in row.why) == (lag == "constant:300us")
        assert ("zonelab measure-service" in row.why) == (lag == "constant:300us"), "work makes nothing quicker"


def test_runs_on_a_busy_machine_count_only_where_too_few_others_are_of_their_kind(tmp_path: Path):
    (row,) = confirmed(tmp_path, StandIn(busy=(2, 5)), repeats=8).rows
    assert row.status is ConfirmationStatus.CONFIRMED
    assert {pair.measured.runs for pair in row.pairs} == {6}
    (row,) = confirmed(tmp_path, StandIn(busy=(2, 5)), lag="constant:3001us", repeats=7).rows
    assert (row.status, row.why) == (ConfirmationStatus.UNDECIDED, "machine was busy")
    assert {pair.measured.runs for pair in row.pairs} == {7}


def test_two_settings_are_run_with_each_fault_that_real_zones_can_have(tmp_path: Path):
    levels = ["DC_ONE", "DC_QUORUM", "DC_SAFE_QUORUM"]
    real = StandIn()
    asked = {"vary": {"level": levels}, "objectives": ["p50(push) < 1s"], "faults": FAULTS}
    found = confirmed(tmp_path, real, workers=Planted(outcome), repeats=1, **asked)
    rows = {(row.setting, row.kind): row.status for row in found.rows}
    assert {setting for setting, _ in rows} == {"level=DC_ONE", "level=DC_QUORUM"}, "the quick one, then the next"
    assert [kind for setting, kind in rows if setting == "level=DC_ONE"] == [
        "no fault",
        "stop for 0.25 s",
        "slow for 0.25 s",
    ]
    assert {row.why for row in found.rows if row.status is ConfirmationStatus.NOT_CONFIRMABLE} == {
        "slow is not the same on real servers"
    }
    assert len(real.made) == 2 * 2


def test_zones_that_cannot_be_run_end_it_and_are_told(tmp_path: Path):
    def broken(scenario, **given):
        return tmp_path, RunRecord(status="failed", error="no server")

    found = confirmed(tmp_path, broken, workers=Planted(outcome))
    assert (found.holds, found.complete) == (False, False)
    assert found.failure is not None
    assert found.failure.startswith("no server; see ")
    assert found.rows[0].status is ConfirmationStatus.UNDECIDED


def test_rows_that_the_time_does_not_reach_say_what_they_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A clock that goes on by 20 s at every look, so that two runs fit."""
    levels = ["DC_ONE", "DC_QUORUM"]
    asked = {"vary": {"level": levels}, "objectives": ["p50(push) < 1s"]}
    clock = count(0, 20)
    timed = {"seconds": 55.0, "now_s": lambda: float(next(clock))}
    found = confirmed(tmp_path, StandIn(), workers=Planted(outcome), repeats=2, timed=timed, **asked)
    first, second = found.rows
    assert first.runs
    assert len(first.runs) == 2, "row by row"
    assert (second.status, second.runs) == (ConfirmationStatus.UNDECIDED, ())
    assert second.why.endswith("; needs 1min")
    assert not found.holds
    assert "confirm: 4 real runs, about 1min" in capsys.readouterr().err


def test_nothing_is_confirmed_where_nothing_could_be():
    row = ConfirmationRow(setting="s", kind="no fault", status=ConfirmationStatus.NOT_CONFIRMABLE)
    for rows in ((), (row,), (row, replace(row, kind="kill"))):
        assert not Confirmation(on=ZoneKind.PROCESS, rows=rows).holds
    assert Confirmation(on=ZoneKind.PROCESS, rows=(row, replace(row, status=ConfirmationStatus.CONFIRMED))).holds
