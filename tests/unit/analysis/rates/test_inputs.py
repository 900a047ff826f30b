"""Goal: values from which on the answer changes, and shares of drawn inputs, are those that arithmetic gives.

Method: planted rollouts, whose figures are linear in the inputs; flip points that are wrong must be noticed.
"""

from dataclasses import replace
from math import log

import pytest
from support.analysis.planted_rollouts import DOWN, ROLLOUTS

from zonelab.analysis.rates.decisions import ERROR, ObjectiveStatus
from zonelab.analysis.rates.decisive_inputs import DecisiveInput, changes
from zonelab.analysis.rates.drawn_inputs import drawn_inputs
from zonelab.analysis.rates.input_range import InputRange
from zonelab.analysis.rates.objectives import PREFER_DEFAULT, Figure, Objective
from zonelab.analysis.rates.recommendation import judged_at_ends
from zonelab.analysis.rates.rollout_question import RolloutQuestion, weight_inputs


def asked(name: str, *objectives: str, **spans: InputRange) -> RolloutQuestion:
    rollout = ROLLOUTS[name]
    question = RolloutQuestion(
        settings=rollout.measured(1),
        objectives=[Objective.parsed(text) for text in objectives or rollout.objectives],
        prefer=[Figure.parsed(text) for text in PREFER_DEFAULT],
    )
    ranged = question.with_fault(replace(question.year.fault(DOWN), **spans))  # type: ignore[arg-type]
    assert ranged is not None
    return ranged


def is_flip(question: RolloutQuestion, change: DecisiveInput) -> bool:
    """Return whether the answer is another one from there on, and not before."""
    (one,) = (one for one in weight_inputs(question) if one.what == change.what)
    beyond = 1.002 if change.factor > 1 else 1 / 1.002
    before, after = (one.at(question, one.value * change.factor * by) for by in (1 / beyond, beyond))
    assert before is not None
    assert after is not None
    return before.answer() == question.answer() != after.answer() == change.answer


@pytest.mark.parametrize("name", ["frequent ones are not", "outages decide", "slow under the fault"])
def test_flip_points_are_found_to_the_value_and_one_off_by_a_factor_of_two_is_noticed(name: str) -> None:
    question = asked(name)
    found = list(changes(question))
    assert found != []
    for change in found:
        assert is_flip(question, change), str(change)
        assert not is_flip(question, replace(change, factor=change.factor * 2))
        assert not is_flip(question, replace(change, factor=change.factor / 2))


def test_the_rate_that_flips_is_the_bound_divided_by_what_an_event_costs() -> None:
    question = asked("frequent ones are not")
    by_input = {change.what: change for change in changes(question)}
    rarer, bound = by_input[f"{DOWN}, a year"], by_input["bound of duplicates"]
    cost = question.settings["one"].estimate(Figure.parsed("duplicates"))
    assert rarer.factor == pytest.approx(0.01 / cost, rel=0.002)
    assert bound.factor == pytest.approx(cost / 0.01, rel=0.002)
    assert (rarer.now, rarer.answer, bound.now, bound.answer) == ("2,000,000", "one", "1%", "one")


def test_a_value_beside_that_of_the_file_is_told_in_its_words() -> None:
    question = asked("frequent ones are not")
    cost = question.settings["one"].estimate(Figure.parsed("duplicates"))
    place = next(at for at, one in enumerate(question.objectives) if str(one.figure) == "duplicates")
    for above, then in ((0.9996, "just above"), (1.0004, "just below")):
        by_input = {change.what: change for change in changes(question.with_bound(place, cost * above))}
        bound = by_input["bound of duplicates"]
        assert bound.then == f"{then} {bound.now}"


def test_settings_that_cannot_be_told_apart_are_one_answer() -> None:
    question = asked("a tie")
    assert {change.answer for change in changes(question, alike=("quorum", "twin"))} == {"no setting"}


