"""How often runs lost or doubled messages, beside what they were made with: from run directories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.runs.directory import RunDirectory
from analysis.runs.settings import settings_of
from analysis.summary.queue_summary import load_verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one run came to. ``settings`` by name, ``counts`` by message class."""

    settings: Mapping[str, Any]
    seed: int
    counts: Mapping[str, int]
    delivered: int
    acknowledged: int


def outcomes_of(runs: Sequence[RunDirectory]) -> list[Outcome]:
    """The outcomes of ``runs``; those that never were are checked. Raises ``RunError``."""
    found = []
    for run in runs:
        verdict = load_verdict(run)
        found.append(
            Outcome(
                settings=settings_of(run),
                seed=run.info.seed,
                counts=verdict.counts,
                delivered=verdict.totals.delivered,
                acknowledged=verdict.totals.acknowledged,
            )
        )
    return found
