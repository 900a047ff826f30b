"""The checker of runs whose clients used registers, sets, locks, counters or lists: one verdict from every rule.

It works from the run directory alone. It holds the operations of the run in memory (about 1.5 kB each); the search
for a linearization has a budget of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.exclusion import check_counters, check_lists, check_locks
from zonelab.analysis.checkers.consistency.findings import AccessFindings
from zonelab.analysis.checkers.consistency.linear import SearchBudget
from zonelab.analysis.checkers.consistency.registers import (
    by_key,
    check_divergence,
    check_linearizability,
    check_values,
)
from zonelab.analysis.checkers.consistency.section import ConsistencySection
from zonelab.analysis.checkers.consistency.sessions import check_sessions
from zonelab.analysis.checkers.consistency.sets import check_sets
from zonelab.analysis.checkers.consistency.staleness import check_staleness
from zonelab.analysis.number_text import counted
from zonelab.analysis.runs.accesses import Access, AccessRun, FinalContents, accesses, held
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.workloads import WorkloadKind

ANOMALIES_NAME = "anomalies.parquet"

ANOMALIES = pa.schema(
    [
        pa.field("anomaly", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("zone", pa.string()),
        pa.field("ops", pa.list_(pa.int64()), nullable=False),  # op_id of the operations that show it
        pa.field("detail", pa.string(), nullable=False),
    ]
)


def check_accesses(run: AccessRun) -> ConsistencySection:
    """Check a run that is in memory; nothing is written."""
    return _section(run, _findings(run))


def check_access_files(directory: RunDirectory) -> ConsistencySection:
    """Check the run in ``directory``; write ``anomalies.parquet`` there. Raises ``RunError``."""
    findings = _findings(directory)
    section = _section(directory, findings)
    rows = [
        {"anomaly": str(name), "key": case.key, "zone": case.zone, "ops": list(case.ops), "detail": case.detail}
        for name, cases in findings.all.items()
        for case in cases
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=ANOMALIES), directory.path / ANOMALIES_NAME)
    return section


def _findings(run: AccessRun) -> AccessFindings:
    workload = run.info.workload
    return AccessFindings(not_judged=[] if workload is None else list(map(Anomaly, workload.unstated)))


def _section(run: AccessRun, findings: AccessFindings) -> ConsistencySection:
    workload = run.info.workload
    assert workload is not None, "a run of a queue has nothing to check here"
    kind = WorkloadKind(workload.kind)
    done, at_rest = accesses(run), held(run)
    _check(kind, done, at_rest, findings, SearchBudget(configurations=workload.budget_configurations))
    counts = findings.counts(Anomaly)
    return ConsistencySection(
        forbid=workload.forbid,
        counts=counts,
        cases=findings.first(Anomaly),
        not_judged=findings.not_judged,
        doubts=tuple(_doubts(run.info, done, at_rest, counts)),
        workload=kind,
        operations=_tally(done),
        shares=findings.shares,
        staleness=findings.staleness,
        figures=findings.figures,
        counterexamples=tuple(findings.counterexamples),
    )


def _check(
    kind: WorkloadKind,
    done: Iterable[Access],
    at_rest: FinalContents | None,
    findings: AccessFindings,
    budget: SearchBudget,
) -> None:
    keys = by_key(done)
    if kind is WorkloadKind.REGISTER:
        check_linearizability(keys, findings, budget=budget)
        check_values(keys, at_rest, findings)
        check_staleness(keys, findings)
        check_sessions(keys, findings)
    elif kind is WorkloadKind.SET:
        check_sets(keys, at_rest, findings)
    elif kind is WorkloadKind.LOCK:
        check_locks(keys, at_rest, findings)
    elif kind is WorkloadKind.COUNTER:
        check_counters(keys, findings)
    else:
        check_lists(keys, at_rest, findings)
    if at_rest is not None:
        check_divergence(at_rest, findings)


def _tally(done: Iterable[Access]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for access in done:
        found[access.f][access.type] += 1
    return {f: {kind: counts[kind] for kind in ("ok", "fail", "info")} for f, counts in sorted(found.items())}


def _doubts(info: RunInfo, done: list[Access], at_rest: FinalContents | None, counts: dict[str, int]) -> Iterator[str]:
    if info.doubt is not None:
        yield info.doubt
    for zone in info.unread_zones:
        yield f"the end state of zone {zone} could not be read"
    if at_rest is None and info.workload is not None and info.workload.end_state:
        yield "no end state was recorded"
    if not info.drained and info.status == "complete":
        yield "some operations had not ended, or some zones were not reached again, when the end state was read"
    if counts[Anomaly.UNDECIDED]:
        undecided = counted(counts[Anomaly.UNDECIDED], "key")
        yield f"{undecided} too costly to decide; workload.budget_configurations is the limit"
    if not any(access.ok for access in done):
        yield "nothing was done"
