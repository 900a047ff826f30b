"""``zonelab index``: the page and the JSON file of a folder of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zonelab.analysis.number_text import counted
from zonelab.analysis.run_index.findings import Finding, Status
from zonelab.analysis.run_index.index import JSON_NAME, Index, read_index
from zonelab.analysis.run_index.many_runs import ManyRuns
from zonelab.analysis.run_index.page import write_index
from zonelab.analysis.stages import Stage, unheard
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.many_runs import recorded
from zonelab.studies.many_runs.recorded import digest_of, result_files
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.report_table import Column, ReportTable


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexResult:
    """An index that was written."""

    index: Index
    page: Path

    def to_json(self) -> dict[str, Any]:
        return {"page": str(self.page), "json": str(self.page.with_name(JSON_NAME)), **self.index.to_json()}

    def print(self) -> None:
        found, index = self.index.findings, self.index
        if found:
            ReportTable(columns=_COLUMNS, rows=found).print()
        still = sum(one.status not in (Status.RESOLVED, Status.NOT_SEEN, Status.EXPECTED) for one in found)
        print_lines(
            f"{counted(len(index.runs), 'run')}, {index.read:,} of them read now; "
            f"{len(index.many):,} folders of many runs; {counted(len(index.evaluations), 'evaluation')}; "
            f"{counted(still, 'finding')} open, {counted(len(index.broken), 'run')} broken.",
            *(f"broken: {line.place}: {line.problem}" for line in index.broken[:5]),
            str(self.page),
        )


def _experiment(one: Finding) -> str:
    return " ".join(filter(None, (one.experiment.scenario, one.experiment.level, one.experiment.setting)))


_COLUMNS = (
    Column[Finding]("finding", lambda one: one.status),
    Column[Finding]("class", lambda one: one.name),
    Column("scenario", _experiment),
    Column[Finding]("in its runs", lambda one: f"{one.hits:,} of {one.runs:,}"),
    Column[Finding]("look at", lambda one: one.example),
    Column[Finding](
        "runs since", lambda one: f"{one.since:,}" + (f", {one.needed:,} more would tell" if one.needed else "")
    ),
)


def index_runs(folder: Path, *, stage: Stage = unheard) -> IndexResult:
    """Read what is in ``folder`` and write its page. Raises ``NotAccepted`` if nothing is there, ``OSError``, and
    ``RunError`` if ``expected.yaml`` is wrong.
    """
    index = read_index(folder, _many, today=datetime.now(UTC).date(), stage=stage)
    if not (index.runs or index.many or index.evaluations):
        raise NotAccepted(f"{folder}: no run, hunt or evaluation in it; accepted: a folder as --dir of zonelab run")
    return IndexResult(index=index, page=write_index(index))


def _many(folder: Path, known: Mapping[str, ManyRuns]) -> Sequence[ManyRuns]:
    found = []
    for path in result_files(folder):
        place, digest = path.relative_to(folder).as_posix(), digest_of(path)
        one = known.get(place)
        if one is None or one.digest != digest:
            one = recorded.counted(path, place=place, digest=digest)
        if one is not None:
            found.append(one)
    return found
