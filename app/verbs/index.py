"""``zonelab index``: the page and the JSON file of a folder of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.run_index.findings import Status
from zonelab.analysis.run_index.index import JSON_NAME, Index, read_index
from zonelab.analysis.run_index.many_runs import ManyRuns
from zonelab.analysis.run_index.page import write_index
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.many_runs.recorded import counted, digest_of, result_files
from zonelab.studies.reporting.console import console, print_rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Indexed:
    """An index that was written."""

    index: Index
    page: Path

    def to_json(self) -> dict[str, Any]:
        return {"page": str(self.page), "json": str(self.page.with_name(JSON_NAME)), **self.index.to_json()}

    def print(self) -> None:
        found = self.index.findings
        if found:
            print_rows(
                ("finding", "class", "scenario", "in its runs", "runs since"),
                (
                    (
                        one.status,
                        one.name,
                        " ".join(filter(None, (one.experiment.scenario, one.experiment.level, one.experiment.setting))),
                        f"{one.hits:,} of {one.runs:,}",
                        f"{one.since:,}" + (f", {one.needed:,} more would tell" if one.needed else ""),
                    )
                    for one in found
                ),
                (),
            )
        out, index = console(), self.index
        still = sum(one.status not in (Status.RESOLVED, Status.NOT_SEEN) for one in found)
        out.print(
            f"{len(index.runs):,} runs, {index.read:,} of them read now; {len(index.many):,} folders of many runs; "
            f"{len(index.evaluations):,} evaluations; "
            f"{still:,} findings open, {len(index.broken):,} runs broken.",
            highlight=False,
            soft_wrap=True,
        )
        for line in index.broken[:5]:
            out.print(f"broken: {line.place}: {line.problem}", highlight=False, soft_wrap=True)
        out.print(str(self.page), highlight=False, soft_wrap=True)


def index_runs(folder: Path) -> Indexed:
    """Read what is in ``folder`` and write its page. Raises ``NotAccepted`` if nothing is there, and ``OSError``."""
    index = read_index(folder, _many)
    if not (index.runs or index.many or index.evaluations):
        raise NotAccepted(f"{folder}: no run, hunt or evaluation in it; accepted: a folder as --dir of zonelab run")
    return Indexed(index=index, page=write_index(index))


def _many(folder: Path, known: Mapping[str, ManyRuns]) -> Sequence[ManyRuns]:
    found = []
    for path in result_files(folder):
        place, digest = path.relative_to(folder).as_posix(), digest_of(path)
        one = known.get(place)
        if one is None or one.digest != digest:
            one = counted(path, place=place, digest=digest)
        if one is not None:
            found.append(one)
    return found
