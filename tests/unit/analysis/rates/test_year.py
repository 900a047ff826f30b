"""Goal: rates, intervals and their parts are right on made-up runs whose truth is known.

Method: arithmetic on small tables; coverage over drawn evaluations, with bounds that chance passes once in thousands.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support.analysis.made_up_evaluations import evaluated

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.fault_costs import fault_costs
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import YEAR_S, Figure, TimedOperation
from zonelab.analysis.rates.outcomes import UNCONFIRMED, Outcomes
from zonelab.analysis.rates.precision import rates_given_faults
from zonelab.analysis.rates.samples import Sample, WeightedSample, weighted_sum
from zonelab.analysis.rates.year import NO_FAULT, Year, YearlyFaults

EVALUATIONS = 60

DOWN = YearlyFaults(name="down", per_year=100.0, lasts_s=50.0, lengths_s=(1.0, 2.0, 4.0))
YEAR = Year(run_s=10.0, faults=(DOWN,))
LOST, DUPLICATES, UNAVAILABLE = map(Figure.parsed, ("lost", "duplicates", "unavailable"))


def outcomes(make, *, runs=20):
    return Outcomes({cell: {seed: make(cell, seed) for seed in range(runs)} for cell in YEAR.cells})


def plain(cell, seed):
    """Three cases at the edges of an event, two a second while it lasts, and one in ten seconds without it."""
    during = 0 if cell == NO_FAULT else 3 + 2 * cell.length_s
    return Observation(begun=100, counts={"redelivered": during, "lost": during + (10 - cell.length_s) / 10})


def test_intervals_cover_the_truth_with_clustered_faults_empty_strata_and_early_ends():
    found = [evaluated(np.random.default_rng([20, number]), runs=25) for number in range(EVALUATIONS)]
    inside, by_message = (sum(getattr(one, name) for one in found) for name in ("truth_inside", "by_message"))
    assert inside >= stats.binom.ppf(1e-4, EVALUATIONS, 0.93)
    upper = [one.below_upper for one in found if one.below_upper is not None]
    assert sum(upper) >= stats.binom.ppf(1e-4, len(upper), 0.93)
    assert sum(one.wrongly_met for one in found) <= stats.binom.ppf(1 - 1e-4, EVALUATIONS, 0.05)
    assert by_message <= stats.binom.ppf(1 - 1e-3, EVALUATIONS, 0.85), "messages pass for independent units"
    wide = [one.width / one.oracle_width for one in found if one.oracle_width]
    assert np.mean(wide) <= 1.5


def test_a_year_is_the_edges_of_its_events_their_time_and_the_rest():
    measured = SettingRates(outcomes(plain), YEAR)
    messages = 10 * YEAR_S
    events = 100 * (3 + 2 * 50)
    assert float(measured.rate(DUPLICATES).value) == pytest.approx(events / messages)
    assert float(measured.rate(LOST).value) == pytest.approx((events + (YEAR_S - 100 * 50) / 10) / messages)
    assert float(measured.rate(DUPLICATES, "down").value) == pytest.approx((3 + 2 * 50) / (10 * 50))


def test_no_more_messages_are_lost_than_there_are_while_each_may_be_delivered_again_more_than_once():
    counts = {"lost": 1, "redelivered": 1}
    runs = {seed: Observation(begun=10, counts=counts if seed else {}) for seed in (0, 1)}
    measured = SettingRates(Outcomes({NO_FAULT: runs}), replace(YEAR, faults=()))
    assert float(measured.rate(LOST).high) == 1
    assert 1 < float(measured.rate(DUPLICATES).high) < np.inf


@pytest.mark.parametrize("lasts_s", [0.5, 3.0, 50.0])
def test_every_line_of_a_fault_is_exact_where_its_cost_grows_in_a_line(lasts_s: float):
    """A run with a fault of L seconds shows its edges, L times the cost of a second, and the rest as without it."""
    calm, edges, second, run_s = 0.7, 3.0, 2.0, 10.0
    fault = replace(DOWN, lasts_s=lasts_s)
    line = replace(YEAR, faults=(fault,)).line(fault)
    shown = {NO_FAULT: calm * run_s}
    shown |= {cell: calm * (run_s - cell.length_s) + edges + second * cell.length_s for cell in fault.cells}

    def told(weights):
        return sum(weight * shown[cell] for cell, weight in weights.items())

    assert told(line.weights) == pytest.approx(edges + second * lasts_s)
    assert told(line.other) == pytest.approx(edges + second * lasts_s)
    assert told(line.contrast) == pytest.approx(0, abs=1e-9)
    assert told(line.steady) == pytest.approx(second)
    assert told(line.edges) == pytest.approx(edges)
    assert told(line.flat) == pytest.approx(edges + second * sum(fault.lengths_s) / 3)


def test_other_rates_of_faults_need_no_new_runs():
    measured = SettingRates(outcomes(plain), YEAR)
    twice = measured.on(YEAR.with_fault(replace(DOWN, per_year=200.0)))
    assert float(twice.rate(DUPLICATES).value) == pytest.approx(2 * float(measured.rate(DUPLICATES).value))
    longer = measured.on(YEAR.with_fault(replace(DOWN, lasts_s=150.0)))
    assert float(longer.rate(DUPLICATES).value) == pytest.approx(100 * (3 + 300) / (10 * YEAR_S))
    assert longer.estimate(LOST) == pytest.approx(float(longer.rate(LOST).value))


def test_the_third_length_shows_that_cases_do_not_grow_in_a_line():
    def square(cell, seed):
        return Observation(begun=100, counts={"lost": cell.length_s**2 + seed % 2})

    bent = SettingRates(outcomes(square), YEAR)
    (found,) = bent.bent(LOST)
    assert (found.fault, found.line, found.seen) == ("down", pytest.approx(6.5), pytest.approx(4.5))
    wide, line = bent.rate(LOST, "down"), SettingRates(outcomes(plain), YEAR)
    assert float(wide.high) >= (4 + (50 - 2) * 6 + 0.5) / 500, "the interval reaches the line through the longer two"
    assert line.bent(LOST) == []


def test_a_percentile_of_the_year_is_that_of_the_mixture():
    """In 1 % of the year nothing is confirmed: p99 is about the longest time, beyond it all is endless."""
    year = Year(run_s=10.0, faults=(replace(DOWN, per_year=YEAR_S / 100 / 50, lasts_s=50.0),))

    def run(cell, seed):
        slow = round(10 * cell.length_s)
        return Observation(begun=100, samples={"push": [UNCONFIRMED] * slow + list(range(1000, 1000 + 100 - slow))})

    measured = SettingRates(outcomes(run), year)
    p50, p90, p999 = (float(measured.value(Figure.parsed(f"{name}(push)")).value) for name in ("p50", "p90", "p99.9"))
    assert p50 == pytest.approx(1050e-6, rel=0.02)
    assert p90 == pytest.approx(1090e-6, rel=0.02)
    assert p999 == float("inf")
    assert float(measured.rate(Figure.parsed("p99(push)"), at_s=1.0).value) == pytest.approx(0.01, rel=1e-3)


def test_a_mean_is_that_of_the_confirmed_times_and_what_is_not_confirmed_is_an_error():
    def run(cell, seed):
        failed = round(5 * cell.length_s)
        return Observation(begun=100, samples={"push": [UNCONFIRMED] * failed + [2_000] * 60 + [7_000] * (40 - failed)})

    measured = SettingRates(outcomes(run), YEAR)
    average, errors = Figure.parsed("avg(push)"), Figure.parsed("error_rate")
    assert float(measured.value(average).value) == pytest.approx(4e-3, rel=1e-3)
    assert float(measured.value(average, "down").value) == pytest.approx(measured.estimate(average, "down"))
    assert float(measured.value(errors, "down").value) == pytest.approx(0.5)
    assert measured.estimate(errors) == pytest.approx(0.5 * 100 * 50 / YEAR_S)
    none = SettingRates(outcomes(lambda cell, seed: Observation(begun=5, samples={"push": [UNCONFIRMED] * 5})), YEAR)
    assert none.estimate(average) == float(none.value(average).value) == float("inf"), "no time is no short time"


def test_intervals_of_a_mean_cover_it_where_runs_are_slow_as_a_whole():
    """Each run has a pace of its own, so operations are no units; the interval is hardly wider than Student's."""
    average, year, studies, runs = Figure.parsed("avg(push)"), replace(YEAR, faults=()), 300, 30
    rng = np.random.default_rng(40)
    inside, by_operation, widths = 0, 0, []
    for _ in range(studies):
        pace = rng.lognormal(-0.125, 0.5, size=(runs, 1))
        times = np.rint(5000 * pace * rng.exponential(1.0, size=(runs, 50))).astype(int)
        made = {seed: Observation(begun=50, samples={"push": row.tolist()}) for seed, row in enumerate(times)}
        found = SettingRates(Outcomes({NO_FAULT: made}), year).value(average)
        inside += float(found.low) <= 5e-3 <= float(found.high)
        by_operation += abs(times.mean() - 5000) <= 1.96 * times.std() / times.size**0.5
        student = stats.t.ppf(0.975, runs - 1) * times.mean(axis=1).std(ddof=1) / runs**0.5
        widths.append((float(found.high) - float(found.low)) * 1e6 / 2 / student)
    assert inside >= stats.binom.ppf(1e-3, studies, 0.93)
    assert by_operation <= stats.binom.ppf(1 - 1e-3, studies, 0.85), "operations pass for independent units"
    assert np.mean(widths) <= 1.2


