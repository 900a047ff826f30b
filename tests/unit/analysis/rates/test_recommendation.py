"""Goal: the right setting is recommended, for the right reason, and mistakes of the arithmetic would show.

Method: planted rollouts, whose answer is known by construction, pass the door of real runs; then with mistakes in it.
"""

from dataclasses import dataclass, replace
from math import log

import numpy as np
import pytest
from scipy import stats
from support.analysis.planted_rollouts import DOWN, ROLLOUTS

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates import recommendation
from zonelab.analysis.rates.decisions import (
    ERROR,
    LOOKS_MAX,
    PLANNED,
    UNPLANNED_LOOKS_MAX,
    ObjectiveStatus,
    error_at,
    judge,
)
from zonelab.analysis.rates.figures import SettingRates, rates_of
from zonelab.analysis.rates.objectives import PREFER_DEFAULT, Figure, Objective
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.recommendation import paired_difference, recommend
from zonelab.analysis.rates.year import NO_FAULT, Year, YearlyFaults

PREFER = [Figure.parsed(text) for text in PREFER_DEFAULT]
PUSH = Figure.parsed("p99(push)")


@pytest.mark.parametrize("name", ROLLOUTS)
def test_a_planted_rollout_gets_its_answer_and_its_binding_constraint(name):
    assert ROLLOUTS[name].is_right(ROLLOUTS[name].decided(seed=1))


@pytest.mark.parametrize("seed", range(2, 21))
def test_failover_alone_decides_whatever_the_seed(seed):
    rollout = ROLLOUTS["failover alone decides"]
    assert rollout.is_right(rollout.decided(seed))


@dataclass(frozen=True)
class Unweighted(Year):
    """The planted mistake: every kind of run counts alike."""

    def weights(self, condition=None):
        return dict.fromkeys(super().weights(condition), 1.0)


def test_strata_that_are_not_weighted_give_another_answer():
    rollout = ROLLOUTS["rare faults are let pass"]
    wrong = {
        name: measured.on(Unweighted(run_s=measured.year.run_s, faults=measured.year.faults))
        for name, measured in rollout.measured(1).items()
    }
    found = recommend(wrong, [Objective.parsed(text) for text in rollout.objectives], prefer=PREFER)
    assert not rollout.is_right(found)


def test_swapped_settings_give_another_answer():
    rollout = ROLLOUTS["loss decides"]
    measured = rollout.measured(1)
    swapped = {**measured, "one": measured["quorum"], "quorum": measured["one"]}
    found = recommend(swapped, [Objective.parsed(text) for text in rollout.objectives], prefer=PREFER)
    assert not rollout.is_right(found)


def test_without_a_tolerance_alike_settings_are_no_tie(monkeypatch):
    monkeypatch.setattr(recommendation, "TOLERANCE", 0.0)
    rollout = ROLLOUTS["both are far from the bound"]
    found = rollout.decided(1)
    assert not rollout.is_right(found)
    assert set(found.behind) == {"quorum", "slow"}


@pytest.mark.parametrize(("more", "tied"), [(4, True), (6, False)])
def test_what_no_objective_bounds_may_differ_by_a_twentieth(more, tied):
    first = {seed: 100 * (1000 + seed) for seed in range(50)}
    other = {seed: count + more * 1000 for seed, count in first.items()}
    found = recommend(dict(zip(("one", "two"), pairs(first, other), strict=True)), [], prefer=PREFER[1:2])
    assert (found.recommended, found.tied) == ("one", ("two",) if tied else ())
    assert (found.slightly if tied else found.behind) == {"two": PREFER[1]}


def pairs(first, second):
    """Two settings without faults, whose runs have so many commands, by seed."""
    year = Year(run_s=10.0, faults=())
    return [
        SettingRates(
            Outcomes(
                {NO_FAULT: {seed: Observation(begun=10, numbers={"commands": count}) for seed, count in runs.items()}}
            ),
            year,
        )
        for runs in (first, second)
    ]


def test_settings_are_compared_by_seed_and_not_by_place():
    """What the seed decides is a thousand times what the setting does, so only true pairs tell them apart."""
    seeds = np.random.default_rng(3).permutation(100)
    first = {int(seed): int(seed) * 1000 for seed in seeds}
    second = {seed: first[seed] + 1 + seed % 2 for seed in sorted(first)}
    difference, error = paired_difference(*pairs(first, second), Figure.parsed("commands"))
    assert difference > 20 * error > 0
    shifted = {seed + 50: count for seed, count in second.items()}
    difference, error = paired_difference(*pairs(first, shifted), Figure.parsed("commands"))
    assert error > 0, "the fifty seeds that both have are pairs, whose runs are of other loads"
    assert paired_difference(*pairs(first, {seed + 500: 0 for seed in first}), PUSH) == (0.0, 0.0)


