"""The Spark step: aggregates over runs, and whether they say what the checker said of each run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.live import LiveTables
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.extras import Extra, is_installed, missing
from zonelab.studies.reporting.console import error_console

if TYPE_CHECKING:
    from zonelab.analysis.spark.aggregates import Aggregates
    from zonelab.analysis.spark.following.follower import SoFar


@dataclass(frozen=True, kw_only=True, slots=True)
class SparkStep:
    """``aggregates`` is None if Spark could not run; ``problem`` then says why. ``disagreements``: one line each."""

    aggregates: "Aggregates | None" = None
    problem: str | None = None
    disagreements: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return what became of the aggregation, in one line."""
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
    """Aggregate the runs of ``results`` on this machine, if it has Spark and a Java."""
    if not is_installed(Extra.SPARK):
        return SparkStep(problem=f"it {missing(Extra.SPARK)}")
    from zonelab.analysis.spark.pipeline import aggregate
    from zonelab.analysis.spark.session import JavaMissing, SparkFailed

    try:
        aggregates = aggregate([result.directory for result in results])
    except (JavaMissing, SparkFailed) as error:
        return SparkStep(problem=str(error))
    return SparkStep(aggregates=aggregates, disagreements=tuple(disagreements(aggregates, results)))


def disagreements(aggregates: "Aggregates", results: Sequence[Result]) -> list[str]:
    """Every count that the checker has otherwise, summed over all runs."""
    checked: Counter[str] = Counter()
    for result in results:
        checked.update(asdict(result.verdict.totals))
        checked.update(result.verdict.counts)
    spark: Counter[str] = Counter()
    for row in aggregates.settings:
        spark.update({**row.totals, **row.counts, **{name: one.cases for name, one in row.order.items()}})
    return [
        f"{name}: Spark {spark[name]:,}, checker {checked[name]:,}" for name in spark if spark[name] != checked[name]
    ]


def followed(
    given: Sequence[str], *, master: str, out: Path | None, strict: bool, settings: Mapping[str, str]
) -> "Aggregates":
    """Return the aggregates once none of the runs goes on any more; show them on stderr until then."""
    from zonelab.analysis.spark.following.follow import follow
    from zonelab.analysis.spark.inputs import is_remote
    from zonelab.app.terminal.so_far import so_far_line, so_far_tables

    if out is None:
        raise NotAccepted("--follow: needs --out DIR, which keeps what is counted so far")
    if remote := [one for one in given if is_remote(one)]:
        raise NotAccepted(f"--follow: got {remote[0]}; accepted: runs of this machine, which can be seen to end")
    with LiveTables(error_console()) as live:

        def watch(runs: "Sequence[SoFar]") -> None:
            live.show((part for run in runs for part in so_far_tables(run)), map(so_far_line, runs))

        return follow(given, out=out, watch=watch, master=master, strict=strict, settings=settings)
