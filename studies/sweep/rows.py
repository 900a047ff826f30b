"""The rows of a sweep, one for each setting, and how each differs from the first, seed by seed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zonelab.analysis.observation import Observation
from zonelab.analysis.paired_runs import PairedDifference, is_pair
from zonelab.analysis.proportions import Interval, share_json
from zonelab.analysis.statistics import mean_interval, quantile_interval
from zonelab.studies.sweep.one_run import DUPLICATES

Runs = Mapping[int, Observation]
"""By seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepEstimate:
    """Over runs. ``interval``: at 95 %, None if the runs are too few or all equal."""

    value: float
    interval: Interval | None

    def to_json(self) -> dict[str, Any]:
        interval = self.interval
        return {"value": self.value, "interval": interval and {"low": interval.low, "high": interval.high}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Difference to the first setting, in pairs of runs.

    ``failing``: pairs in which only this setting's run failed have more, those in which only the first one's did less.
    """

    failing: PairedDifference
    numbers: Mapping[str, SweepEstimate]

    @property
    def share(self) -> SweepEstimate | None:
        """Return how much more often this setting fails; None without a pair."""
        if not self.failing.values:
            return None
        return SweepEstimate(value=self.failing.share, interval=self.failing.share_interval)

    def to_json(self) -> dict[str, Any]:
        return {
            "pairs": len(self.failing.values),
            "worse": self.failing.more,
            "better": self.failing.fewer,
            "chance_of_worse": self.failing.chance_of_more,
            "chance_of_better": self.failing.chance_of_fewer,
            "failing_share": self.share and self.share.to_json(),
            "numbers": {name: one.to_json() for name, one in self.numbers.items()},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepRow:
    """One setting. ``runs``: with a verdict; ``undecided``: by seed, why one is neither true nor false.

    ``cases``: by class, over all runs; ``runs_with``: runs that have any. ``numbers``: over the runs, what each of them
    shows as a whole. ``problems``: by seed, why a run has no verdict.
    """

    setting: str
    runs: int
    undecided: Mapping[int, str]
    failing: int
    messages: int
    cases: Mapping[str, int]
    runs_with: Mapping[str, int]
    numbers: Mapping[str, SweepEstimate]
    problems: Mapping[int, str]
    difference: Difference | None

    @property
    def judged(self) -> int:
        """The number of runs that are valid or invalid, of which ``failing`` is a share."""
        return self.runs - len(self.undecided)

    def to_json(self) -> dict[str, Any]:
        return {
            "setting": self.setting,
            "runs": self.runs,
            "undecided": {str(seed): why for seed, why in self.undecided.items()},
            "failing": self.failing,
            "failing_share": share_json(self.failing, self.judged),
            "messages": self.messages,
            "cases": dict(self.cases),
            "runs_with": dict(self.runs_with),
            "numbers": {name: one.to_json() for name, one in self.numbers.items()},
            "problems": {str(seed): problem for seed, problem in self.problems.items()},
            "difference": self.difference and self.difference.to_json(),
        }


def row_of(setting: str, runs: Runs, *, first: Runs | None) -> SweepRow:
    """Return the row of one setting, compared with the ``runs`` of the ``first`` one, unless it is that."""
    judged = [run for run in runs.values() if run.valid is not None]
    cases: Counter[str] = Counter()
    for run in judged:
        cases.update(run.counts)
    problems = {seed: run.problem for seed, run in runs.items() if run.problem is not None}
    return SweepRow(
        setting=setting,
        runs=len(judged),
        undecided={seed: why for seed, why in problems.items() if runs[seed].valid is not None},
        failing=sum(run.valid is False for run in judged),
        messages=sum(run.begun for run in judged),
        cases=dict(sorted(cases.items())),
        runs_with={name: sum(name in run.counts for run in judged) for name in sorted(cases)},
        numbers={name: _estimate(name, _values(judged, name)) for name in _names(judged)},
        problems={seed: why for seed, why in problems.items() if runs[seed].valid is None},
        difference=None if first is None else _difference(runs, first),
    )


def _difference(runs: Runs, first: Runs) -> Difference:
    seeds = sorted(runs.keys() & first.keys())
    pairs = [(first[seed], runs[seed]) for seed in seeds if is_pair(first[seed], runs[seed])]
    found = {
        name: PairedDifference.of(pairs, lambda run, of=name: run.numbers.get(of))  # type: ignore[misc]
        for name in _names([run for pair in pairs for run in pair])
    }
    return Difference(
        failing=PairedDifference.of(pairs, lambda run: run.valid is False),
        numbers={name: _estimate(name, one.values) for name, one in found.items() if one.values},
    )


def _names(runs: Sequence[Observation]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.numbers))


def _values(runs: Sequence[Observation], name: str) -> list[float]:
    return [run.numbers[name] for run in runs if name in run.numbers]


def _estimate(name: str, values: Sequence[float]) -> SweepEstimate:
    """A median, as a few runs have extreme percentiles; a mean of what is 0 in most runs."""
    if name == DUPLICATES:
        return SweepEstimate(value=float(np.mean(values)), interval=mean_interval(values))
    return SweepEstimate(value=float(np.median(values)), interval=quantile_interval(values, 0.5))
