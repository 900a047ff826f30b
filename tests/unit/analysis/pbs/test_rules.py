"""Goal: waits and staleness of each store are right. Method: closed forms, and the lab's own votes trial by trial."""

import numpy as np
import pytest
from scipy import special, stats

from zonelab.analysis.lags.distributions import ConstantDelay, Exponential
from zonelab.analysis.pbs.estimates import FIRST_PASSAGE_ITERATIONS, TrialSample, quantile_estimates, sample
from zonelab.analysis.pbs.messages import Legs, Model, Trials
from zonelab.analysis.pbs.models import MODELS, same_legs
from zonelab.analysis.pbs.rules import (
    Consistency,
    LocalRead,
    PrimaryFirst,
    Quorum,
    TrialOutcome,
    ValueVote,
    active_needed,
    within_versions,
)
from zonelab.analysis.statistics import distribution_margin
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.vote import Vote

TRIALS = 40_000
MARGIN = distribution_margin(TRIALS, confidence=0.9999)
MEAN_MS = 3.0


def model(own: Legs, other: Legs) -> Model:
    return Model(name="test", about="", own=own, other=other)


EXPONENTIAL_ACKS = Legs(
    write=ConstantDelay(0), ack=Exponential(MEAN_MS), read=ConstantDelay(0), answer=Exponential(MEAN_MS)
)
ZONES = model(same_legs(ConstantDelay(0), ConstantDelay(0)), same_legs(Exponential(MEAN_MS), Exponential(MEAN_MS)))
"""The own server is at hand, the others behind links."""


def distance(values: np.ndarray, cdf) -> float:
    return float(stats.ks_1samp(values, cdf, method="asymp").statistic)


@pytest.mark.parametrize(("r", "w"), [(1, 5), (3, 2), (5, 1)])
def test_waits_are_order_statistics(r: int, w: int) -> None:
    """The k-th of n exponential delays is at most t with the incomplete beta function of their share at t."""
    (found,) = sample(model(EXPONENTIAL_ACKS, EXPONENTIAL_ACKS), [Quorum(r, w)], replicas=5, trials=TRIALS, seed=1)
    for k, values in ((w, found.outcome.write_ms), (r, found.outcome.read_ms)):
        assert distance(values, lambda t, k=k: special.betainc(k, 6 - k, -np.expm1(-t / MEAN_MS))) <= MARGIN
        assert distance(values, lambda t, k=k: special.betainc(k + 1, 5.5 - k, -np.expm1(-t / MEAN_MS))) > MARGIN


def test_a_local_read_elsewhere_is_as_late_as_the_link_and_one_at_home_never() -> None:
    away, home = sample(
        ZONES, [LocalRead(elsewhere=True), LocalRead(elsewhere=False)], replicas=3, trials=TRIALS, seed=1
    )
    assert distance(away.outcome.late_ms, lambda t: -np.expm1(-t / MEAN_MS)) <= MARGIN
    assert home.visible_after(0.999).value == 0
    assert {*away.outcome.write_ms, *away.outcome.read_ms} == {0.0}


def test_a_vote_by_value_waits_as_the_labs_own_vote_does_and_is_never_stale() -> None:
    messages = Trials(MODELS["lnkd-disk"], replicas=3, count=2_000, rng=np.random.default_rng(1))
    found = ValueVote(3).outcome(messages)
    waited = []
    for trial in range(2_000):
        vote, written = Vote(Level.DC_SAFE_QUORUM, zones=3), found.write_ms[trial]
        for zone in np.argsort(messages.answered_after[:, trial]).tolist():
            reply = b"new" if messages.write[zone, trial] <= written + messages.read[zone, trial] else b"old"
            if vote.submit(zone, reply):
                waited.append(messages.answered_after[zone, trial])
        assert vote.answer == b"new"
    assert waited == found.read_ms.tolist()
    assert found.late_ms.max() <= 0
    assert (found.read_ms > messages.answers[1]).any()


