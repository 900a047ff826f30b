"""Goal: the model of Bailis et al. gives the published table. Method: our trials beside it; planted mistakes.

A latency may differ by 2.5 % and two standard errors, as the published figures have an error of their own.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from zonelab.analysis.pbs.estimates import PbsEstimate, sample
from zonelab.analysis.pbs.messages import Trials
from zonelab.analysis.pbs.models import MODELS
from zonelab.analysis.pbs.published import TABLE
from zonelab.analysis.pbs.reproduction import ReproducedRow, Reproduction, reproduce
from zonelab.analysis.pbs.rules import Quorum, TrialOutcome

TRIALS = 200_000
PLANTED_TRIALS = 20_000
CONSISTENT_AT_ONCE = {"lnkd-ssd": 0.974, "lnkd-disk": 0.439, "ymmr": 0.893, "wan": 0.33}
"""As the paper has it for R = W = 1: the share of reads that see a write which has just ended."""


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce(trials=TRIALS, seed=1)


def wrong_latencies(reproduction: Reproduction) -> list[tuple[str, str, str]]:
    return [
        (row.model, row.quorum.name, kind)
        for row in reproduction.rows
        for kind, ours, paper in (
            ("read", row.read_ms, row.published.read_ms),
            ("write", row.write_ms, row.published.write_ms),
        )
        if abs(ours.value - paper) > 0.025 * paper + 2 * standard_error(ours)
    ]


def standard_error(estimate: PbsEstimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return (estimate.high - estimate.low) / (2 * 1.96)


def late(reproduction: Reproduction) -> Iterator[ReproducedRow]:
    """The rows whose published t is not 0; those of YMMR with the shape that the authors had."""
    return (row for row in reproduction.rows if row.published.visible_ms and row.model != "ymmr-3.35")


def test_latencies_are_those_of_the_published_table(found) -> None:
    assert len(found.rows) == 30
    assert wrong_latencies(found) == []


def test_the_papers_own_estimate_gives_its_times_and_the_quantile_later_ones(found) -> None:
    assert len(list(late(found))) == 10
    for row in late(found):
        first, exact, paper_ms = row.first_passage_ms, row.visible_after_ms, row.published.visible_ms
        assert first.low <= paper_ms <= first.high, row
        assert first.value < exact.value, row
    above = [row for row in late(found) if row.visible_after_ms.value > row.published.visible_ms]
    assert len(above) == 10


def test_where_reads_and_writes_meet_nothing_is_stale(found) -> None:
    strict = [row for row in found.rows if row.quorum.r + row.quorum.w > 3]
    assert len(strict) == 15
    assert {row.visible_after_ms.value for row in strict} == {0.0}
    assert {row.stale_per_1000.value for row in strict} == {0.0}


def test_as_many_reads_see_a_write_at_once_as_published() -> None:
    for name, paper in CONSISTENT_AT_ONCE.items():
        (found,) = sample(MODELS[name], [Quorum(1, 1)], replicas=3, trials=TRIALS, seed=2)
        assert abs(found.consistent_at(0).value - paper) <= 0.005, name


def test_the_published_share_of_yammer_tells_the_shape_of_the_authors_from_that_of_their_table() -> None:
    ends = {}
    for name in ("ymmr", "ymmr-3.35"):
        (found,) = sample(MODELS[name], [Quorum(1, 1)], replicas=3, trials=TRIALS, seed=2)
        share = found.consistent_at(0)
        ends[name] = share.low, share.high
    paper = CONSISTENT_AT_ONCE["ymmr"]
    assert ends["ymmr"][0] < paper < ends["ymmr"][1]
    assert ends["ymmr-3.35"][1] < paper - 0.003


@pytest.mark.parametrize(("replicas", "paper"), [(2, 0.576), (5, 0.321), (10, 0.211)])
def test_more_replicas_make_reads_staler(replicas: int, paper: float) -> None:
    (found,) = sample(MODELS["lnkd-disk"], [Quorum(1, 1)], replicas=replicas, trials=50_000, seed=3)
    assert abs(found.consistent_at(0).value - paper) <= 0.01


def test_the_headline_of_the_paper_is_arithmetic_on_the_table(found) -> None:
    """At Yammer a quorum that may be stale for 0.2 s answers 81 % sooner than the cheapest that never is."""
    wait_ms = {row.quorum.name: row.read_ms.value + row.write_ms.value for row in found.rows if row.model == "ymmr"}
    assert 1 - wait_ms["R=2 W=1"] / wait_ms["R=3 W=1"] == pytest.approx(0.811, abs=0.02)


def one_too_many(self: Quorum, messages: Trials) -> TrialOutcome:
    right = RIGHT_OUTCOME(self, messages)
    return replace(right, read_ms=messages.answers[min(self.r, 2)])


def one_delay_for_all(self: Trials, *arguments) -> np.ndarray:
    drawn = RIGHT_LEG(self, *arguments)
    return np.broadcast_to(drawn[:1], drawn.shape).copy()


RIGHT_OUTCOME, RIGHT_LEG = Quorum.outcome, Trials._leg


def test_a_read_that_waits_for_one_answer_too_many_is_caught(monkeypatch) -> None:
    monkeypatch.setattr(Quorum, "outcome", one_too_many)
    wrong = wrong_latencies(reproduce(trials=PLANTED_TRIALS, seed=1))
    assert {model for model, _, kind in wrong if kind == "read"} == set(TABLE)


def test_a_delay_drawn_once_for_all_replicas_is_caught(monkeypatch) -> None:
    monkeypatch.setattr(Trials, "_leg", one_delay_for_all)
    wrong = wrong_latencies(reproduce(trials=PLANTED_TRIALS, seed=1))
    assert {model for model, _, kind in wrong if kind == "write"} == set(TABLE)
