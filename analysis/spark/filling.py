"""The columns of the tables of ``zonelab.analysis.tables``, in SQL, and the adding of runs to them.

Each table has a row an operation, message, run, fault, or count; ``run_id`` says of which run. Every executor writes
what it has made; only the one row a run of ``verdicts`` passes through the driver.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.settings import settings_of
from zonelab.analysis.spark import classes
from zonelab.analysis.spark.counts import count_query
from zonelab.analysis.spark.inputs import RunInput
from zonelab.analysis.spark.order.counts import OrderCount, order_counts
from zonelab.analysis.spark.order.queries import PROPERTIES
from zonelab.analysis.tables.folder import TABLES, RunEntry, TableFolder

OPERATIONS = """
    SELECT r.run_id, o.index, o.zone, o.f, o.type, o.second, o.error, o.latency_ns
    FROM operations o JOIN runs r ON r.run = o.run
"""

MESSAGES = """
    SELECT r.run_id, m.message_id, n.name AS shard, m.due_ms, m.pushed, m.push_ok, m.push_doubtful,
           (r.epoch_ns + m.acked_ns) DIV 1000000 AS acked_ms, m.deliveries, d.lateness_ms,
           coalesce(c.classes, array()) AS classes
    FROM messages m
    JOIN runs r ON r.run = m.run
    LEFT JOIN names n ON n.code = m.shard
    LEFT JOIN (SELECT run, message_id, max(lateness_ms) AS lateness_ms FROM classified GROUP BY run, message_id) d
      ON d.run = m.run AND d.message_id = m.message_id
    LEFT JOIN (
        SELECT run, message_id, array_sort(collect_set(class)) AS classes FROM cases GROUP BY run, message_id
    ) c ON c.run = m.run AND c.message_id = m.message_id
"""

FAULTS = """
    SELECT r.run_id, f.fault, f.kind, f.target, f.begin_ns, max(f.end_ns) AS end_ns, max(f.detail) AS detail
    FROM faults f JOIN runs r ON r.run = f.run
    GROUP BY r.run_id, f.fault, f.kind, f.target, f.begin_ns
"""

LATENCY_COUNTS = f"""
    SELECT r.run_id, c.* EXCEPT (run) FROM ({count_query("run", "f", "zone", "second")}) c JOIN runs r ON r.run = c.run
"""

_QUERIES = {
    "operations": OPERATIONS,
    "messages": MESSAGES,
    "faults": FAULTS,
    "latency_counts": LATENCY_COUNTS,
}


def chances_column(name: str) -> str:
    """Opportunities to break a property."""
    return f"{name}_chances"


_VERDICTS = pa.schema(
    [
        ("run_id", pa.string()),
        ("place", pa.string()),
        ("seed", pa.int64()),
        ("status", pa.string()),
        ("valid", pa.string()),
        ("forbidden", pa.list_(pa.string())),
        *((name, pa.int64()) for name in (*classes.TOTALS, *classes.CLASSES)),
        *((column, pa.int64()) for name in PROPERTIES for column in (name, chances_column(name))),
    ]
)


def fill(session: SparkSession, runs: Sequence[RunInput], folder: TableFolder) -> None:
    """Add ``runs``, of which the session has the views (``zonelab.analysis.spark.queries``), to the tables."""
    counts = {row["place"]: row.asDict() for row in session.sql("SELECT * FROM run_counts").collect()}
    order = order_counts(session, runs)
    with folder.staging() as staging:
        for table, query in _QUERIES.items():
            rows = session.sql(query).withColumn("part", sf.col("run_id"))
            rows.write.partitionBy("part").option("compression", "zstd").parquet(str(staging / table))
        for run in runs:
            row = _verdict(run, counts[run.place], order.get(run.place, {}))
            _write_verdict(_part(staging, "verdicts", run), row)
        for run in runs:
            folder.add(_entry(run), {table: sorted(_part(staging, table, run).glob("*.parquet")) for table in TABLES})


def _part(staging: Path, table: str, run: RunInput) -> Path:
    return staging / table / f"part={run.run_id}"


def _entry(run: RunInput) -> RunEntry:
    info = run.directory.info
    return RunEntry(
        run_id=run.run_id,
        place=run.place,
        scenario=info.scenario,
        level=info.level,
        settings=settings_of(run.directory),
        files={},
    )


def _verdict(run: RunInput, counts: Mapping[str, Any], order: Mapping[str, OrderCount]) -> dict[str, Any]:
    """``order``: of a run with ordered messages; what Spark does not judge of it is as its checker left it."""
    info = run.directory.info
    broken, known_order = _order_of(run, order) if order else (False, True)
    judged = {name: counts[name] or 0 for name in (*classes.TOTALS, *classes.CLASSES)}
    forbidden = [str(name) for name in info.forbid if name not in info.not_judged]
    known = info.status == "complete" and run.directory.final_state_known and not info.unread_zones and known_order
    known = known and not judged[MessageClass.UNSERVED]
    if broken or any(judged.get(name, 0) for name in forbidden):
        valid = "invalid"
    else:
        valid = "valid" if known and judged["pushed"] else "unknown"
    row = {"run_id": run.run_id, "place": run.place, "seed": info.seed, "status": info.status, "valid": valid}
    found = {name: one.cases for name, one in order.items()}
    chances = {chances_column(name): one.chances for name, one in order.items()}
    return {**row, "forbidden": forbidden, **judged, **found, **chances}


def _order_of(run: RunInput, order: Mapping[str, OrderCount]) -> tuple[bool, bool]:
    """Return whether a forbidden property is broken, and whether all are known."""
    try:
        checked = run.directory.read_json("verdict.json")["sections"]["order"]
    except (KeyError, RunError):
        return any(one.cases for one in order.values()), False
    cases = {**checked["counts"], **{name: one.cases for name, one in order.items()}}
    return any(cases[name] for name in checked["forbid"]), checked["valid"] != "unknown"


def _write_verdict(folder: Path, row: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([row], schema=_VERDICTS), folder / "verdict.parquet", compression="zstd")