def test_cases_a_year_are_those_of_its_faults_whatever_comes_without_one():
    measured = SettingRates(outcomes(plain), YEAR)
    a_year = replace(LOST, a_year=True)
    events, background = 100 * (3 + 2 * 50), (YEAR_S - 100 * 50) / 10
    assert float(measured.value(a_year).value) == pytest.approx(measured.estimate(a_year))
    assert measured.estimate(a_year) == pytest.approx(events)
    assert background > 100 * events, "with what comes without a fault it would be another figure"


@pytest.mark.parametrize(("name", "true_us"), [("p50", 2000), ("p90", 3600), ("p99", 3960)])
def test_a_percentile_lies_amid_its_interval_however_many_operations_there_are(name: str, true_us: int):
    """Ends that are rounded up to the next of a few times leave the truth below the interval."""
    order = np.random.default_rng(3).permutation(np.arange(1, 4001)).reshape(50, 80)

    def run(cell, seed):
        return Observation(begun=80, samples={"push": order[seed].tolist()})

    measured = SettingRates(outcomes(run, runs=50), YEAR)
    figure = Figure.parsed(f"{name}(push)")
    told = measured.value(figure)
    value, low, high = (float(end) * 1e6 for end in (told.value, told.low, told.high))
    assert value == pytest.approx(true_us, abs=4)
    assert measured.estimate(figure) * 1e6 == pytest.approx(value)
    assert (high - value) == pytest.approx(value - low, rel=0.35)