def test_a_zero_is_open_and_never_met_unless_there_is_a_tolerance():
    measured = ROLLOUTS["loss decides"].measured(1)["quorum"]
    unseen = judge(measured, Objective.parsed("lost == 0"), error=ERROR)
    assert (unseen.status, unseen.unseen) == (ObjectiveStatus.OPEN, True)
    assert str(unseen) == "none in 21,600 messages (10,800 without a fault); no number of runs proves it"
    assert judge(measured, Objective.parsed("lost == 0 tolerance 1%"), error=ERROR).status is ObjectiveStatus.MET
    close = judge(measured, Objective.parsed("lost == 0 tolerance 1/million"), error=ERROR)
    assert (close.status, close.unseen) == (ObjectiveStatus.OPEN, True)
    assert str(close).startswith("none in 21,600 messages (10,800 without a fault), at most ")
    assert str(close).endswith(", bound 1/million")
    one = ROLLOUTS["loss decides"].measured(1)["one"]
    assert judge(one, Objective.parsed("lost == 0"), error=ERROR).status is ObjectiveStatus.NOT_MET


def test_an_open_percentile_without_an_end_says_how_many_are_never_confirmed():
    """A run with a fault and one without, so that nothing bounds it; a tenth of the pushes is not confirmed."""
    year = ROLLOUTS["loss decides"].year
    runs = {cell: {1: Observation(begun=10, samples={"push": [1000] * 9 + [-1]})} for cell in year.cells}
    judged = judge(SettingRates(Outcomes(runs), year), Objective.parsed("p99(push) < 30ms"), error=ERROR)
    assert judged.status is ObjectiveStatus.OPEN
    assert str(judged) == "10.0% never confirmed, too few runs to bound it, bound 30ms"


def without_class(measured: SettingRates) -> SettingRates:
    """The same setting before its first run with a fault."""
    runs = {cell: {} if cell.fault else by_seed for cell, by_seed in measured.outcomes.runs.items()}
    return SettingRates(Outcomes(runs), measured.year)


@pytest.mark.parametrize("condition", [f" with {DOWN}", ""])
@pytest.mark.parametrize(
    "claim", ["p99(push) < 30ms", "avg(push) < 1s", "unavailable < 5s", "duplicates < 1e-2", "lost == 0"]
)
def test_an_objective_on_a_class_without_a_run_or_on_the_year_that_has_it_has_no_value(claim, condition):
    claim = claim.replace("5s", "50h/year") if not condition else claim
    whole = ROLLOUTS["loss decides"].measured(1, runs=4)["quorum"]
    objective = Objective.parsed(claim + condition)
    for measured, is_known in ((whole, True), (without_class(whole), False)):
        judged = judge(measured, objective, error=ERROR)
        assert str(judged).startswith(f"no run with '{DOWN}' yet") is not is_known
        told = judged.to_json()
        assert [told[name] is not None for name in ("value", "ratio_to_bound")] == [is_known, is_known]
        assert told["lacking"] == ([] if is_known else [DOWN])
        assert judged.is_likely is is_known
        if not is_known:
            assert judged.is_open
            assert not judged.unseen, "what was never run is not accepted as unseen"


def test_a_length_that_decides_and_has_no_run_is_named():
    whole = ROLLOUTS["loss decides"].measured(1, runs=4)["quorum"]
    longest = whole.year.cells[-1]
    runs = {cell: {} if cell == longest else by_seed for cell, by_seed in whole.outcomes.runs.items()}
    judged = judge(SettingRates(Outcomes(runs), whole.year), Objective.parsed("duplicates < 1e-2"), error=ERROR)
    assert str(judged).startswith(f"no run with '{DOWN} for 4 s' yet")


def test_a_year_whose_other_runs_alone_break_a_bound_is_rejected_whatever_a_class_without_a_run_shows():
    slow = without_class(ROLLOUTS["loss decides"].measured(1)["safe"])
    judged = judge(slow, Objective.parsed("p99(push) < 1ms"), error=ERROR)
    assert (judged.status, judged.lacking) == (ObjectiveStatus.NOT_MET, ())


@pytest.mark.parametrize("claims", [(f"unavailable < 5s with {DOWN}",), ("unavailable < 50h/year", "lost == 0")])
def test_a_setting_without_a_run_of_a_class_is_not_recommended_however_quick_it_is(claims):
    """It comes first of all before any setting has such a run, and then after those that have."""
    measured = ROLLOUTS["the cheapest does"].measured(1, runs=4)
    objectives = [*map(Objective.parsed, claims)]
    both = {**measured, "one": without_class(measured["one"])}
    found = recommend(both, objectives, prefer=PREFER)
    assert (found.recommended, found.leading, found.tied) == ("quorum", "quorum", ())
    assert "one" in found.undecided
    none = recommend({name: without_class(one) for name, one in both.items()}, objectives, prefer=PREFER)
    assert (none.recommended, none.leading, none.tied) == (None, "one", ())
    assert none.undecided == ("one", "quorum")


def test_an_open_availability_says_what_is_left_at_least():
    measured = ROLLOUTS["outages decide"].measured(1)["one"]
    objective = Objective.parsed("availability > 99.99%")
    close = replace(objective, bound=float(measured.value(objective.figure).value) * 1.001)
    judged = judge(measured, close, error=ERROR)
    assert judged.status is ObjectiveStatus.OPEN
    assert ", at least 99.98" in str(judged)


