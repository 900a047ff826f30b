"""One check of a run: every checker that has something to judge in it, and the verdict of their sections."""

from pathlib import Path
from typing import Protocol

from zonelab.analysis.checkers.consistency.consistency import check_access_files, check_accesses
from zonelab.analysis.checkers.judgement import VerdictSection
from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.checkers.queue.queue import ROWS_PER_PARTITION, RunTables, check_message_files, check_messages
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.runs.accesses import AccessRun
from zonelab.analysis.runs.directory import ROWS_PER_BATCH, RunDirectory
from zonelab.analysis.stages import Stage, unheard


class RecordedRun(RunTables, AccessRun, Protocol):
    """A run in memory, as all checkers read it."""


def check_recorded(run: RecordedRun) -> Verdict:
    """Check a run that fits into memory; nothing is written."""
    if run.info.workload is not None:
        return Verdict.of(check_accesses(run))
    order = [] if run.info.order is None else [check_order(OrderRun.in_memory(run))]
    return Verdict.of(check_messages(run), *order)


def check(
    run: Path,
    *,
    rows_per_partition: int = ROWS_PER_PARTITION,
    batch_rows: int = ROWS_PER_BATCH,
    stage: Stage = unheard,
) -> Verdict:
    """Check the run in ``run``; write ``verdict.json`` and the tables of its sections there. Raises ``RunError``.

    The verdict does not depend on ``rows_per_partition`` and ``batch_rows``; they trade memory for speed.
    """
    directory = RunDirectory.open(run)
    sections: list[VerdictSection]
    if directory.info.workload is not None:
        sections = [check_access_files(directory)]
    else:
        section = check_message_files(
            directory, rows_per_partition=rows_per_partition, batch_rows=batch_rows, stage=stage
        )
        sections = [section]
    if directory.info.order is not None:
        sections.append(check_order(OrderRun.of(directory)))
    verdict = Verdict.of(*sections)
    directory.write_json("verdict.json", verdict.to_json())
    return verdict