def test_a_share_of_draws_is_that_of_the_interval_on_a_scale_of_ratios() -> None:
    """One of both settings meets all below the rate that flips; the other one always, and is slower."""
    question = asked("frequent ones are not", per_year=447_213.6, per_year_span=InputRange(1e5, 2e6))
    flip = 1e5 * 0.01 / _cost_at(question, 1e5)
    drawn = drawn_inputs(question)
    assert drawn is not None
    one, quorum = drawn.shares
    assert one.meets == pytest.approx(log(flip / 1e5) / log(20), abs=0.002)
    assert one.regretted == pytest.approx(1 - one.meets)
    assert (quorum.meets, quorum.regretted, drawn.none, drawn.least_regret) == (1.0, 0.0, 0.0, "quorum")
    assert quorum.excess > one.excess == 0.0
    assert drawn.inputs == (f"{DOWN}, a year: 100,000 to 2,000,000",)


def _cost_at(question: RolloutQuestion, per_year: float) -> float:
    other = question.with_fault(replace(question.year.fault(DOWN), per_year=per_year))
    assert other is not None
    return other.settings["one"].estimate(Figure.parsed("duplicates"))


def test_without_an_interval_nothing_is_drawn() -> None:
    assert drawn_inputs(asked("loss decides")) is None
    known = InputRange(12.0, 12.0)
    assert drawn_inputs(asked("loss decides", per_year_span=known)) is None


def test_where_no_setting_meets_all_none_is_regretted() -> None:
    drawn = drawn_inputs(asked("none qualifies", per_year_span=InputRange(6.0, 24.0)))
    assert drawn is not None
    assert (drawn.none, drawn.least_regret) == (1.0, None)
    assert all(one.regretted == 0 for one in drawn.shares)


def test_an_objective_is_met_only_where_both_ends_of_every_interval_meet_it() -> None:
    """The interval is that of a bound, or of the rate of a class of faults; its middle alone meets the objective."""
    measured = ROLLOUTS["loss decides"].measured(1)["quorum"]
    for text, status in (
        ("p99(push) < 20..40ms", ObjectiveStatus.MET),
        ("p99(push) < 5..80ms", ObjectiveStatus.OPEN),
        ("p99(push) < 1..2ms", ObjectiveStatus.NOT_MET),
    ):
        assert judged_at_ends(measured, Objective.parsed(text), error=ERROR).status is status
    duplicates = Objective.parsed("duplicates < 1%")
    for high, status in ((3e5, ObjectiveStatus.MET), (2e6, ObjectiveStatus.OPEN)):
        question = asked("frequent ones are not", per_year=2e5, per_year_span=InputRange(1e5, high))
        assert judged_at_ends(question.settings["one"], duplicates, error=ERROR).status is status


@pytest.mark.parametrize(
    ("text", "same", "middle"),
    [(12, "12", 12.0), ("1..4", "1..4", 2.0), ("0..6", "0..6", 3.0), ("600..1,800", "600..1800", 1039.23)],
)
def test_an_interval_is_read_and_written(text: object, same: str, middle: float) -> None:
    assert str(InputRange.parsed(text)) == same
    assert InputRange.parsed(text).middle == pytest.approx(middle, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("6..1", "got '6..1'; accepted: LOW..HIGH, the lower end first"),
        ("1-6", "got '1-6'; accepted: a number from 0 on, or an interval LOW..HIGH, e.g. 1..6"),
        (-1, "got -1; accepted: a number from 0 on"),
        (True, "got True; accepted: a number from 0 on"),
    ],
)
def test_a_wrong_interval_is_refused(text: object, told: str) -> None:
    with pytest.raises(ValueError, match="accepted") as refused:
        InputRange.parsed(text)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("text", "written", "low", "high"),
    [
        ("p99(push) < 20..40ms", "p99(push) < 20ms..40ms", 0.02, 0.04),
        ("p99(push) < 900ms..1.2s", "p99(push) < 900ms..1.2s", 0.9, 1.2),
        ("losses < 1..6/year", "losses < 1/year..6/year", 1, 6),
        ("unavailable < 5..10min/year", "unavailable < 5min/year..10min/year", 300, 600),
        ("availability > 99.9..99.99%", "availability > 99.9%..99.99%", 3153.6, 31536),
    ],
)
def test_a_bound_may_be_an_interval(text: str, written: str, low: float, high: float) -> None:
    objective = Objective.parsed(text)
    assert str(objective) == written
    assert Objective.parsed(written) == objective
    assert [one.bound for one in objective.ends] == pytest.approx([low, high])
    with pytest.raises(ValueError, match="the lower end first"):
        Objective.parsed("p99(push) < 40..20ms")
