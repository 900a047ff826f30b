"""Goal: objectives are read with their units and told back, and what cannot be meant is refused. Method: texts."""

import pytest

from zonelab.analysis.rates.objectives import Objective, contradictions

TEXTS = (
    "p99(push) < 20ms",
    "p99.9(lease) < 1.25s with any one zone down",
    "lost == 0 with any one zone down",
    "lost == 0 tolerance 1e-06",
    "duplicates < 0.001",
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
        ("duplicates < 0.1%", "duplicates < 0.001"),
        ("duplicates < 50/million", "duplicates < 5e-05"),
        ("unavailable < 300s/year", "unavailable < 5min/year"),
    ],
)
def test_units_are_converted(text, same):
    assert Objective.parsed(text) == Objective.parsed(same)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("p99(push) < 20", "got '20'; accepted: a number with its unit (us, ms, s, min, h)"),
        ("unavailable < 5min", "and /year, e.g. 5min/year"),
        ("p98(push) < 20ms", "got the figure 'p98(push)'; accepted: p50, p90, p99, p99.9 of (push, lease, ack, late)"),
        ("p99(pop) < 20ms", "got the figure 'p99(pop)'"),
        ("lots == 0", "got the figure 'lots'; accepted: p50"),
        ("lost < 20ms", "got '20ms'; accepted: a number of cases a message"),
        ("lost < 0", "which nothing is below; accepted: more than 0, or lost == 0"),
        ("lost == 1", "accepted: == 0, of losses, duplicates"),
        ("p99(push) == 0", "accepted: == 0, of losses, duplicates"),
        ("lost < 1e-3 tolerance 1e-4", "accepted: a tolerance with == 0 only"),
        ("p99(push) > 20ms", "accepted: FIGURE < BOUND or FIGURE == 0"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_is_accepted(text, told):
    with pytest.raises(ValueError, match=r"accepted: ") as refused:
        Objective.parsed(text)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_bounds_of_one_figure_under_one_condition_contradict_each_other():
    texts = ("p99(push) < 20ms", "p99(push) < 50ms with a fault", "duplicates < 1e-3", "p99(push) < 30ms")
    found = contradictions([Objective.parsed(text) for text in texts])
    assert found == [
        "got p99(push) < 30ms beside p99(push) < 20ms; accepted: one bound of a figure under one condition"
    ]
