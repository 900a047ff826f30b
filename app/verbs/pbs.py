"""``zonelab pbs``: how stale reads are and how long they wait, for any quorum, beside what other stores do."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from zonelab.analysis.number_text import percent
from zonelab.analysis.pbs.estimates import CONFIDENCE, FIRST_PASSAGE_ITERATIONS
from zonelab.analysis.pbs.messages import Model
from zonelab.analysis.pbs.models import MODELS, same_legs
from zonelab.analysis.pbs.prediction import Prediction, predict, rules_of
from zonelab.analysis.pbs.published import STEPS_MS
from zonelab.analysis.pbs.reproduction import Reproduction, reproduce
from zonelab.analysis.pbs.rules import DYNOMITE_REPLICAS_MAX, Quorum
from zonelab.analysis.stages import Stage, unheard
from zonelab.app.terminal.pbs_tables import prediction_table, reproduction_table
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.lags.distributions import distribution_of
from zonelab.studies.reporting.report_table import ReportTable

REPLICAS_MAX = 20
TRIALS_MAX = 10_000_000
VALUES_MAX = 150_000_000
"""Kept of all settings and trials together, three of each: 1.2 GB."""


@dataclass(frozen=True)
class PbsResult:
    """A result, and what was found, as a table and as sentences."""

    result: Prediction | Reproduction
    table: ReportTable[Any]
    sentences: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        return {"zonelab": version("zonelab"), "confidence": CONFIDENCE, **self.result.to_json()}

    def print(self) -> None:
        self.table.print(*self.sentences, self._about)

    @property
    def _about(self) -> str:
        result = self.result
        return f"zonelab {version('zonelab')}, {result.trials:,} trials a model, seed {result.seed}; 95 % intervals."


def predicted(
    model: Model,
    *,
    replicas: int,
    r: int | None,
    w: int | None,
    at_ms: Sequence[float],
    probability: float,
    trials: int,
    seed: int,
    stage: Stage = unheard,
) -> PbsResult:
    """Return what the quorum, or every quorum, of ``model`` does. Raises ``NotAccepted``."""
    if not 0 < probability < 1:
        raise NotAccepted(f"--probability: got {probability:g}; accepted: above 0 and below 1, e.g. 0.999")
    rules = rules_of(_quorums(replicas, r, w), replicas=replicas)
    most = min(TRIALS_MAX, VALUES_MAX // (3 * len(rules)))
    if not 1 <= trials <= most:
        raise NotAccepted(f"--trials: got {trials:,}; accepted: 1 to {most:,} with {len(rules)} rows")
    result = predict(
        model,
        rules,
        replicas=replicas,
        at_ms=at_ms,
        probability=probability,
        step_ms=STEPS_MS.get(model.name),
        trials=trials,
        seed=seed,
        stage=stage,
    )
    return PbsResult(result, prediction_table(result), list(_sentences(result)))


def reproduced(*, trials: int, seed: int, stage: Stage = unheard) -> PbsResult:
    """The paper's table 4 beside ours. Raises ``NotAccepted``."""
    if not 1 <= trials <= TRIALS_MAX:
        raise NotAccepted(f"--trials: got {trials:,}; accepted: 1 to {TRIALS_MAX:,}")
    result = reproduce(trials=trials, seed=seed, stage=stage)
    sentences = (
        "paper: Bailis et al., VLDB 2012, table 4, in ms: 99.9 % of reads and of writes to three replicas, and t after "
        "which 99.9 % of reads see the write.",
        f"first passage: the paper's way to t, with {FIRST_PASSAGE_ITERATIONS:,} trials at each t: it is biased low. "
        "exact: the quantile. docs/pbs.md explains the gap.",
        "ymmr has the shape 3.5 of the authors' program for slow writes, ymmr-3.35 that of the paper's table 3.",
    )
    return PbsResult(result, reproduction_table(result), sentences)


def model_of(name: str | None, *, lag: str | None, own: str | None) -> Model:
    """A model of the paper, or zones whose links have ``lag`` and whose own server is ``own`` away; 0 if not given.

    Raises ``NotAccepted``.
    """
    if (name is None) == (lag is None) or (own is not None and lag is None):
        given = [option for option, text in (("--model", name), ("--lag", lag), ("--own", own)) if text is not None]
        raise NotAccepted(
            f"got {' and '.join(given) or 'no model'}; accepted: --table, or --model {'|'.join(MODELS)}, "
            "or --lag TEXT, with --own TEXT if wanted"
        )
    if lag is None:
        if name is None or name not in MODELS:
            raise NotAccepted(f"--model: got {name!r}; accepted: {', '.join(MODELS)}")
        return MODELS[name]
    legs = {}
    for option, text in (("--own", own or "0"), ("--lag", lag)):
        try:
            leg = distribution_of(parse_lag(text))
        except ValueError as error:
            raise NotAccepted(f"{option}: {error}") from error
        legs[option] = same_legs(leg, leg)
    own_text, text = legs["--own"].write.text, legs["--lag"].write.text
    about = f"each way to the own server {own_text}, to other zones {text}, each drawn by itself."
    return Model(name=text, about=about, own=legs["--own"], other=legs["--lag"])


def _quorums(replicas: int, r: int | None, w: int | None) -> list[Quorum]:
    if not 1 <= replicas <= REPLICAS_MAX:
        raise NotAccepted(f"--n: got {replicas}; accepted: 1 to {REPLICAS_MAX}")
    for option, given in (("--r", r), ("--w", w)):
        if given is not None and not 1 <= given <= replicas:
            raise NotAccepted(f"{option}: got {given}; accepted: 1 to {replicas}, the number of replicas (--n)")
    every = range(1, replicas + 1)
    return [Quorum(one, other) for one in ([r] if r else every) for other in ([w] if w else every)]


def _sentences(result: Prediction) -> list[str]:
    lines = [
        f"{result.model.name}: {result.model.about}",
        "Times in ms. R, W: the newest of R answers is read, W acks end a write. DC_ONE, DC_QUORUM: Dynomite; "
        "DC_ONE read in the zone of the write or in another. Elasticsearch: 1.x and 2.x, all copies active.",
        f"t: {percent(result.probability)} of the reads that begin so long after the write ended see it.",
    ]
    if any(row.first_passage_ms for row in result.rows):
        lines.append("first passage: the paper's own estimate of t, which is biased low (docs/pbs.md).")
    lines += [
        f"{name}: one of the last k versions with "
        + ", ".join(f"{percent(share)} (k = {k})" for k, share in shares.items())
        for name, shares in result.within_versions.items()
    ]
    if result.replicas > DYNOMITE_REPLICAS_MAX:
        lines.append(f"Dynomite has at most {DYNOMITE_REPLICAS_MAX} replicas in a data centre: no rows of its levels.")
    if result.replicas == 1:
        lines.append(
            "With one replica Dynomite's DC_SAFE_QUORUM answers every command with an error; the lab's does not."
        )
    needed = ", ".join(f"{name} {count}" for name, count in result.active_needed.items())
    lines.append(
        f"Elasticsearch 1.x/2.x: copies that must be active before a write begins, of {result.replicas}: {needed}; "
        "the write waits for all that are active, whatever the setting."
    )
    return lines
