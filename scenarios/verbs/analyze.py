"""The Spark step: aggregates over runs, and whether they say what the checker said of each run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from analysis.spark.pipeline import Aggregates, OperationFigures, aggregate
from analysis.spark.session import JavaMissing, SparkFailed
from scenarios.terminal.console import milliseconds
from scenarios.terminal.run_table import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class SparkStep:
    """``aggregates`` is None if Spark could not run; ``problem`` then says why. ``disagreements``: one line each."""

    aggregates: Aggregates | None = None
    problem: str | None = None
    disagreements: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        if self.aggregates is None:
            return f"Spark aggregation left out: {self.problem}"
        if self.disagreements:
            return f"Spark and the checker disagree: {'; '.join(self.disagreements)}"
        events = sum(row.invoke for row in self.aggregates.operations)
        return f"Spark aggregated {events:,} operations of the runs and agrees with the checker in every count."

    def to_json(self) -> dict[str, Any]:
        levels = [asdict(row) for row in self.aggregates.levels] if self.aggregates else None
        return {"levels": levels, "problem": self.problem, "disagreements": list(self.disagreements)}


def spark_step(results: Sequence[Result]) -> SparkStep:
    """Aggregate the runs of ``results`` on this machine, if it has a Java."""
    try:
        aggregates = aggregate([result.directory for result in results])
    except (JavaMissing, SparkFailed) as error:
        return SparkStep(problem=str(error))
    return SparkStep(aggregates=aggregates, disagreements=tuple(disagreements(aggregates, results)))


def disagreements(aggregates: Aggregates, results: Sequence[Result]) -> list[str]:
    """Every count of a level that the checker has otherwise, summed over the level's runs."""
    found = []
    for row in aggregates.levels:
        checked: Counter[str] = Counter()
        for result in results:
            if result.summary.level == row.level:
                checked.update(asdict(result.verdict.totals))
                checked.update(result.verdict.counts)
        for name, count in {**row.totals, **row.counts}.items():
            if count != checked[name]:
                found.append(f"{row.level} {name}: Spark {count:,}, checker {checked[name]:,}")
    return found


def level_table(aggregates: Aggregates) -> Table:
    table = Table(title="messages", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    for level in aggregates.levels:
        table.add_column(f"{level.level} ({level.runs} run{'s' if level.runs != 1 else ''})", justify="right")
    rows = [{**level.totals, **level.counts} for level in aggregates.levels]
    for name in rows[0] if rows else ():
        table.add_row(name, *(f"{row[name]:,}" for row in rows))
    return table


def operation_table(aggregates: Aggregates) -> Table:
    headings = ("level", "operation", "zone", "ok", "fail", "info", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms")
    table = Table(title="operations", title_justify="left", show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in headings[:3] else "right")
    for row in aggregates.operations:
        table.add_row(
            row.level, row.f, row.zone, *(f"{count:,}" for count in (row.ok, row.fail, row.info)), *_latencies(row)
        )
    return table


def _latencies(row: OperationFigures) -> list[str]:
    latency_ms: Mapping[str, float] = row.latency_ms
    return [milliseconds(latency_ms.get(name)) for name in ("p50", "p90", "p99", "p999")]
