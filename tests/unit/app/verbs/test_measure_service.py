"""Goal: the work that a machine needs for a command is found from its runs, and nothing where there is none.

Method: simulated runs in place of real ones, whose coordinators work for a known time.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from support.scenarios.sim_runs import SMALL, tell_as_busy

from zonelab.analysis.comparison.work import fitted
from zonelab.app.verbs.measure_service import MeasuringService, scenario_to_measure
from zonelab.scenarios.arms import Arm, ZoneKind
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.run.simulated import run_in_sim
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.scenarios.spec.simulation import ServiceSection, Simulation, StationSection
from zonelab.studies.evaluate.real_run import RealRuns

LOAD = {"duration_s": 1, "rate_per_s": 12}


@dataclass
class Machine:
    """``busy``: seeds whose runs are told to have had a loop that stood still. ``until``: Ctrl-C after so many runs."""

    work: str | None
    busy: tuple[int, ...] = ()
    until: int = 99
    made: int = 0

    def __call__(self, scenario, *, kind, runs, watcher, command):
        assert (scenario.arm, kind, scenario.faults) == (Arm.REAL, ZoneKind.PROCESS, ())
        if self.made >= self.until:
            return runs, RunRecord(status="interrupted", error="interrupted by the user")
        self.made += 1
        station = None if self.work is None else StationSection(time=self.work)
        changed = {"arm": Arm.SIM, "simulation": Simulation(service=ServiceSection(coordinator=station))}
        directory, record = run_in_sim(scenario.model_copy(update=changed), runs=runs, watcher=watcher, command=command)
        if scenario.seed in self.busy:
            tell_as_busy(directory)
        return directory, record


def measured(folder: Path, machine: Machine, **changes):
    path = folder / "scenario.yaml"
    faults = [{"kind": "kill", "zone": "a", "at_s": 0.4, "for_s": 0.5}]
    path.write_text(yaml.safe_dump({**SMALL, "load": LOAD, "faults": faults, "seed": 1, **changes}))
    scenario = scenario_to_measure(str(path), overrides=[])
    real = RealRuns(on=ZoneKind.PROCESS, runs=folder, command="again", run_real=machine)
    return MeasuringService(scenario=scenario, real=real, repeats=3).run()


@pytest.mark.parametrize(("mode", "level"), [("default", "DC_QUORUM"), ("hardened", "DC_SAFE_QUORUM")])
def test_the_work_of_a_machine_is_found_however_many_commands_an_operation_has(tmp_path: Path, mode, level):
    found = measured(tmp_path, Machine("0.4ms"), queue={**SMALL["queue"], "mode": mode}, level=level)
    assert found.work is not None
    assert found.work.value_ms == pytest.approx(0.4, abs=0.03)
    assert all(pair.relative > 0.05 for pair in found.without)
    assert all(abs(pair.relative) < 0.02 for pair in found.with_it)
    assert f"simulation: {{service: {{coordinator: {found.coordinator}}}}}" in "\n".join(found.sentences())


def test_a_machine_that_needs_no_more_than_the_model_gets_no_work(tmp_path: Path):
    found = measured(tmp_path, Machine(None))
    assert found.work is not None
    assert found.work.value_ms == pytest.approx(0, abs=0.01)
    assert all(abs(pair.relative) < 0.01 for pair in found.with_it)


def test_runs_on_a_busy_machine_are_left_out_and_too_few_others_say_nothing(tmp_path: Path):
    found = measured(tmp_path, Machine("0.4ms", busy=(2,)))
    assert found.work is not None
    assert (found.work.runs, len(found.busy), len(found.runs)) == (2, 1, 3)
    none = measured(tmp_path, Machine("0.4ms", busy=(1, 2)))
    assert (none.work, none.coordinator, none.with_it) == (None, None, ())
    assert "1 run had a quiet machine" in next(none.sentences())


def test_after_ctrl_c_the_runs_so_far_are_taken(tmp_path: Path):
    found = measured(tmp_path, Machine("0.4ms", until=2))
    assert found.work is not None
    assert (found.complete, found.work.runs) == (False, 2)


def test_what_has_no_messages_to_measure_is_refused():
    with pytest.raises(NotAccepted, match="accepted: a scenario of a queue"):
        scenario_to_measure("registers", overrides=[])
    with pytest.raises(NotAccepted, match=r"load\.rate_per_s: got 0; accepted: more than 0"):
        scenario_to_measure("steady", overrides=["load.rate_per_s=0"])


def test_operations_that_take_no_longer_with_more_work_cannot_be_fitted():
    with pytest.raises(ValueError, match="no operation takes longer with more work: push"):
        fitted({"push": 4.0}, {"push": 4.0}, [{"push": 5.0}])
