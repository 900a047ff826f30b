"""Figures of runs that are in the tables already, as sums of the counts that Spark has left there."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.spark import classes
from zonelab.analysis.spark.aggregates import Aggregates, Row, SettingFigures, delivery_figures, operation_figures
from zonelab.analysis.spark.filling import chances_column
from zonelab.analysis.spark.groups import grouped_settings
from zonelab.analysis.spark.inputs import LeftOut
from zonelab.analysis.spark.order.counts import OrderCount, order_figures
from zonelab.analysis.spark.order.queries import PROPERTIES
from zonelab.analysis.tables.folder import RunEntry, TableFolder

COUNTS = pa.schema(
    [
        *((name, pa.string()) for name in ("setting", "f", "zone", "measure", "type", "error", "cause")),
        *((name, pa.bool_()) for name in ("first", "early")),
        *((name, pa.int64()) for name in ("bucket", "cases", "largest_ns")),
    ]
)
_KEYS = [name for name in COUNTS.names if name not in ("cases", "largest_ns")]


def aggregates_of(folder: TableFolder, run_ids: Sequence[str], left_out: Mapping[str, LeftOut]) -> Aggregates:
    """The figures of ``run_ids``, all of which must be in the tables. Raises ``RunError``."""
    entries = folder.entries()
    names, differs = grouped_settings([entries[run_id].settings for run_id in run_ids])
    setting_of = dict(zip(run_ids, names, strict=True))
    counted = _counted(folder, setting_of, entries)
    return Aggregates(
        operations=tuple(operation_figures(counted)),
        settings=tuple(_settings(folder, setting_of, counted)),
        differs=differs,
        left_out=left_out,
    )


def _counted(folder: TableFolder, setting_of: Mapping[str, str], entries: Mapping[str, RunEntry]) -> list[Row]:
    """Rows of counts by setting, f and zone, sorted; the seconds of all runs are never held at once."""
    run_ids, settings = pa.array(setting_of.keys(), pa.string()), pa.array(setting_of.values(), pa.string())
    counted, seen = COUNTS.empty_table(), Counter[str]()
    for batch in _batches(folder, "latency_counts"):
        mine = batch.filter(pc.is_in(batch["run_id"], value_set=run_ids))
        operations = mine.filter(pc.equal(mine["measure"], "operation"))
        for row in operations.group_by("run_id").aggregate([("cases", "sum")]).to_pylist():
            seen[row["run_id"]] += row["cases_sum"]
        named = mine.append_column("setting", settings.take(pc.index_in(mine["run_id"], value_set=run_ids)))
        counted = added(pa.concat_tables([counted, named.select(COUNTS.names).cast(COUNTS)]))
    _must_be_counted_once(folder, {run_id: entries[run_id].rows("operations") for run_id in setting_of}, seen)
    rows: list[Row] = counted.sort_by([(key, "ascending") for key in _KEYS[:3]]).to_pylist()
    return rows


def added(counts: pa.Table) -> pa.Table:
    """Rows of ``COUNTS`` of which some are alike, added up."""
    sums = counts.group_by(_KEYS).aggregate([("cases", "sum"), ("largest_ns", "max")])
    return sums.rename_columns([*_KEYS, "cases", "largest_ns"]).select(COUNTS.names).cast(COUNTS)


def _must_be_counted_once(folder: TableFolder, expected: Mapping[str, int], seen: Mapping[str, int]) -> None:
    """Two tables have the number of events of a run: whoever merged counts twice, or lost a file, is found here."""
    for run_id, events in expected.items():
        if seen.get(run_id, 0) != events:
            raise RunError(
                f"{folder.path}: run {run_id} has {events:,} events in operations and {seen.get(run_id, 0):,} in "
                "latency_counts: it was counted twice, or in part"
            )


def _settings(folder: TableFolder, setting_of: Mapping[str, str], counted: Sequence[Row]) -> Iterator[SettingFigures]:
    runs: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for batch in _batches(folder, "verdicts"):
        for row in batch.to_pylist():
            if row["run_id"] in setting_of:
                runs[setting_of[row["run_id"]]][row["run_id"]] = row
    for setting, rows in sorted(runs.items()):
        yield SettingFigures(
            setting=setting,
            runs=len(rows),
            totals={name: sum(row[name] for row in rows.values()) for name in classes.TOTALS},
            counts={name: sum(_cases(row, name) for row in rows.values()) for name in classes.CLASSES},
            runs_with={name: sum(_cases(row, name) > 0 for row in rows.values()) for name in classes.CLASSES},
            delivery=delivery_figures(one for one in counted if one["setting"] == setting),
            order=order_figures(filter(None, map(_order_of, rows.values()))),
        )


def _cases(row: Mapping[str, Any], name: str) -> int:
    """The number of cases of the class ``name``; 0 if the zonelab that added the run did not know the class."""
    return row.get(name) or 0


def _order_of(row: Mapping[str, Any]) -> Mapping[str, OrderCount]:
    """Nothing of a run without ordered messages, or of one that an older zonelab added."""
    return {
        name: OrderCount(cases=row[name], chances=row[chances_column(name)])
        for name in PROPERTIES
        if row.get(name) is not None
    }


def _batches(folder: TableFolder, table: str) -> Iterator[pa.Table]:
    for path in folder.files(table):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield pa.Table.from_batches([batch])