def test_a_percentile_of_few_different_times_is_one_of_them():
    """The lease step is told in whole milliseconds."""
    outcome = Observation(begun=100, samples={"lease": [2000] * 40 + [3000] * 40 + [7000] * 20})
    measured = SettingRates(outcomes(lambda cell, seed: outcome), YEAR)
    assert float(measured.value(Figure.parsed("p50(lease)")).value) == 0.003
    assert float(measured.value(Figure.parsed("p90(lease)")).value) == 0.007


def test_without_a_fault_the_unit_is_a_block_as_long_as_neighbours_depend_on_each_other():
    rng = np.random.default_rng(7)
    alike = {seed: Observation(begun=400, samples={"push": rng.integers(1, 1000, 400).tolist()}) for seed in range(5)}
    held = {
        seed: Observation(begun=400, samples={"push": np.repeat(rng.integers(1, 1000, 10), 40).tolist()})
        for seed in range(5)
    }
    short, long = (Outcomes({NO_FAULT: runs}) for runs in (alike, held))
    assert short.block_length(TimedOperation.PUSH) < 20 < long.block_length(TimedOperation.PUSH)
    sample = short.slower(NO_FAULT, TimedOperation.PUSH, [500e-6])
    assert sample.units > 5 * 400 / 40
    assert float(sample.mean[0]) == pytest.approx(200, rel=0.1), "counts of a block are scaled to a run"


def test_no_case_in_n_runs_bounds_the_mean_and_a_single_run_bounds_nothing():
    none = Sample.of([0.0] * 100)
    low, high = none.bounds(0.95, 1.0)
    assert (float(low), float(high)) == (0.0, pytest.approx(3.69 / 100, rel=0.01))
    assert float(Sample.of([5.0]).bounds(0.95, 1.0)[1]) == float("inf")


def test_a_negative_weight_turns_the_interval_of_its_part_round():
    part = WeightedSample(Sample.of([0, 0, 0, 9.0]), -1.0)
    other = WeightedSample(Sample.of([100.0, 101.0] * 50), 1.0)
    both = weighted_sum([other, part])
    assert float(both.value) == pytest.approx(100.5 - 2.25)
    assert float(both.value - both.low) > float(both.high - both.value), "the part's long side is above, so below here"


def test_lost_messages_are_counted_per_message_pushed():
    def run(cell, seed):
        again = {"redelivered": 900, "lost": 5}
        return Observation(begun=100, counts=again)

    assert float(SettingRates(outcomes(run), YEAR).rate(LOST).value) == pytest.approx(0.05), "not of 1,000 deliveries"


