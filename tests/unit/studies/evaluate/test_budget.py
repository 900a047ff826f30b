"""Goal: a budget is kept and goes where an objective is open; what needs less than a day is decided if that is asked.

Method: planted outcomes in place of runs, and a clock that each of them moves.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import yaml
from support.scenarios.sim_runs import SMALL
from support.studies.planted_outcomes import Planted, outcome

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import ObjectiveStatus
from zonelab.analysis.rates.year import NO_FAULT, RunKind
from zonelab.studies.evaluate.allotment import RunCosts, for_needs
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.decision_brief import runner_up
from zonelab.studies.evaluate.evaluation import Evaluation, EvaluationRounds
from zonelab.studies.evaluate.first_stages import first_stages
from zonelab.studies.evaluate.one_run import PROCESSOR_S
from zonelab.studies.evaluate.rollout import Rollout

DOWN, CUT = "any one zone down", "one zone cut off"
FAULTS = {
    name: {"per_year": often, "lasts_s": 60, "fault": fault, "lengths_s": [0.125, 0.25, 0.5]}
    for name, often, fault in (
        (CUT, 500, {"kind": "cut", "isolate": "any"}),
        (DOWN, 12, {"kind": "kill", "zone": "any"}),
    )
}


@dataclass
class Clock:
    """Runs that take ``each_s`` of one processor, and of the clock."""

    each_s: float = 1.0
    now: float = 0.0
    made: list[str] = field(default_factory=list)

    def make(self, setting: str, cell: RunKind, seed: int) -> Observation:
        self.now += self.each_s
        self.made.append(setting)
        made = outcome(setting, cell, seed)
        return replace(made, numbers={**made.numbers, PROCESSOR_S: self.each_s})


def carried_out(
    folder: Path, clock: Clock, budget: Budget, *, levels: list[str], objectives: list[str]
) -> EvaluationRounds:
    section = {"vary": {"level": levels}, "objectives": objectives, "faults": FAULTS}
    path = folder / "rollout.yaml"
    path.write_text(yaml.safe_dump({**SMALL, "evaluate": section, "load": {"duration_s": 1, "rate_per_s": 10}}))
    evaluation = Evaluation(Rollout.load(str(path)), workers=Planted(clock.make), now_s=lambda: clock.now)
    with evaluation.experiment.state(folder) as state:
        return evaluation.run(budget, state=state)


LEVELS = ["DC_ONE", "DC_QUORUM", "DC_SAFE_QUORUM", "DC_EACH_SAFE_QUORUM"]


def test_the_class_that_decides_most_objectives_comes_with_the_first_runs(tmp_path: Path):
    carried_out(tmp_path, Clock(), Budget(seconds=500.0), levels=LEVELS[:2], objectives=[f"lost == 0 with {DOWN}"])
    rollout = Rollout.load(str(tmp_path / "rollout.yaml"))
    stages = first_stages(rollout.year, rollout.evaluate.objectives, Budget(seconds=500.0))
    first, second = (one.kinds for one in stages)
    assert (first[0], {cell.fault for cell in first[1:]}) == (NO_FAULT, {DOWN})
    assert {cell.fault for cell in second} == {CUT}


@pytest.mark.parametrize("seconds", [40.0, 100.0, 400.0])
def test_what_fits_is_done_and_the_budget_is_kept(seconds: float, tmp_path: Path):
    """Four settings, seven kinds: a round of four runs each is 112 s, so 40 s are too few for one."""
    clock = Clock()
    done = carried_out(tmp_path, clock, Budget(seconds=seconds), levels=LEVELS, objectives=["duplicates < 1e-5"])
    assert seconds * 0.7 <= clock.now <= seconds + 1
    assert done.complete
    statuses = {row.setting: row.judged[0].status for row in done.found.rows}
    assert set(statuses.values()) == {ObjectiveStatus.OPEN}
    if seconds > 200:
        assert done.left, "settings that are preferred least get no more runs"
        assert min(needed for needed in done.needs_s.values() if needed is not None) > seconds


def test_without_a_run_of_a_class_none_is_recommended_and_one_leads(tmp_path: Path):
    """40 s leave no time for the second class; the year of which it is a part has no figure until then."""
    objectives = ["unavailable < 50h/year", f"p99(push) < 1s with {DOWN}"]
    short = carried_out(tmp_path, Clock(), Budget(seconds=40.0), levels=LEVELS, objectives=objectives)
    assert [cell.fault for cell, count in short.runs.items() if not count] == [CUT] * 3
    of_year = [str(row.judged[0]) for row in short.found.rows]
    assert all(told.startswith(f"no run with '{CUT}' yet, bound ") for told in of_year)
    assert (short.found.recommended, short.found.leading in short.found.undecided) == (None, True)
    assert runner_up(short.found) == short.found.leading
    done = carried_out(tmp_path, Clock(), Budget(seconds=400.0), levels=LEVELS, objectives=objectives)
    assert done.found.recommended == done.found.leading is not None
    assert all(done.runs.values())


def test_a_setting_that_is_rejected_gets_no_more_runs(tmp_path: Path):
    clock = Clock()
    objectives = [f"lost == 0 with {DOWN}", "duplicates < 1e-5"]
    carried_out(tmp_path, clock, Budget(seconds=300.0), levels=LEVELS[:2], objectives=objectives)
    one, quorum = (clock.made.count(f"level={level}") for level in LEVELS[:2])
    assert one < quorum / 4


def test_until_decided_ends_when_what_takes_less_than_a_day_is_decided(tmp_path: Path):
    """Each look makes the runs that the proof needs; at a second a run the second bound would take months."""
    clock = Clock()
    objectives = ["duplicates < 1%", f"duplicates < 1e-6 with {DOWN}"]
    done = carried_out(tmp_path, clock, Budget(), levels=LEVELS[1:2], objectives=objectives)
    near, far = done.found.rows[0].judged
    assert (near.status, far.status, far.unseen) == (ObjectiveStatus.MET, ObjectiveStatus.OPEN, True)
    needed_s = done.needs_s[done.found.rows[0].setting, far.objective]
    assert needed_s is not None
    assert needed_s > 86_400
    assert done.looks > 1


def test_the_cheapest_need_is_paid_first_and_the_rest_goes_to_the_next():
    fault = RunKind("down", 1.0)
    counts, costs = {NO_FAULT: 4, fault: 4}, RunCosts(each={NO_FAULT: 1.0, fault: 10.0})
    dear, cheap = {NO_FAULT: 4, fault: 14}, {NO_FAULT: 24, fault: 4}
    assert for_needs([dear, cheap], counts, costs, purse=70.0) == ({NO_FAULT: 24, fault: 9}, 0.0)
    assert for_needs([dear, cheap], counts, costs, purse=150.0) == ({NO_FAULT: 24, fault: 14}, 30.0)


def thinned_rollout(folder: Path) -> Rollout:
    """Return two settings of a load whose outage is thinned by 70, beside the load as it is."""
    path = folder / "large.yaml"
    down = {"per_year": 2, "lasts_s": 1_000, "fault": {"kind": "kill", "zone": "any"}}
    section = {
        "vary": {"level": LEVELS[:3]},
        "objectives": ["lost == 0", "abandoned == 0"],
        "faults": {DOWN: down},
    }
    load = {"duration_s": 10, "rate_per_s": 100}
    consumers = {"per_zone": 140, "processing": "constant:300ms"}
    path.write_text(yaml.safe_dump({**SMALL, "evaluate": section, "load": load, "consumers": consumers}))
    return Rollout.load(str(path))


def test_a_large_load_has_a_first_answer_from_thinned_runs_then_unthinned_ones_of_every_setting(tmp_path: Path):
    """DC_ONE loses thinned or not, so it is rejected at once; unthinned it also abandons, and that is told."""
    rollout, made, answers = thinned_rollout(tmp_path), [], []
    clock = Clock(each_s=2.0)

    def make(setting: str, cell: RunKind, seed: int) -> Observation:
        made.append((setting, cell))
        shown = clock.make(setting, cell, seed)
        if setting != "level=DC_ONE":
            return shown
        return replace(shown, counts={"lost": 1, **({"abandoned": 5} if cell == NO_FAULT else {})})

    evaluation = Evaluation(rollout, workers=Planted(make), now_s=lambda: clock.now)
    evaluation.first_answer = lambda found, after_s: answers.append((found, after_s, len(made)))
    with evaluation.experiment.state(tmp_path) as state:
        done = evaluation.run(Budget(seconds=200.0), state=state)
    ((first, after_s, runs),) = answers
    assert {cell for _, cell in made[:runs]} == {rollout.year.thinned_calm[0]}
    assert {cell.fault for _, cell in made[runs : runs + 3]} == {None}
    assert after_s <= 45 + 2 * clock.each_s
    (rejected,) = (row for row in first.rows if row.binding is not None)
    assert (rejected.setting, rejected.binding.objective.figure.name) == ("level=DC_ONE", "lost")
    unthinned = [setting for setting, cell in made if cell == NO_FAULT]
    assert unthinned.count("level=DC_ONE") == 1, "one run of what is rejected"
    before = [cell for _, cell in made].index(next(cell for _, cell in made if cell.fault))
    assert sum(cell == NO_FAULT for _, cell in made[:before]) * clock.each_s <= 0.2 * 200 + clock.each_s
    last = next(row for row in done.found.rows if row.setting == "level=DC_ONE")
    statuses = {str(one.objective): one.status for one in last.judged}
    assert set(statuses.values()) == {ObjectiveStatus.NOT_MET}, "what it abandons unthinned is known, too"
