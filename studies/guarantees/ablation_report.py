"""The report of what each safety mechanism is good for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zonelab.analysis.number_text import counted
from zonelab.studies.guarantees.ablation import (
    ablation_pairs,
    conditions_of,
    dearer,
    detected,
    redelivered_per_1000,
    watched,
)
from zonelab.studies.guarantees.ablation_costs import Cost
from zonelab.studies.guarantees.mechanisms import Ablation
from zonelab.studies.guarantees.paired import RowResult
from zonelab.studies.guarantees.paired_report import PairedReport, per_1000
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.report_table import Column

_Row = tuple[Ablation, RowResult]


@dataclass(frozen=True, kw_only=True, slots=True)
class AblationReport(PairedReport[Ablation]):
    _TITLE = "What each safety mechanism prevents"
    _PAGE = "docs/ablations.md"

    def _columns(self) -> list[Column[_Row]]:
        study = self.study
        return [
            Column("switched off", lambda row: list(row[0].off), text=" + ".join, name="off"),
            *self._failing(),
            Column("with it on", lambda row: per_1000(row[1].failed_twins, row[1].runs), number=True),
            Column(None, lambda row: row[1].failed_twins, name="failing_with_it_on"),
            Column(None, lambda row: [[one.fault_class, one.level] for one in conditions_of(row[0])], name="where"),
            Column("by class, per 1,000 seeds", lambda row: _classes_words(row[1])),
            Column(None, _classes, name="classes"),
            _twins("redelivered per 1,000 (on)", "redelivered_per_1000", redelivered_per_1000),
            _twins("latest, ms (on)", "latest_ms", lambda result: result.mean(Cost.LATE)),
            _twins("overtaken per 1,000 seeds (on)", "overtaken_per_1000", _overtaken_per_1000),
            Column("verdict", lambda row: self._verdict(row[0])),
            Column(None, lambda row: list(detected(study, row[0])), name="detected"),
            Column(None, lambda row: list(dearer(study, row[0])), name="dearer"),
            Column(None, lambda row: {str(seed): text for seed, text in row[1].problems.items()}, name="problems"),
        ]

    def _verdict(self, ablation: Ablation) -> str:
        classes, costs = detected(self.study, ablation), dearer(self.study, ablation)
        words = [f"detected: {', '.join(classes)}"] if classes else []
        words += [f"dearer: {', '.join(costs)}"] if costs else []
        return "; ".join(words) or ("too few seeds" if self._is_short(ablation) else "not detected")

    def sentences(self) -> Iterator[str]:
        for ablation, result in self.study.rows.items():
            if detected(self.study, ablation):
                continue
            names = watched(ablation.engine)
            found = [result.difference(name) for name in names]
            worse, better = sum(one.more for one in found), sum(one.fewer for one in found)
            hole = "too few seeds, a hole in the tests, or the mechanism is not needed"
            if self._is_short(ablation):
                hole = f"too few seeds, since a table of this size takes at least {self.study.least_seeds} a row"
            seen = f"worse in {worse} and better in {better} comparisons"
            yield f"{ablation.name}, {counted(result.runs, 'seed')}: {seen}: {hole}."

    def _is_short(self, ablation: Ablation) -> bool:
        return self.study.rows[ablation].runs < self.study.least_seeds


def _twins(
    heading: str, name: str, value: Callable[[RowResult], tuple[float, float]]
) -> Column[tuple[Ablation, RowResult]]:
    """Return the column of a number without the mechanism and, in parentheses, with it."""

    def values(row: _Row) -> dict[str, float]:
        return dict(zip(("off", "on"), value(row[1]), strict=True))

    return Column(heading, values, text=lambda both: f"{both['off']:,.0f} ({both['on']:,.0f})", name=name)


def _overtaken_per_1000(result: RowResult) -> tuple[float, float]:
    off, on = result.mean(Cost.OVERTAKEN)
    return 1000 * off, 1000 * on


def _classes(row: _Row) -> dict[str, dict[str, float]]:
    ablation, result = row
    found = {name: result.difference(name) for name in watched(ablation.engine)}
    return {
        str(name): {
            "failing": result.failing_runs(name),
            "worse": one.more,
            "better": one.fewer,
            "chance_of_worse": one.chance_of_more,
        }
        for name, one in found.items()
        if result.failing_runs(name) or one.fewer
    }


def _classes_words(result: RowResult) -> str:
    return "; ".join(_class_words(result, name) for name in result.failing) or "none"


def _class_words(result: RowResult, name: str) -> str:
    """Return how many runs fail with the class, and the conditions under which most of them do."""
    failing = result.failing[name]
    worst = max(failing, key=lambda conditions: failing[conditions])
    return f"{name} {per_1000(result.failing_runs(name), result.runs)} ({worst.fault_class}, {worst.level})"


def run_ablations(
    ablations: Sequence[Ablation],
    *,
    seeds: range,
    out: Path | None,
    runs: Path,
    where: Where = HERE,
    command: str = "zonelab ablate",
) -> AblationReport:
    """Run ``ablations`` in a folder below ``runs``, and write their page to ``out``. Raises ``OSError``."""
    pairs = ablation_pairs(ablations, seeds=seeds)
    return AblationReport.of_pairs(pairs, runs=runs, command=command, out=out, where=where)
