"""Goal: losses are told by what faults cost and by what comes without one, each decided on its own. Method: plants."""

from dataclasses import replace

import pytest
from support.analysis.planted_rollouts import DOWN, Rollout, Setting

from zonelab.analysis.rates.case_parts import CaseParts
from zonelab.analysis.rates.decisions import ObjectiveStatus, judge
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Figure, Objective
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.year import NO_FAULT


def measured(*, lost: float = 0.0, calm: int = 0) -> SettingRates:
    """A setting that loses ``lost`` messages an event, and ``calm`` of the first run without a fault."""
    rollout = Rollout(settings={"x": Setting(lost=lost)}, objectives=(), recommended=None, lasts_s=4.0)
    found = rollout.measured(1)["x"]
    runs = {cell: dict(by_seed) for cell, by_seed in found.outcomes.runs.items()}
    first = runs[NO_FAULT][0]
    runs[NO_FAULT][0] = replace(first, counts={**first.counts, "lost": calm})
    return SettingRates(Outcomes(runs), found.year)


def told(text: str, **planted: float) -> str:
    return str(judge(measured(**planted), Objective.parsed(text), error=0.001))


def test_both_parts_are_told_of_losses_of_a_year_and_neither_is_in_the_other() -> None:
    by_faults = CaseParts.of(measured(lost=2.0), Figure.parsed("losses"))
    assert by_faults is not None
    assert by_faults.by_faults is not None
    assert float(by_faults.by_faults.value) == pytest.approx(24, rel=0.2), "twelve events of two"
    assert str(by_faults).endswith("a year by faults; none in 10,800 messages without a fault")
    calm = CaseParts.of(measured(calm=3), Figure.parsed("lost"))
    assert str(calm).endswith("; 3 in 10,800 messages without a fault")
    assert calm is not None
    assert calm.to_json()["calm_cases"] == 3


def test_losses_of_too_few_runs_are_told_as_they_were_seen_and_not_by_the_year() -> None:
    """The year is made of runs with the real length; the only run with a fault, which lost some, has a shorter one."""
    found = measured(lost=2.0)
    cells = found.outcomes.runs.items()
    shortest = min(cell for cell, _ in cells if cell.fault)
    runs = {cell: by_seed for cell, by_seed in cells if cell.fault is None}
    runs[shortest] = {0: replace(found.outcomes.runs[shortest][0], begun=1_000, counts={"lost": 152})}
    judged = judge(SettingRates(Outcomes(runs), found.year), Objective.parsed("losses == 0"), error=0.001)
    assert judged.status is ObjectiveStatus.NOT_MET
    told_as = "152 in 1,000 messages of runs with faults, too few runs to say how many a year"
    assert str(judged) == f"{told_as}; none in 10,800 messages without a fault"


def test_losses_a_year_are_decided_on_those_of_faults_and_say_so() -> None:
    calm = judge(measured(calm=3), Objective.parsed("losses < 100/year"), error=0.001)
    assert "on which it is decided; 3 in 10,800 messages without a fault" in str(calm)
    assert calm.status is ObjectiveStatus.MET, "what comes without a fault is not in it"
    faulty = judge(measured(lost=20.0), Objective.parsed("losses < 100/year"), error=0.001)
    assert faulty.status is ObjectiveStatus.NOT_MET


def test_other_figures_and_single_faults_have_no_parts() -> None:
    assert CaseParts.of(measured(), Figure.parsed("duplicates")) is None
    assert "without a fault" not in told(f"losses == 0 with {DOWN}", lost=2.0)
    assert told("losses == 0").startswith("none in 21,600 messages (10,800 without a fault); ")


def test_an_open_objective_tells_both_ends_of_a_bound_that_has_two() -> None:
    assert told("losses < 0.01..0.03%", lost=0.02).endswith("bound 100/million..300/million")