def test_what_cannot_be_decided_says_how_many_runs_would():
    rollout = ROLLOUTS["frequent ones are not"]
    measured = rollout.measured(1, runs=10)["one"]
    objective = Objective.parsed("duplicates < 1e-2")
    close = replace(objective, bound=float(measured.value(objective.figure).value) * 1.02)
    judged = judge(measured, close, error=ERROR)
    assert judged.status is ObjectiveStatus.OPEN
    assert sum(judged.needs.values()) > 10 * judged.runs
    assert judge(measured, replace(objective, bound=1e-3), error=ERROR).needs == {}, "it is not met"


@pytest.mark.parametrize(("messages", "status"), [(20_000, ObjectiveStatus.OPEN), (80_000, ObjectiveStatus.MET)])
def test_zero_cases_prove_a_bound_in_enough_messages_only(messages: int, status: ObjectiveStatus):
    """60 decisions, the last look: ln(60 / 0.025) / 1e-4 are 77,832 messages."""
    calm = quiet(messages)
    judged = judge(calm, Objective.parsed("duplicates < 1e-4"), error=PLANNED / 60)
    assert judged.status is status
    if judged.is_open:
        assert judged.unseen
        assert judged.needs[NO_FAULT] * 100 == pytest.approx(log(60 / PLANNED) / 1e-4, rel=0.01)
        assert judged.upper == pytest.approx(log(60 / PLANNED) / messages, rel=0.01)


def test_a_clump_that_another_setting_shows_without_a_fault_is_feared_and_those_of_outages_are_not():
    """Five at a time without a fault need five times as many messages; fifty at a time with one change nothing."""
    year = Year(run_s=10.0, faults=(YearlyFaults(name="down", per_year=1.0, lasts_s=2.0, lengths_s=(1.0, 2.0, 4.0)),))
    clumped = {seed: Observation(begun=100, counts={"lost": 5 * (seed == 0)}) for seed in range(1000)}
    none = {seed: Observation(begun=100) for seed in range(1000)}
    hit = {seed: Observation(begun=100, counts={"lost": 50 * (seed % 50 == 0)}) for seed in range(1000)}
    faulty = dict.fromkeys(year.faults[0].cells, hit)
    objective, error = Objective.parsed("lost < 1e-4"), PLANNED / 60
    alone, beside = (
        rates_of({name: Outcomes({NO_FAULT: runs, **faulty}) for name, runs in group.items()}, year)["none"]
        for group in ({"none": none}, {"none": none, "clumped": clumped})
    )
    assert judge(alone, objective, error=error).status is ObjectiveStatus.MET
    open_ = judge(beside, objective, error=error)
    assert (open_.status, open_.unseen) == (ObjectiveStatus.OPEN, True)
    assert open_.needs[NO_FAULT] * 100 == pytest.approx(5 * log(60 / PLANNED) / 1e-4, rel=0.05)


def quiet(messages: int) -> SettingRates:
    """Runs of a hundred messages each, without a case or a fault."""
    runs = {seed: Observation(begun=100) for seed in range(messages // 100)}
    return SettingRates(Outcomes({NO_FAULT: runs}), Year(run_s=10.0, faults=()))


def test_all_looks_together_spend_the_error_and_the_last_one_half_of_it():
    each = [error_at(look, LOOKS_MAX) for look in range(1, LOOKS_MAX + 1)]
    assert sum(each) == pytest.approx(ERROR)
    assert each[-1] == PLANNED == ERROR / 2
    assert sum(error_at(look, None) for look in range(1, UNPLANNED_LOOKS_MAX + 1)) == pytest.approx(ERROR)


def test_all_decisions_of_an_evaluation_share_the_error_whatever_their_number():
    """Eight settings, a hair above the bounds of two objectives, at each of the looks: hardly any study calls one met.

    Were the error not shared, about half of the studies would; were each look to spend all of it, most would.
    """
    studies, settings, runs, messages = 40, 8, 60, 100
    figures = ("duplicates", "lost")
    objectives = [Objective.parsed(f"{name} < 5e-2") for name in figures]
    rng = np.random.default_rng(36)
    met = 0
    for _ in range(studies):
        cases = rng.poisson(0.05005 * messages, size=(settings, runs, 2))
        met += any(
            row.status is ObjectiveStatus.MET or any(one.status is ObjectiveStatus.MET for one in row.judged)
            for look in range(1, LOOKS_MAX + 1)
            for row in recommend(
                {str(place): counted(cases[place, : runs * look // LOOKS_MAX]) for place in range(settings)},
                objectives,
                prefer=PREFER,
                error=error_at(look, LOOKS_MAX),
            ).rows
        )
    assert met <= stats.binom.ppf(0.999, studies, ERROR)


def counted(cases) -> SettingRates:
    """A setting without faults, by the duplicates and losses of each run."""
    made = {
        seed: Observation(begun=100, counts={"redelivered": int(twice), "lost": int(lost)})
        for seed, (twice, lost) in enumerate(cases)
    }
    return SettingRates(Outcomes({NO_FAULT: made}), Year(run_s=10.0, faults=()))