@pytest.mark.parametrize("replicas", [1, 2])
def test_with_fewer_replicas_a_vote_needs_all(replicas: int) -> None:
    messages = Trials(MODELS["ymmr"], replicas=replicas, count=1_000, rng=np.random.default_rng(1))
    found = ValueVote(replicas).outcome(messages)
    assert (found.read_ms == messages.answers[-1]).all()
    assert (found.write_ms == messages.acks[-1]).all()


def test_elasticsearch_writes_to_the_primary_then_to_all_at_once() -> None:
    legs = same_legs(ConstantDelay(1), ConstantDelay(2))
    (found,) = sample(model(legs, legs), [PrimaryFirst()], replicas=3, trials=10, seed=1)
    assert (set(found.outcome.write_ms), set(found.outcome.read_ms)) == ({6.0}, {4.0})
    (alone,) = sample(model(legs, legs), [PrimaryFirst()], replicas=1, trials=10, seed=1)
    assert set(alone.outcome.write_ms) == {3.0}


@pytest.mark.parametrize(
    ("copies", "needed"), [(1, (1, 1, 1)), (2, (1, 1, 2)), (3, (1, 2, 3)), (4, (1, 3, 4)), (5, (1, 3, 5))]
)
def test_elasticsearch_counts_active_copies(copies: int, needed: tuple[int, int, int]) -> None:
    assert tuple(active_needed(one, copies=copies) for one in Consistency) == needed


@pytest.mark.parametrize(
    ("quorum", "shares"),
    [((1, 1), {1: 0.333, 2: 0.556, 3: 0.704, 5: 0.868, 10: 0.983}), ((2, 1), {1: 0.667, 2: 0.889, 3: 0.963, 5: 0.996})],
)
def test_the_closed_form_of_versions_has_the_papers_figures(quorum: tuple[int, int], shares: dict[int, float]) -> None:
    for r, w in (quorum, quorum[::-1]):
        for k, share in shares.items():
            assert within_versions(k, replicas=3, r=r, w=w) == pytest.approx(share, abs=5e-4)
    assert within_versions(1, replicas=3, r=2, w=2) == 1


def lateness(values: np.ndarray) -> TrialSample:
    return TrialSample(Quorum(1, 1), TrialOutcome(values, values, values))


def test_the_law_of_the_first_passage_is_that_of_sweeps() -> None:
    """Sweeps that make the trials, with an exponential lateness, stop where the law says."""
    rng = np.random.default_rng(1)
    law = lateness(rng.standard_exponential(2_000_000)).first_passage(0.999, step_ms=0.01)
    steps = np.arange(500, 900) * 0.01
    stale = rng.binomial(FIRST_PASSAGE_ITERATIONS, np.exp(-steps), size=(1_000, steps.size))
    stopped = steps[np.argmax(stale <= FIRST_PASSAGE_ITERATIONS // 1_000, axis=1)]
    assert law.value == pytest.approx(np.median(stopped), abs=0.03)
    assert 0.94 <= ((stopped >= law.low) & (stopped <= law.high)).mean() <= 1
    assert law.value < np.log(1_000)


def test_a_sample_without_late_reads_enough_has_no_first_passage() -> None:
    assert lateness(np.zeros(99_000)).first_passage(0.999, step_ms=0.1) is None


def test_quantiles_are_the_least_value_that_reaches_the_share() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1.0, 1_001.0))
    middle, rare = quantile_estimates(values, [0.5, 0.999])
    assert (middle.value, rare.value) == (500.0, 999.0)
    assert (rare.low, rare.high) == (None, None)
    assert middle.low < 500 < middle.high


def test_equal_seeds_make_equal_trials() -> None:
    one, two = (sample(MODELS["wan"], [Quorum(1, 2)], replicas=3, trials=70_000, seed=4)[0] for _ in range(2))
    (other,) = sample(MODELS["wan"], [Quorum(1, 2)], replicas=3, trials=70_000, seed=5)
    assert (one.outcome.late_ms == two.outcome.late_ms).all()
    assert (one.outcome.late_ms != other.outcome.late_ms).any()
