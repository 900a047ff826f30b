"""The published table beside both estimators of our own."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from zonelab.analysis.pbs.estimates import PbsEstimate, TrialSample, quantile_estimates, sample
from zonelab.analysis.pbs.models import MODELS
from zonelab.analysis.pbs.published import PROBABILITY, REPLICAS, STEPS_MS, TABLE, PublishedRow
from zonelab.analysis.pbs.rules import Quorum
from zonelab.analysis.stages import Stage, unheard


@dataclass(frozen=True, kw_only=True)
class ReproducedRow:
    """One row of the published table, and what we find. ``stale_per_1000``: of the reads at the published t."""

    model: str
    quorum: Quorum
    published: PublishedRow
    read_ms: PbsEstimate
    write_ms: PbsEstimate
    visible_after_ms: PbsEstimate
    first_passage_ms: PbsEstimate | None
    stale_per_1000: PbsEstimate


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """All rows of the published table; of YMMR twice, for both shapes."""

    trials: int
    seed: int
    rows: Sequence[ReproducedRow]

    def to_json(self) -> dict[str, Any]:
        return {
            "replicas": REPLICAS,
            "trials": self.trials,
            "seed": self.seed,
            "probability": PROBABILITY,
            "rows": [{**asdict(row), "quorum": asdict(row.quorum)} for row in self.rows],
        }


def reproduce(*, trials: int, seed: int, stage: Stage = unheard) -> Reproduction:
    """Make ``trials`` trials of each model."""
    rows = []
    for name, known in TABLE.items():
        rules = [Quorum(r, w) for r, w in known]
        found = sample(MODELS[name], rules, replicas=REPLICAS, trials=trials, seed=seed, stage=stage)
        rows += [_row(name, rule, one) for rule, one in zip(rules, found, strict=True)]
    return Reproduction(trials=trials, seed=seed, rows=rows)


def _row(name: str, quorum: Quorum, found: TrialSample) -> ReproducedRow:
    known = TABLE[name][quorum.r, quorum.w]
    (read_ms,), (write_ms,) = (
        quantile_estimates(values, [PROBABILITY]) for values in (found.outcome.read_ms, found.outcome.write_ms)
    )
    return ReproducedRow(
        model=name,
        quorum=quorum,
        published=known,
        read_ms=read_ms,
        write_ms=write_ms,
        visible_after_ms=found.visible_after(PROBABILITY),
        first_passage_ms=found.first_passage(PROBABILITY, step_ms=STEPS_MS[name]),
        stale_per_1000=found.stale_at(known.visible_ms).times(1000),
    )
