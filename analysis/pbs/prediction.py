"""Predictions of every quorum of a model, and of other stores on the same replicas, from the same trials."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from zonelab.analysis.pbs.estimates import PbsEstimate, TrialSample, quantile_estimates, sample
from zonelab.analysis.pbs.messages import Model
from zonelab.analysis.pbs.rules import (
    DYNOMITE_REPLICAS_MAX,
    Consistency,
    LocalRead,
    PrimaryFirst,
    Quorum,
    ReplicaRule,
    ValueVote,
    active_needed,
    within_versions,
)
from zonelab.analysis.stages import Stage, unheard

LATENCIES = (0.5, 0.99, 0.999)
VERSIONS = (1, 2, 3, 5, 10)


@dataclass(frozen=True, kw_only=True)
class RulePrediction:
    """Prediction of one rule. ``write_ms`` and ``read_ms``: by share; ``consistent``: by ms after the write.

    ``first_passage_ms`` is None if it was not asked for or the sample is too small for it.
    """

    rule: ReplicaRule
    write_ms: Mapping[float, PbsEstimate]
    read_ms: Mapping[float, PbsEstimate]
    consistent: Mapping[float, PbsEstimate]
    visible_after_ms: PbsEstimate
    first_passage_ms: PbsEstimate | None

    def to_json(self) -> dict[str, Any]:
        rule, first = self.rule, self.first_passage_ms
        quorum = {"r": rule.r, "w": rule.w} if isinstance(rule, Quorum) else {}
        return {
            "setting": rule.name,
            **quorum,
            "write_ms": {f"p{100 * share:g}": asdict(one) for share, one in self.write_ms.items()},
            "read_ms": {f"p{100 * share:g}": asdict(one) for share, one in self.read_ms.items()},
            "consistent_at_ms": {f"{at_ms:g}": asdict(one) for at_ms, one in self.consistent.items()},
            "visible_after_ms": asdict(self.visible_after_ms),
            "first_passage_ms": asdict(first) if first else None,
        }


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """For one model: a row for each quorum, then one for each other store."""

    model: Model
    replicas: int
    trials: int
    seed: int
    probability: float
    rows: Sequence[RulePrediction]

    @property
    def within_versions(self) -> Mapping[str, Mapping[int, float]]:
        """By quorum that may read old versions: the chance of one of the last k versions, by k."""
        quorums = [row.rule for row in self.rows if isinstance(row.rule, Quorum)]
        return {
            one.name: {k: within_versions(k, replicas=self.replicas, r=one.r, w=one.w) for k in VERSIONS}
            for one in quorums
            if one.r + one.w <= self.replicas
        }

    @property
    def active_needed(self) -> Mapping[str, int]:
        """By ``consistency`` of Elasticsearch 1.x and 2.x."""
        return {one.value: active_needed(one, copies=self.replicas) for one in Consistency}

    def to_json(self) -> dict[str, Any]:
        legs = {"own": self.model.own, "other": self.model.other}
        return {
            "model": self.model.name,
            "lags": {whose: {name: leg.text for name, leg in vars(one).items()} for whose, one in legs.items()},
            "replicas": self.replicas,
            "trials": self.trials,
            "seed": self.seed,
            "probability": self.probability,
            "settings": [row.to_json() for row in self.rows],
            "within_versions": self.within_versions,
            "elasticsearch_active_copies_needed": self.active_needed,
        }


def rules_of(quorums: Sequence[Quorum], *, replicas: int) -> list[ReplicaRule]:
    """``quorums``, then Dynomite's levels, where it has so many replicas, and Elasticsearch."""
    local: list[ReplicaRule] = [LocalRead(elsewhere=elsewhere) for elsewhere in (False, True)[:replicas]]
    dynomite = [*local, ValueVote(replicas)] if replicas <= DYNOMITE_REPLICAS_MAX else []
    return [*quorums, *dynomite, PrimaryFirst()]


def predict(
    model: Model,
    rules: Sequence[ReplicaRule],
    *,
    replicas: int,
    at_ms: Sequence[float],
    probability: float,
    step_ms: float | None,
    trials: int,
    seed: int,
    stage: Stage = unheard,
) -> Prediction:
    """``step_ms``: how fine the paper's estimate looks at t; None: it is not made."""
    found = sample(model, rules, replicas=replicas, trials=trials, seed=seed, stage=stage)
    rows = [_row(one, at_ms=at_ms, probability=probability, step_ms=step_ms) for one in found]
    return Prediction(model=model, replicas=replicas, trials=trials, seed=seed, probability=probability, rows=rows)


def _row(found: TrialSample, *, at_ms: Sequence[float], probability: float, step_ms: float | None) -> RulePrediction:
    write_ms, read_ms = (
        dict(zip(LATENCIES, quantile_estimates(values, LATENCIES), strict=True))
        for values in (found.outcome.write_ms, found.outcome.read_ms)
    )
    return RulePrediction(
        rule=found.rule,
        write_ms=write_ms,
        read_ms=read_ms,
        consistent={at: found.consistent_at(at) for at in at_ms},
        visible_after_ms=found.visible_after(probability),
        first_passage_ms=None if step_ms is None else found.first_passage(probability, step_ms=step_ms),
    )
