"""Goal: objectives are read with their units and told back, and what cannot be meant is refused. Method: texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonelab.analysis.rates.objectives import (
    CASES,
    ERROR_RATE,
    YEAR_S,
    Figure,
    Objective,
    TimedOperation,
    contradictions,
)

TEXTS = (
    "p99(push) < 20ms",
    "p95(push) < 20ms",
    "p99.995(ack) < 1.25s",
    "p99.9(lease) < 1.25s with any one zone down",
    "avg(push) < 2.5ms",
    "p99(end_to_end) < 60s",
    "lost == 0 with any one zone down",
    "lost == 0 tolerance 1/million",
    "duplicates < 0.1%",
    "overlap < 100/million",
    "losses < 5/billion",
    "losses < 1/year",
    "error_rate < 0.1%",
    "availability > 99.95%",
    "unavailable < 5min/year",
    "unavailable < 30s with any one zone down",
    "commands < 30",
)


@pytest.mark.parametrize("text", TEXTS)
def test_an_objective_is_told_as_it_was_written(text):
    assert str(Objective.parsed(text)) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("p99(push)<0.02s", "p99(push) < 20ms"),
        ("p99.0(push) <= 20ms", "p99(push) < 20ms"),
        ("p99(push) < 1,500ms", "p99(push) < 1.5s"),
        ("duplicates < 0.1%", "duplicates < 0.001"),
        ("duplicates < 50/million", "duplicates < 5e-05"),
        ("duplicates <= 0", "duplicates == 0"),
        ("unavailable < 300s/year", "unavailable < 5min/year"),
        ("availability >= 0.9995", "availability > 99.95%"),
    ],
)
def test_units_are_converted(text, same):
    assert Objective.parsed(text) == Objective.parsed(same)


_TIMES = st.builds(
    "{}({})".format, st.sampled_from(["avg", "p50", "p99.99", "p3"]), st.sampled_from(list(TimedOperation))
)


@given(
    st.one_of(_TIMES, st.sampled_from(["unavailable", "commands", ERROR_RATE, *CASES])),
    st.floats(min_value=1e-12, max_value=0.999),
    st.sampled_from([None, "any one zone down"]),
)
def test_what_is_printed_is_read_as_the_same_to_nine_digits_and_without_powers_of_ten(name, bound, condition):
    objective = Objective(Figure.parsed(name), float(f"{bound:.9g}"), condition)
    text = str(objective)
    read = Objective.parsed(text)
    assert read.bound == pytest.approx(objective.bound, rel=1e-8)
    assert (read.figure, read.condition, str(read)) == (objective.figure, condition, text)
    assert "e-" not in text.partition(" with ")[0].partition("<")[2]
    assert "e-" not in objective.told(bound)


def test_availability_is_the_share_of_the_year_that_unavailable_leaves():
    share, time = Objective.parsed("availability > 99.95%"), Objective.parsed("unavailable < 262.8min/year")
    assert share.bound == pytest.approx(0.0005 * YEAR_S)
    assert (share.figure.name, share.bound) == (time.figure.name, pytest.approx(time.bound))
    assert [share.told(seconds) for seconds in (0.0, 3153.6, float("inf"))] == ["100.0%", "99.9900%", "0.0%"]
    assert contradictions([share, time]) != []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("p99(push) < 20", "got '20'; accepted: a number with its unit (us, ms, s, min, h)"),
        ("p99(push) < 20parsec", "got '20parsec'; accepted: a number with its unit (us, ms, s, min, h)"),
        ("lost < 3/millions", "got '3/millions' (did you mean /million?); accepted: a number of cases a message"),
        ("unavailable < 5min", "with /year, e.g. 5min/year"),
        (
            "p100(push) < 1s",
            "accepted: a percentile such as p99.99(push), as the longest of the simulated times bounds",
        ),
        ("lots == 0", "got the figure 'lots' (did you mean lost?); accepted: avg and percentiles of (push, lease, ack"),
        ("lost < 20ms", "got '20ms'; accepted: a number of cases a message"),
        ("lost < 0", "which nothing is below; accepted: more than 0, or lost == 0"),
        ("losses < 1", "which is every message; accepted: a share of the messages, e.g. 0.1%, or cases a year"),
        ("losses < 1/year with rain", "got '1/year'; accepted: a number of cases a message"),
        ("lost == 1", "accepted: == 0, of losses, duplicates"),
        ("p99(push) == 0", "accepted: == 0, of losses, duplicates"),
        ("lost < 1e-3 tolerance 1e-4", "accepted: a tolerance with == 0 only"),
        ("p99(push)", "accepted: FIGURE < BOUND or FIGURE == 0"),
        ("availability > 100%", "accepted: above 0% and below 100%, e.g. 99.95%"),
        ("availability > 99% with rain", "accepted: unavailable < TIME with FAULT"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_is_accepted(text, told):
    with pytest.raises(ValueError, match=r"accepted: ") as refused:
        Objective.parsed(text)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("http_req_duration: p(95)<500", "p95(push) < 500ms"),
        ("http_req_duration{status:200}: p(99.9) < 500", "p99.9(push) < 500ms"),
        ("http_req_duration: avg<200", "avg(push) < 200ms"),
        ("http_req_duration: med<200", "p50(push) < 200ms"),
        ("http_req_duration: max<200", "p99.99(push) < 200ms, as the longest of the simulated times bounds no year"),
        ("http_req_failed: rate<0.01", "error_rate < 1%"),
        ("checks: rate>0.99", "error_rate < 1%"),
        (
            'histogram_quantile(0.99, sum(rate(push_seconds_bucket{job="q"}[5m])) by (le)) < 0.02',
            "p99(push) < 20ms",
        ),
        ("histogram_quantile(0.5, rate(ack_seconds_bucket[5m])) < 0.02", "p50(ack) < 20ms"),
        ("rate(push_seconds_sum[5m]) / rate(push_seconds_count[5m]) < 0.2", "avg(push) < 200ms"),
        ("max(push) < 1s", "p99.99(push) < 1s, as the longest of the simulated times bounds no year"),
        ("push p99 < 20 msec", "p99(push) < 20ms"),
        ("p99(push) > 20ms", "p99(push) < 20ms"),
        ("p99(push) ≤ 20ms", "p99(push) < 20ms"),
        ("p99(pop) < 20ms", "p99(lease) < 20ms"),
        ("p99(latency) < 20ms with a zone down", "p99(push) < 20ms with a zone down"),
        ("99th percentile of enqueue under 20 milliseconds", "p99(push) < 20ms"),
        ("end_to_end < 1s", "p99(end_to_end) < 1s"),
        ("uptime > 99.9 percent", "availability > 99.9%"),
        ("availability < 0.05%", "availability > 99.95%"),
        ("success rate > 99.9%", "error_rate < 0.1%"),
        ("downtime < 5 min per year", "unavailable < 5min/year"),
        ("no data loss", "losses == 0"),
        ("losses < 1 per year", "losses < 1/year"),
        ("duplicates < 1 in 10,000", "duplicates < 100/million"),
        ("duplicates < 100ppm", "duplicates < 100/million"),
    ],
)
def test_other_spellings_are_refused_with_the_right_one(text, right):
    with pytest.raises(ValueError, match=r"accepted: ") as refused:
        Objective.parsed(text)
    assert str(refused.value) == f"got {text!r}; accepted: {right}"
    Objective.parsed(right.partition(", ")[0])


def test_two_bounds_of_one_figure_under_one_condition_contradict_each_other():
    texts = ("p99(push) < 20ms", "p99(push) < 50ms with a fault", "duplicates < 1e-3", "p99(push) < 30ms")
    found = contradictions([Objective.parsed(text) for text in texts])
    assert found == [
        "got p99(push) < 30ms beside p99(push) < 20ms; accepted: one bound of a figure under one condition"
    ]
