"""The figures of a run whose clients used no queue: the verdict's numbers and the latency of every operation."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.queue_summary import ALL_ZONES, OperationSummary, checked, operation_summaries


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessSummary:
    """``summary.json`` of such a run; fields as in ``zonelab.analysis.summary.queue_summary.Summary``."""

    run_id: str
    scenario: str
    level: str
    seed: int
    status: str
    valid: bool | str
    counts: Mapping[str, int]
    operations: tuple[OperationSummary, ...]

    def operation(self, f: str, zone: str = ALL_ZONES) -> OperationSummary | None:
        return next((row for row in self.operations if (row.f, row.zone) == (f, zone)), None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def summarise_accesses(run: Path) -> AccessSummary:
    """Write ``summary.json`` of the run in ``run``; check the run first if it has no verdict. Raises ``RunError``."""
    directory = RunDirectory.open(run)
    verdict, info = checked(directory), directory.info
    summary = AccessSummary(
        run_id=directory.name,
        scenario=info.scenario,
        level=info.level,
        seed=info.seed,
        status=info.status,
        valid=verdict.valid,
        counts=verdict.counts,
        operations=operation_summaries(directory),
    )
    directory.write_json("summary.json", summary.to_json())
    return summary
