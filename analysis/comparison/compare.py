"""Two runs side by side: how far their latencies, lateness, duplicates and losses differ, and how sure that is.

Operations of a run are not independent: a slow moment slows its neighbours. Every interval and p value here is
therefore made from blocks of neighbouring operations. What no method can get out of one run of each kind is how much
runs differ among themselves, from seed to seed and from machine to machine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.queue.section import Totals
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.comparison.metrics import (
    PERMUTATIONS,
    RESAMPLES,
    SEED,
    WITHIN,
    Agreement,
    MetricComparison,
    check_within,
    compare_series,
)
from zonelab.analysis.comparison.samples import Metric, read_series, read_zone_medians, zones_differ
from zonelab.analysis.message_classes import DUPLICATE_CAUSES
from zonelab.analysis.number_text import counted
from zonelab.analysis.proportions import Interval
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.settings import settings_of
from zonelab.analysis.statistics import newcombe_interval
from zonelab.analysis.summary.run_summary import LOSSES, load_verdict

METHOD = (
    "95 % intervals of quantiles: percentiles of a moving-block bootstrap of each run; p of the KS distance: blocks "
    "dealt out at random; differences of shares: Newcombe's hybrid score interval. They say how sure the difference "
    "of these two runs is, not how much runs differ from seed to seed. Duplicates and losses come in clusters, so "
    "intervals of their shares are too narrow."
)

_SHOWN_MAX = 120
"""Characters of one value in a sentence; ``differs`` has it whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareDifference:
    """Difference of a count between two runs, as a share of ``first_of`` and ``second_of``, over the whole run."""

    name: str
    of: str
    first: int
    first_of: int
    second: int
    second_of: int
    difference: int
    share_difference: float | None
    share_interval: Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class ZoneMedians:
    """The medians (ms) of ``metric`` in one zone; None where it has too few values."""

    metric: Metric
    zone: str
    first_ms: float | None
    second_ms: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingPair:
    """Something in which the runs were meant to differ, or happen to: a field of run.json or of the scenario."""

    name: str
    first: Any
    second: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Two runs compared; every difference is second minus first."""

    first: str
    second: str
    first_path: Path
    second_path: Path
    differs: tuple[SettingPair, ...]
    notes: tuple[str, ...]
    metrics: tuple[MetricComparison, ...]
    zones: tuple[ZoneMedians, ...]
    """Medians by zone of metrics in which the zones of a run differ from each other."""
    duplicates: tuple[ShareDifference, ...]
    losses: tuple[ShareDifference, ...]

    def metric(self, name: str) -> MetricComparison:
        return next(row for row in self.metrics if row.metric == name)

    def agree(self, within: float = WITHIN) -> Agreement:
        """``no`` if any metric's medians surely differ, ``yes`` if all surely agree; without metrics of neither run."""
        check_within(within)
        found = {row.agree(within) for row in self.metrics if row.first.count or row.second.count}
        if "no" in found:
            return "no"
        return "yes" if found == {"yes"} else "undecided"

    def to_json(self, *, within: float = WITHIN) -> dict[str, Any]:
        """Everything, with the verdicts for ``within`` and the constants of the method."""
        verdicts = {str(row.metric): row.agree(within) for row in self.metrics}
        settings = {"confidence": 0.95, "seed": SEED, "resamples": RESAMPLES, "permutations": PERMUTATIONS}
        return {
            **asdict(self),
            "first_path": str(self.first_path),
            "second_path": str(self.second_path),
            "agree": {"within": within, "overall": self.agree(within), "metrics": verdicts},
            "method": {"words": METHOD, **settings},
        }