def test_seconds_without_service_are_of_the_year_or_of_one_event():
    def run(cell, seed):
        return Observation(begun=100, numbers={"unavailable": 0.5 + cell.length_s if cell.fault else 0.0})

    measured = SettingRates(outcomes(run), YEAR)
    assert float(measured.rate(UNAVAILABLE).value) == pytest.approx(100 * 50.5)
    assert float(measured.rate(UNAVAILABLE, "down").value) == pytest.approx(50.5)


def test_cases_that_only_chance_lets_fall_with_the_length_cost_no_time():
    """The line would say that long faults undo cases."""

    def fewer(cell, seed):
        return Observation(begun=100, counts={"lost": (seed % 4 == 0) * (7 - cell.length_s) if cell.fault else 0})

    measured = SettingRates(outcomes(fewer), YEAR)
    event = measured.rate(LOST, "down")
    assert float(event.value) * 500 == pytest.approx((6 + 5 + 3) / 3 / 4)
    assert float(event.low) == 0.0
    assert measured.estimate(LOST, "down") == pytest.approx(float(event.value))


@pytest.mark.parametrize(
    ("lasts_s", "cases"), [(0.5, 6.0), (1.0, 6.0), (2.5, 4.5), (3.99, 3.01), (4.0, 3.0), (9.0, 3.0)]
)
def test_cases_of_a_fault_of_its_real_length_change_by_little_if_it_lasts_a_little_less_or_more(
    lasts_s: float, cases: float
) -> None:
    fault = replace(DOWN, lasts_s=lasts_s, lengths_s=(1.0, 4.0))
    year = replace(YEAR, faults=(fault,))
    shown = {cell: 7 - cell.length_s if cell.fault else 0 for cell in year.cells}
    runs = {
        cell: {seed: Observation(begun=100, counts={"lost": each}) for seed in (1, 2)} for cell, each in shown.items()
    }
    lost = SettingRates(Outcomes(runs), year).rate(LOST, "down")
    assert float(lost.value) * 10 * lasts_s == pytest.approx(cases)


def test_a_fault_costs_something_at_its_edges_and_something_while_it_lasts():
    costs = {str(cost.figure): cost for cost in fault_costs(SettingRates(outcomes(plain), YEAR))}
    assert list(costs) == ["losses", "duplicates"], "of what no run shows nothing is told"
    edges, steady, whole = (
        float(part.value) for part in (costs["losses"].edges, costs["losses"].steady, costs["losses"].whole)
    )
    assert (edges, steady, whole) == (pytest.approx(3), pytest.approx(2 / 10), pytest.approx(3 + 2 * 50))
    assert costs["duplicates"].runs == 60
    clumped = outcomes(
        lambda cell, seed: Observation(begun=100, counts={"lost": 12 * (cell != NO_FAULT and seed % 4 == 0)})
    )
    (cost,) = fault_costs(SettingRates(clumped, YEAR))
    assert cost.clump == pytest.approx(9.5, rel=0.02)
    assert cost.runs_needed is not None
    assert cost.runs_needed > cost.runs


def test_a_fault_loses_no_more_than_each_message_while_it_lasts_however_few_runs_there_are():
    few = outcomes(lambda cell, seed: Observation(begun=10, counts={"lost": seed * cell.length_s}), runs=2)
    measured = SettingRates(few, YEAR)
    (cost,) = fault_costs(measured)
    assert float(cost.steady.high) == 1
    assert [float(one.rate.high) for one in rates_given_faults(measured)] == [1]


@pytest.mark.parametrize("clump", [1, 5])
def test_how_well_a_rate_given_a_fault_is_known_depends_on_how_its_cases_come(clump: int):
    """5 % of messages, one by one or five at a time: of as many runs the interval is wider by the root of five."""
    rng = np.random.default_rng(5)

    def run(cell, seed):
        return Observation(begun=100, counts={"lost": clump * int(rng.poisson(5 / clump))})

    few, many = (rates_given_faults(SettingRates(outcomes(run, runs=runs), YEAR)) for runs in (10, 160))
    assert [(one.fault, one.figure) for one in few] == [("down", "lost")], "a sum of one class is not told beside it"
    assert few[0].design_effect == pytest.approx(clump, rel=0.5)
    assert many[0].design_effect == pytest.approx(clump, rel=0.15)
    assert float(many[0].rate.low) < 0.05 < float(many[0].rate.high)
    assert many[0].half_width == pytest.approx(1.96 * (clump / (480 * 5)) ** 0.5, rel=0.15)
    assert (many[0].runs, many[0].runs_needed) == (480, None)
    assert many[0].is_wanted == (clump == 1)
    if clump == 5:
        assert few[0].runs_needed == pytest.approx(30 * (few[0].half_width / 0.2) ** 2, abs=1)
