"""The Spark step: aggregates over runs, and whether they say what the checker said of each run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from analysis.proportions import proportion_interval
from analysis.spark.aggregates import Aggregates, OperationFigures, SettingFigures
from analysis.spark.inputs import left_out_words
from analysis.spark.pipeline import aggregate
from analysis.spark.session import JavaMissing, SparkFailed
from analysis.summary.result import Result
from scenarios.terminal.console import milliseconds


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
        settings = [asdict(row) for row in self.aggregates.settings] if self.aggregates else None
        return {"settings": settings, "problem": self.problem, "disagreements": list(self.disagreements)}


def spark_step(results: Sequence[Result]) -> SparkStep:
    """Aggregate the runs of ``results`` on this machine, if it has a Java."""
    try:
        aggregates = aggregate([result.directory for result in results])
    except (JavaMissing, SparkFailed) as error:
        return SparkStep(problem=str(error))
    return SparkStep(aggregates=aggregates, disagreements=tuple(disagreements(aggregates, results)))


def disagreements(aggregates: Aggregates, results: Sequence[Result]) -> list[str]:
    """Every count that the checker has otherwise, summed over all runs."""
    checked: Counter[str] = Counter()
    for result in results:
        checked.update(asdict(result.verdict.totals))
        checked.update(result.verdict.counts)
    spark: Counter[str] = Counter()
    for row in aggregates.settings:
        spark.update({**row.totals, **row.counts})
    return [
        f"{name}: Spark {spark[name]:,}, checker {checked[name]:,}" for name in spark if spark[name] != checked[name]
    ]


def words_before(aggregates: Aggregates) -> Iterator[str]:
    """What must be known before the tables are read: what was left out, and what the settings differ in."""
    if aggregates.left_out:
        yield left_out_words(aggregates.left_out.values())
    for left in aggregates.left_out.values():
        yield f"  {left.why}"
    for setting, differs in aggregates.differs.items():
        yield f"{setting}: {differs}" if differs else setting


def message_table(aggregates: Aggregates, *, title: str = "messages") -> Table:
    """A column a setting; of classes also in how many runs there was a case, with its interval if there are several."""
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    for row in aggregates.settings:
        table.add_column(f"{row.setting} ({row.runs} run{'s' if row.runs != 1 else ''})", justify="right")
    first = aggregates.settings[0]
    for name in first.totals:
        table.add_row(name, *(f"{row.totals[name]:,}" for row in aggregates.settings))
    table.add_section()
    for name in first.counts:
        table.add_row(name, *(_cases(row, name) for row in aggregates.settings))
    return table


def _cases(row: SettingFigures, name: str) -> str:
    if row.runs == 1:
        return f"{row.counts[name]:,}"
    share = proportion_interval(row.runs_with[name], row.runs)
    return f"{row.counts[name]:,} in {row.runs_with[name]} runs ({share.low:.1%} to {share.high:.1%})"


def operation_table(aggregates: Aggregates, *, title: str = "operations") -> Table:
    headings = ("setting", "operation", "zone", "ok", "fail", "info", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms")
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in headings[:3] else "right")
    for row in aggregates.operations:
        table.add_row(
            row.setting, row.f, row.zone, *(f"{count:,}" for count in (row.ok, row.fail, row.info)), *_latencies(row)
        )
    return table


def _latencies(row: OperationFigures) -> list[str]:
    latency_ms: Mapping[str, float] = row.latency_ms
    return [milliseconds(latency_ms.get(name)) for name in ("p50", "p90", "p99", "p999")]
