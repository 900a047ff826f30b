"""Estimates from a sample of trials: quantiles and shares with 95 % intervals, and the paper's own estimate of t."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from zonelab.analysis.lags.distributions import Floats
from zonelab.analysis.pbs.messages import Model, blocks
from zonelab.analysis.pbs.rules import ReplicaRule, TrialOutcome
from zonelab.analysis.proportions import proportion_interval
from zonelab.analysis.stages import Stage, unheard
from zonelab.analysis.statistics import quantile_ranks

CONFIDENCE = 0.95

FIRST_PASSAGE_ITERATIONS = 50_000
"""Trials at each t. The paper does not tell; with so many its published figures come out."""

LATE_LEAST = 100
"""Late reads that a sample must have for ``TrialSample.first_passage``."""


@dataclass(frozen=True, slots=True)
class PbsEstimate:
    """A value and its interval; the ends are None where the sample is too small for them."""

    value: float
    low: float | None
    high: float | None

    def times(self, factor: float) -> "PbsEstimate":
        ends = (None if end is None else factor * end for end in (self.low, self.high))
        return PbsEstimate(factor * self.value, *ends)


@dataclass(frozen=True)
class TrialSample:
    """Sample of the outcomes of all trials under ``rule``."""

    rule: ReplicaRule
    outcome: TrialOutcome

    @property
    def trials(self) -> int:
        return self.outcome.late_ms.size

    def consistent_at(self, after_ms: float) -> PbsEstimate:
        """The probability that a read sees the write if it begins ``after_ms`` after the write ended."""
        return self._share(int(np.count_nonzero(self.outcome.late_ms <= after_ms)))

    def stale_at(self, after_ms: float) -> PbsEstimate:
        """The probability that such a read does not see the write."""
        return self._share(int(np.count_nonzero(self.outcome.late_ms > after_ms)))

    def _share(self, hits: int) -> PbsEstimate:
        interval = proportion_interval(hits, self.trials, confidence=CONFIDENCE)
        return PbsEstimate(hits / self.trials, interval.low, interval.high)

    def visible_after(self, probability: float) -> PbsEstimate:
        """t-visibility in ms: a read so long after the end of the write sees it with ``probability``."""
        (found,) = quantile_estimates(np.maximum(self.outcome.late_ms, 0), [probability])
        return found

    def first_passage(self, probability: float, *, step_ms: float) -> PbsEstimate | None:
        """Return what the paper's method says of ``visible_after``: median, and where 95 of 100 of its results lie, in
        ms.

        It raises t step by step, makes trials of their own at each t, and stops where at most 1 - ``probability`` of
        them are stale. A lucky t ends it, so it ends too early. Given the share that is stale at each t, where it stops
        has a law that can be computed; no trial is made for it. Of the shares, which come from a sample, the ends of
        the interval take the ends. None if the sample has too few such late reads.
        """
        late, left = self.outcome.late_ms, 1 - probability
        if self.trials * left < LATE_LEAST:
            return None
        ranks = [int(self.trials * (1 - min(1.0, 20 * left))), int(self.trials * (1 - left / 10))]
        first, last = np.maximum(np.partition(late, ranks)[ranks], 0)
        tail = np.sort(late[late > first])
        steps = np.arange(math.floor(first / step_ms), math.ceil(last / step_ms) + 1)
        stale = tail.size - np.searchsorted(tail, steps * step_ms, side="right")
        side = (1 - CONFIDENCE) / 2
        wanted = (
            (0.5, stale / self.trials),
            (side, special.betaincinv(np.maximum(stale, 1), self.trials - stale + 1, side)),
            (1 - side, special.betaincinv(stale + 1, self.trials - stale, 1 - side)),
        )
        return PbsEstimate(*(step_ms * float(steps[_stops_at(share, shares, left)]) for share, shares in wanted))


def _stops_at(share: float, stale: Floats, left: float) -> int:
    """The step by which such a share of sweeps has stopped, where each step has its share of stale reads."""
    allowed = math.floor(FIRST_PASSAGE_ITERATIONS * left + 1e-9)
    stops = special.bdtr(allowed, FIRST_PASSAGE_ITERATIONS, stale)
    return min(int(np.searchsorted(1 - np.cumprod(1 - stops), share)), stale.size - 1)


def quantile_estimates(sample: Floats, probabilities: Sequence[float]) -> list[PbsEstimate]:
    """Quantiles (the least value with at least such a share at or below it), with intervals by order statistics."""
    ranks = [max(0, math.ceil(probability * sample.size - 1e-9) - 1) for probability in probabilities]
    ends = [quantile_ranks(sample.size, probability, confidence=CONFIDENCE) for probability in probabilities]
    part = np.partition(sample, sorted({*ranks, *(rank for pair in ends if pair for rank in pair)}))
    return [
        PbsEstimate(float(part[rank]), *((float(part[pair[0]]), float(part[pair[1]])) if pair else (None, None)))
        for rank, pair in zip(ranks, ends, strict=True)
    ]


def sample(
    model: Model, rules: Sequence[ReplicaRule], *, replicas: int, trials: int, seed: int, stage: Stage = unheard
) -> list[TrialSample]:
    """Return what each of ``rules`` makes of the same ``trials`` trials."""
    kept = [TrialOutcome(*(np.empty(trials) for _ in range(3))) for _ in rules]
    begin = 0
    for messages in blocks(model, replicas=replicas, trials=trials, seed=seed):
        end = begin + messages.writer.size
        for rule, into in zip(rules, kept, strict=True):
            found = rule.outcome(messages)
            into.write_ms[begin:end], into.read_ms[begin:end] = found.write_ms, found.read_ms
            into.late_ms[begin:end] = found.late_ms
        begin = end
        stage(model.name, begin, trials)
    return [TrialSample(rule, outcome) for rule, outcome in zip(rules, kept, strict=True)]