def compare(first: Path, second: Path) -> Comparison:
    """Compare two runs, of the same scenario and level or not; check those that never were. Raises ``RunError``."""
    runs = RunDirectory.open(first), RunDirectory.open(second)
    verdicts = load_verdict(runs[0]), load_verdict(runs[1])
    series = read_series(runs[0]), read_series(runs[1])
    differs = tuple(_differences(*runs))
    return Comparison(
        first=runs[0].name,
        second=runs[1].name,
        first_path=runs[0].path,
        second_path=runs[1].path,
        differs=differs,
        notes=tuple(_notes(runs, verdicts, differs)),
        metrics=tuple(compare_series(metric, series[0][metric], series[1][metric]) for metric in Metric),
        zones=tuple(_by_zone(*runs)),
        duplicates=tuple(_share(str(cause), "deliveries", verdicts) for cause in DUPLICATE_CAUSES),
        losses=tuple(_share(name, "acknowledged", verdicts) for name in LOSSES),
    )


def _by_zone(*runs: RunDirectory) -> Iterator[ZoneMedians]:
    first, second = map(read_zone_medians, runs)
    for metric in first:
        if zones_differ(first[metric]) or zones_differ(second[metric]):
            for zone in sorted(first[metric].keys() | second[metric].keys()):
                medians_ms = first[metric].get(zone), second[metric].get(zone)
                yield ZoneMedians(metric=metric, zone=zone, first_ms=medians_ms[0], second_ms=medians_ms[1])


def _share(name: str, of: str, verdicts: tuple[Verdict, Verdict]) -> ShareDifference:
    (first, first_of), (second, second_of) = ((item.counts[name], _total(item.totals, of)) for item in verdicts)
    known = first_of > 0 and second_of > 0
    return ShareDifference(
        name=name,
        of=of,
        first=first,
        first_of=first_of,
        second=second,
        second_of=second_of,
        difference=second - first,
        share_difference=second / second_of - first / first_of if known else None,
        share_interval=newcombe_interval((first, first_of), (second, second_of)),
    )


def _total(totals: Totals, name: str) -> int:
    return int(getattr(totals, name))


def _differences(first: RunDirectory, second: RunDirectory) -> Iterator[SettingPair]:
    one, two = settings_of(first), settings_of(second)
    for name in dict.fromkeys([*one, *two]):
        if one.get(name) != two.get(name):
            yield SettingPair(name=name, first=one.get(name), second=two.get(name))


def _words(row: SettingPair) -> str:
    """A list of faults or operations may be long: of a longer value its beginning is shown."""
    first, second = (
        text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…" for text in map(_said, (row.first, row.second))
    )
    return f"{row.name} ({first} / {second})"


def _said(value: Any) -> str:
    """A value of a scenario in words: of a fault, its kind and what was given of it."""
    match value:
        case []:
            return "none"
        case list():
            return ", ".join(map(_said, value))
        case {"kind": kind, **others}:
            return " ".join([str(kind), *(f"{name}: {other}" for name, other in others.items() if other is not None)])
    return str(value)


def _notes(
    runs: Sequence[RunDirectory], verdicts: tuple[Verdict, Verdict], differs: Sequence[SettingPair]
) -> Iterator[str]:
    if runs[0].path == runs[1].path:
        yield "both are the same run"
    changed = [row for row in differs if row.name in ("scenario", "level") or row.name.startswith("scenario.yaml ")]
    if changed:
        yield f"not the same experiment: the runs differ in {', '.join(map(_words, changed))}"
    arms = {run.info.arm for run in runs}
    unmeant = ("zonelab_version", "git_commit", "program", *(["server"] if len(arms) == 1 else []))
    others = [row for row in differs if row.name in unmeant]
    if others:
        yield f"also different: {', '.join(map(_words, others))}"
    for which, run, verdict in zip(("first", "second"), runs, verdicts, strict=True):
        if run.info.status != "complete":
            yield f"the {which} run was {run.info.status}: its figures are those of a part"
        if "load" not in run.info.phases:
            yield f"the {which} run has no load phase on record: all of it was used"
        if verdict.counts["undecided"]:
            yield f"the {which} run has {counted(verdict.counts['undecided'], 'message')} that may be lost or stuck"
