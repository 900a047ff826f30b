"""``zonelab demo``: one crash, three consistency levels, the same load, one table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonelab.analysis.summary.narrative import narrative
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import result_table
from zonelab.app.verbs.check import Illustrations, compare
from zonelab.app.verbs.run import RunResult, perform, run_command
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC
from zonelab.scenarios.arms import On
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.reporting.console import print_lines, print_table
from zonelab.studies.reporting.footer import command_line, repeated
from zonelab.studies.reporting.progress import Display

if TYPE_CHECKING:
    from zonelab.app.verbs.analyze import SparkStep

SCENARIO = "zone-crash"


@dataclass(frozen=True, kw_only=True, slots=True)
class Demo:
    """The runs of a demo, in the order of the levels."""

    runs: tuple[RunResult, ...]
    together: Illustrations
    spark: "SparkStep | None"
    command: str

    @property
    def stopped(self) -> RunResult | None:
        """The first run that is not complete."""
        return next((run for run in self.runs if run.record.status != "complete"), None)

    @property
    def results(self) -> list[Result]:
        return [run.result for run in self.runs if isinstance(run.result, Result)]

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": [run.to_json() for run in self.runs],
            "conclusion": narrative(self.results),
            "plots": [str(path) for path in self.together.plots],
            "report": str(self.together.report) if self.together.report else None,
            "spark": self.spark.to_json() if self.spark else None,
            "command": self.command,
        }

    def print(self) -> None:
        if self.results:
            first = self.runs[0]
            print_table(result_table(self.results, title=f"{SCENARIO}, seed {first.scenario.seed}: {_faults(first)}"))
            print_lines("", *narrative(self.results))
        if self.spark:
            print_lines(self.spark.words)
        print_lines("", *(f"{label:<15} {_short(path)}" for label, path in self._files()), "", repeated(self.command))

    def _files(self) -> Iterator[tuple[str, Path]]:
        """Yield where to look, with a label in front of the first line of each run."""
        for run in self.runs:
            yield run.scenario.level, run.directory
            if run.illustrations.plots:
                yield "", run.illustrations.plots[0].parent / "*.png"
            if run.illustrations.report:
                yield "", run.illustrations.report
        for index, path in enumerate(self.together.paths):
            yield "side by side" if index == 0 else "", path


def run_demo(*, on: On, seed: int | None, runs: Path) -> Demo:
    """Stops after the first run that does not complete."""
    performed = []
    given = [f"arm={on.arm}"] + ([f"seed={seed}"] if seed is not None else [])
    scenarios = [load_scenario(SCENARIO, overrides=[f"level={level}", *given]) for level in LEVELS_OF_ONE_DC]
    with Display() as shown:
        shown.announce("demo", scenarios)
        for scenario in scenarios:
            shown.begin(f"{scenario.level:<14}")
            command = run_command(SCENARIO, scenario, zones=on.zones, overrides=(), runs=runs)
            performed.append(
                perform(scenario, zones=on.zones, runs=runs, shown=shown, stage=shown.stage, command=command)
            )
            shown.done(performed[-1].words)
            if performed[-1].record.status != "complete":
                break
        together = _compare(performed, runs)
        spark = _spark(performed, shown)
    command = _command(on, performed[0].scenario.seed, runs)
    return Demo(runs=tuple(performed), together=together, spark=spark, command=command)


def _compare(performed: Sequence[RunResult], runs: Path) -> Illustrations:
    """Plots over all levels, in a folder named after the first run: ``runs/demo/<UTC time>``."""
    results = [run.result for run in performed if isinstance(run.result, Result)]
    if len(results) < 2:
        return Illustrations()
    return compare(results, runs / "demo" / results[0].directory.name.partition("-")[0])


def _spark(performed: Sequence[RunResult], shown: Display) -> "SparkStep | None":
    if any(run.record.status != "complete" for run in performed):
        return None
    from zonelab.app.verbs.analyze import spark_step  # loads Spark

    shown.begin(f"{'Spark':<14}")
    shown.phase("aggregate", None)
    step = spark_step([run.result for run in performed if isinstance(run.result, Result)])
    shown.done("agrees" if step.aggregates and not step.disagreements else "see below")
    return step


def _short(path: Path) -> Path:
    """Return the path relative to the working directory, if it lies below."""
    here, whole = Path.cwd(), path.absolute()
    return whole.relative_to(here) if whole.is_relative_to(here) else whole


def _faults(run: RunResult) -> str:
    return ", ".join(f"{fault.kind} at {fault.at_s:g} s for {fault.for_s:g} s" for fault in run.scenario.faults)


def _command(on: On, seed: int, runs: Path) -> str:
    return command_line(["zonelab", "demo", "--on", on, "--seed", str(seed)], runs=runs)
