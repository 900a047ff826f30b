"""Results of a sweep as tables on the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from zonelab.analysis.number_text import NONE, counted, digits, estimate, percent, share_interval
from zonelab.studies.many_runs.study_report import StudyReport
from zonelab.studies.reporting.footer import without_verdict
from zonelab.studies.reporting.report_table import Column, ReportTable
from zonelab.studies.sweep.one_run import DUPLICATES, QUANTILES
from zonelab.studies.sweep.rows import SweepEstimate, SweepRow
from zonelab.studies.sweep.settings import lines_of


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepResult(StudyReport):
    """A table of the settings, a row each, and one of how each differs from the first."""

    rows: tuple[SweepRow, ...]

    _TITLE = "Settings side by side"
    _PAGE = "docs/sweeps.md"

    def tables(self, *, beside: Path | None = None) -> Sequence[ReportTable[SweepRow]]:
        operations = _operations(self.rows)
        every = ReportTable(columns=[*_KNOWN, *_numbers(operations)], rows=self.rows)
        if len(self.rows) == 1:
            return [every]
        title = f"Difference to {self.rows[0].setting}, seed by seed"
        changed = [row for row in self.rows if row.difference is not None]
        return [every, ReportTable(title=title, columns=[*_CHANGED, *_numbers(operations, signed=True)], rows=changed)]

    def sentences(self) -> Iterator[str]:
        runs, messages = sum(row.runs for row in self.rows), sum(row.messages for row in self.rows)
        unit = "message" if any(DUPLICATES in row.numbers for row in self.rows) else "operation"
        seeds = f"the seeds {self.seeds.start} to {self.seeds.stop - 1}"
        yield f"{counted(runs, 'run')} with {seeds}, {counted(messages, unit)}."
        yield "Times and duplicates are of a run as a whole, with 95 % intervals: medians, of duplicates the mean."
        yield from without_verdict(self.problems, file=self.file)

    def _results(self) -> dict[str, Any]:
        return {"scenario": self.name, "settings": [row.to_json() for row in self.rows]}


def _operations(rows: Sequence[SweepRow]) -> list[str]:
    """Return what has percentiles, in the order in which the runs tell it."""
    names = dict.fromkeys(name.rpartition(" ") for row in rows for name in row.numbers)
    return list(dict.fromkeys(of for of, _, quantile in names if quantile in QUANTILES))


def _failing(row: SweepRow) -> str:
    share = f"{row.failing} of {row.judged}\n{share_interval(row.failing, row.judged)}" if row.judged else NONE
    return f"{share}\n{len(row.undecided)} undecided" if row.undecided else share


def _cases(row: SweepRow) -> str:
    cases = "\n".join(f"{name} {count:,} ({row.runs_with[name]})" for name, count in row.cases.items())
    return cases or ("none" if row.runs else NONE)


def _more(row: SweepRow) -> str:
    share = None if row.difference is None else row.difference.share
    return NONE if share is None else estimate(share.value, share.interval, partial(percent, signed=True), "\n{}")


def _numbers(operations: Sequence[str], *, signed: bool = False) -> Iterator[Column[SweepRow]]:
    """Yield a column of duplicates and one of each operation; ``signed``: of the difference to the first setting."""

    words = partial(digits, signed=signed)

    def values(row: SweepRow) -> Mapping[str, SweepEstimate]:
        return row.numbers if not signed else row.difference.numbers if row.difference is not None else {}

    def duplicates(row: SweepRow) -> str:
        one = values(row).get(DUPLICATES)
        return NONE if one is None else estimate(one.value, one.interval, words, "\n{}")

    def times(of: str, row: SweepRow) -> str:
        found = [values(row)[f"{of} {name}"] for name in QUANTILES if f"{of} {name}" in values(row)]
        return "\n".join(estimate(one.value, one.interval, words) for one in found) or NONE

    yield Column("duplicates a message", duplicates)
    yield from (Column(f"{of} p50, p99 ms", partial(times, of)) for of in operations)


_NAME = Column[SweepRow]("setting", lambda row: lines_of(row.setting))
_KNOWN = (
    _NAME,
    Column[SweepRow]("runs", lambda row: row.runs, number=True),
    Column("failing (95 %)", _failing),
    Column("cases (runs with)", _cases),
)
_CHANGED = (_NAME, Column("failing (95 %)", _more))
