"""Counts of broken properties of ordered messages, five of them, by run: what ``zonelab analyze`` says of order."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME
from zonelab.analysis.runs.order_rules import OrderRules
from zonelab.analysis.spark.aggregates import OrderFigures
from zonelab.analysis.spark.inputs import RunInput
from zonelab.analysis.spark.order.queries import KEPT, PROPERTIES, VIEWS
from zonelab.analysis.spark.session import kept
from zonelab.analysis.spark.views import optional_table, small_table

_RUNS = pa.schema(
    [("run", pa.int32()), ("by_key", pa.bool_()), ("zones", pa.int64()), ("at_rest", pa.bool_())],
)


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderCount:
    """Cases of a property, and opportunities to break it; without an opportunity it is not exercised."""

    cases: int
    chances: int


def order_counts(session: SparkSession, runs: Sequence[RunInput]) -> Mapping[str, Mapping[str, OrderCount]]:
    """By place of those of ``runs`` that have a table of order, and by property."""
    having = [run for run in runs if run.files(ORDER_NAME)]
    if not having:
        return {}
    create_order_views(session, having)
    counts: dict[str, dict[str, OrderCount]] = defaultdict(dict)
    for row in session.sql("SELECT * FROM order_counts").collect():
        counts[having[row["run"]].place][row["property"]] = OrderCount(cases=row["cases"], chances=row["chances"])
    return counts


def order_figures(runs: Iterable[Mapping[str, OrderCount]]) -> Mapping[str, OrderFigures]:
    """The counts of ``runs`` added up, by property; nothing if there is no run."""
    counted = list(runs)
    return {
        name: OrderFigures(
            cases=sum(run[name].cases for run in counted),
            chances=sum(run[name].chances for run in counted),
            runs_with=sum(run[name].cases > 0 for run in counted),
            runs=len(counted),
        )
        for name in PROPERTIES
        if counted
    }


def create_order_views(session: SparkSession, runs: Sequence[RunInput], views: Mapping[str, str] = VIEWS) -> None:
    """Make the tables of order of ``runs``, each of which has one, and ``views`` of them known to ``session``."""
    rows = [(number, *_run_row(run)) for number, run in enumerate(runs)]
    small_table(session, rows, _RUNS).createOrReplaceTempView("order_runs")
    by_number = dict(enumerate(runs))
    at_rest = {number: run for number, run in by_number.items() if _read_at_rest(run)}
    optional_table(session, by_number, ORDER_NAME, _of_runs(ORDER)).createOrReplaceTempView("order_history")
    optional_table(session, at_rest, FINAL_ORDER_NAME, _of_runs(FINAL_ORDER)).createOrReplaceTempView("order_rest")
    for name, query in views.items():
        view = session.sql(query)
        (kept(view) if name in KEPT else view).createOrReplaceTempView(name)


def _run_row(run: RunInput) -> tuple[bool, int, bool]:
    info = run.directory.info
    rules = info.order or OrderRules()
    return rules.unit == "key", max(len(info.zone_names), 1), _read_at_rest(run)


def _read_at_rest(run: RunInput) -> bool:
    return (run.directory.path / f"{FINAL_ORDER_NAME}.parquet").exists()


def _of_runs(schema: pa.Schema) -> pa.Schema:
    """``schema`` as Spark reads it, with the run of each row."""
    plain = [pa.field(one.name, pa.string() if pa.types.is_dictionary(one.type) else one.type) for one in schema]
    return pa.schema([pa.field("run", pa.int32()), *plain])
