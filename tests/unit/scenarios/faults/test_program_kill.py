"""Goal: a fault of a program says what is wrong with it in one line, and only a scenario with programs has it.

Method: one good fault, changed in one place per case; the whole line is compared.
"""

from pathlib import Path

import pytest
from support.scenarios.sim_runs import small

from zonelab.cluster.resp.programs.point import Moment
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults.fault import Stage
from zonelab.scenarios.faults.guests import ProgramStrike
from zonelab.scenarios.spec.reading import load_scenario

GOOD = """
name: own
load: {duration_s: 10}
programs:
  push: {command: push, ends: true, zone: a}
  work: {command: work, count: 2}
faults:
  - {kind: program_kill, program: work, zone: b, at: "LMOVE * *active*", when: applied, at_s: 1, for_s: 3}
"""

REFUSED = {
    "faults[0].program=wrok": "faults[0].program: got 'wrok'; accepted: a program of the scenario (push, work)",
    "faults[0].zone=d": "faults[0].zone: got 'd'; accepted: a zone of the topology (a, b, c)",
    "faults[0]={kind: program_kill, program: push, zone: b, at_s: 1, for_s: 1}": (
        "faults[0].zone: got 'b'; accepted: a zone of push (a)"
    ),
    "faults[0]={kind: program_kill, program: work, at_s: 1, for_s: 1}": (
        "faults[0].zone: missing; accepted: a zone of work (a, b, c)"
    ),
    "faults[0].index=2": "faults[0].index: got 2; accepted: 0..1",
    "faults[0].pause_s=2": "faults[0].pause_s: got 2.0; accepted: nothing; it is for how: SIGSTOP",
    "faults[0]={kind: program_kill, program: push, cut: true, at_s: 1, for_s: 1}": (
        "faults[0].cut: needs at_command or at, the command that it is about"
    ),
    "faults[0]={kind: program_kill, program: push, at_command: 2, nonempty: true, at_s: 1, for_s: 1}": (
        "faults[0].nonempty: got True; accepted: false with when: before, which knows no answer"
    ),
    "faults[0].at=": "faults[0].at: got ''; accepted: 1 to 32 words, such as LMOVE * *active*",
}


class Processes:
    """Notes the strikes of a fault."""

    def __init__(self) -> None:
        self.strikes: list[tuple[str, ProgramStrike]] = []
        self.ended: list[tuple[str, bool]] = []

    def begin_strike(self, name: str, strike: ProgramStrike) -> None:
        self.strikes.append((name, strike))

    def struck(self, name: str) -> dict[str, object]:
        return {"hit": name}

    async def end_strike(self, name: str, *, restart: bool) -> None:
        self.ended.append((name, restart))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD)
    return str(path)


@pytest.mark.parametrize("change", REFUSED)
def test_a_mistake_is_one_line(file: str, change: str) -> None:
    override = change if change != "faults[0].at=" else "faults[0].at=''"
    with pytest.raises(ScenarioError) as refused:
        load_scenario(file, overrides=[override])
    assert refused.value.lines == (f"--set: {REFUSED[change]}",)


def test_a_scenario_without_programs_cannot_have_it() -> None:
    with pytest.raises(ScenarioError) as refused:
        small(faults=[{"kind": "program_kill", "program": "work", "at_s": 0, "for_s": 0.1}])
    (line,) = refused.value.lines
    assert "got 'work'; accepted: a program of the scenario (none, as the scenario has no programs)" in line


def test_the_process_is_named_and_its_point_is_that_of_the_fault(file: str) -> None:
    scenario = load_scenario(file, overrides=["faults[0].how=SIGSTOP", "faults[0].pause_s=2", "faults[0].only=holder"])
    (fault,) = scenario.faults
    processes = Processes()
    action = fault.action(Stage(targets=scenario, testbed=None, programs=processes))  # type: ignore[arg-type]
    for change in (action.begin(), action.end()):
        with pytest.raises(StopIteration):
            change.send(None)  # type: ignore[attr-defined]
    ((name, strike),) = processes.strikes
    assert (name, processes.ended) == ("work-b-0", [("work-b-0", True)])
    assert (strike.how, strike.holder, strike.pause_s) == ("SIGSTOP", True, 2)
    assert strike.point is not None
    assert (strike.point.at, strike.point.at_command, strike.point.when) == ("LMOVE * *active*", 1, Moment.APPLIED)
    assert strike.point.hold_s > fault.for_s
    assert fault.holds(scenario) == {"program work-b-0"}
    assert action.told() == {"hit": "work-b-0"}


def test_without_a_command_it_is_hit_at_once(file: str) -> None:
    given = "faults[0]={kind: program_kill, program: push, how: SIGTERM, at_s: 1, for_s: 1}"
    scenario = load_scenario(file, overrides=[given])
    processes = Processes()
    action = scenario.faults[0].action(Stage(targets=scenario, testbed=None, programs=processes))  # type: ignore[arg-type]
    with pytest.raises(StopIteration):
        action.begin().send(None)  # type: ignore[attr-defined]
    assert processes.strikes == [("push-a-0", ProgramStrike(how="SIGTERM"))]
