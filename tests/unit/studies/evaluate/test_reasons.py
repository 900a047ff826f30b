"""Goal: every setting has one sentence that says why, in the units of the objective. Method: planted rollouts."""

import pytest
from support.analysis.planted_rollouts import DOWN, ROLLOUTS, Rollout, Setting

from zonelab.studies.evaluate.reasons import AnswerReasons
from zonelab.studies.evaluate.year_tables import of_year

SENTENCES = {
    "the cheapest does": {
        "one": "one is taken: every objective is met; p99(push) is ",
        "quorum": "quorum is not taken: p99(push) is ",
    },
    "a tie": {"twin": "twin is tied with it: p99(push) is ", "slow": "slow is not taken: p99(push) is "},
    "both are far from the bound": {
        "quorum": "quorum is tied with it: p99(push) is ",
        "slow": "slow is not taken: p99(push) is ",
    },
    "loss decides": {
        "quorum": "quorum is taken: nothing seen speaks against it, though open of it: lost == 0 with ",
        "one": f"one is rejected: lost == 0 with {DOWN} is not met, ",
    },
    "none qualifies": {"quorum": "quorum is rejected: p99(push) < 2ms is not met, "},
}


@pytest.mark.parametrize("name", SENTENCES)
def test_every_setting_has_a_sentence_why(name: str):
    rollout = ROLLOUTS[name]
    found = rollout.decided(seed=1)
    told = list(AnswerReasons(found=found, values=of_year(rollout.measured(1), prefer=[])).sentences())
    assert len(told) == len(rollout.settings)
    for begin in SENTENCES[name].values():
        assert [line for line in told if line.startswith(begin)], (begin, told)
    if found.recommended is not None:
        assert told[0].startswith(f"{found.recommended} is taken: ")


LESS_TO_PROVE = Rollout(
    settings={"one": Setting(push_ms=1.0, duplicated=1.0), "quorum": Setting()},
    objectives=("p99(push) < 100ms", f"lost == 0 with {DOWN}", f"duplicates < 4e-3 with {DOWN}"),
    recommended="quorum",
    tied=("one",),
)
"""Pushes of one are quicker, and more of its objectives are open."""


@pytest.mark.parametrize(
    ("rollout", "tied", "end"),
    [
        (
            ROLLOUTS["both are far from the bound"],
            "quorum",
            "within 25% of the bound of 100ms; put after it for that alone",
        ),
        (LESS_TO_PROVE, "one", "; put after it, as 2 of its objectives are open, beside 1"),
    ],
)
def test_a_tied_setting_says_within_what_it_is_alike_and_why_it_comes_after(
    rollout: Rollout, tied: str, end: str
) -> None:
    found = rollout.decided(seed=1)
    assert rollout.is_right(found)
    told = list(AnswerReasons(found=found, values=of_year(rollout.measured(1), prefer=[])).sentences())
    assert next(line for line in told if line.startswith(f"{tied} is tied with it: p99(push) is ")).endswith(end)
