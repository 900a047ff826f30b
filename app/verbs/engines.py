"""``zonelab engines SCENARIO``: one scenario under every engine, in each of its modes, as one table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.verdict import observed
from zonelab.analysis.observation import Observation
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.engine_table import compared_table
from zonelab.app.verbs.run import RunResult, perform, run_command
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.arms import Arm, On, ZoneKind
from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.scenarios.run.simulated import NullWatcher
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.reading import identity_of, load_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.study_report import StudyReport
from zonelab.studies.many_runs.task import RunTask
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.footer import without_verdict
from zonelab.studies.reporting.forecast import forecast
from zonelab.studies.reporting.report_table import ReportTable


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineRun:
    """Result of the scenario under one engine: a run, or why the engine does not fit the scenario."""

    engine: str
    mode: str
    performed: RunResult | None = None
    refused: str | None = None

    @property
    def result(self) -> Result | None:
        return self.performed.result if self.performed is not None else None

    def to_json(self) -> dict[str, Any]:
        run = self.performed.to_json() if self.performed is not None else None
        return {"engine": self.engine, "mode": self.mode, "refused": self.refused, "run": run}


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineComparison(StudyReport):
    """One scenario under all engines."""

    title: str
    rows: tuple[EngineRun, ...]

    _TITLE = "Engines side by side"
    _PAGE = "docs/engines.md"

    def tables(self, *, beside: Path | None = None) -> Sequence[ReportTable[Any]]:
        rows = [(run.engine, run.mode, run.result) for run in self.rows if run.refused is None]
        return [compared_table(rows, title=self.title)]

    def sentences(self) -> Iterator[str]:
        for run in self.rows:
            if run.refused is not None:
                yield f"left out: {run.engine}, {run.mode}: {run.refused}"
            elif run.result is not None and (lacking := run.result.lacking_means):
                classes = ", ".join(lacking)
                yield f"{run.engine}, {run.mode}: not judged, for lack of means: {classes}"
        yield from without_verdict(self.problems, file=self.file)
        for run in self.rows:
            if run.performed is not None:
                yield f"{run.engine}, {run.mode}: {run.performed.directory}"

    def _results(self) -> dict[str, Any]:
        return {"scenario": self.name, "rows": [run.to_json() for run in self.rows]}


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineMeasure:
    """Makes a run whose directory stays below ``runs``; one that is not simulated is made on ``zones``."""

    zones: ZoneKind
    runs: Path

    def __call__(self, scenario_and_command: tuple[Scenario, str]) -> Observation:
        """Raises ``ClusterError`` if the lab failed, ``KeyboardInterrupt`` if the run was asked to end."""
        scenario, command = scenario_and_command
        done = perform(scenario, zones=self.zones, runs=self.runs, shown=NullWatcher(), command=command)
        if done.record.status == "interrupted":
            raise KeyboardInterrupt
        if done.result is None:
            raise ClusterError(f"{done.record.error}; see {done.directory / 'lab.log'}")
        trace_hash = getattr(RunDirectory.open(done.directory).info, "trace_hash", "")
        return observed(done.result.verdict, trace_hash=trace_hash, directory=done.directory)


def compare_engines(
    source: str,
    *,
    level: Level | None,
    on: On | None,
    seed: int | None,
    overrides: Sequence[str],
    runs: Path,
    command: Callable[..., str],
    where: Where = HERE,
) -> EngineComparison:
    """Run ``source`` once for every engine and mode, all with one seed. ``command``: the command line with more words.

    An engine that a rule of the scenario refuses is left out, with the reason. Raises ``ScenarioError`` if that is so
    of all, ``NotAccepted`` if the scenario has no queue, or real servers were asked for in several places at once; and
    as ``Experiment.conduct``.
    """
    given = [*([f"level={level}"] if level else []), *([f"seed={seed}"] if seed is not None else [])]
    given += [f"arm={on.arm}"] if on is not None else []
    cases = [
        _EngineCase(source, engine, mode, overrides, given) for engine, one in ENGINES.items() for mode in one.modes
    ]
    fitting = [(case, case.scenario) for case in cases if case.scenario is not None]
    if not fitting:
        raise ScenarioError(cases[0].problems)
    first = fitting[0][1]
    if first.workload is not None:
        raise NotAccepted(f"{source}: has a workload ({first.workload.kind}) and no queue; accepted: one with a queue")
    if first.arm is not Arm.SIM and where != HERE:
        raise NotAccepted("--jobs and --master need --on sim: real servers are run one after another")
    zones = (on or On.PROCESS).zones
    scenarios = [scenario for _, scenario in fitting]

    experiment = Experiment(
        verb="engines",
        name=first.name,
        measure=EngineMeasure(zones=zones, runs=runs),
        tasks=[case.task(scenario, zones=zones, runs=runs) for case, scenario in fitting],
        decided_by=(zones, *map(identity_of, scenarios)),
        factories=[name for scenario in scenarios for name in scenario.own_functions],
        forecast=forecast(scenarios),
    )
    title = f"{first.name}, {first.level}, seed {first.seed}, one run each"
    words = [source, "--level", first.level, "--seed", str(first.seed), *(["--on", on] if on is not None else [])]
    return EngineComparison.of(
        experiment,
        lambda done, _: {"title": title, "rows": tuple(_rows(cases, done))},
        runs=runs,
        command=command(*words),
        where=where,
    )


def _rows(cases: Sequence["_EngineCase"], done: AllRuns) -> Iterator[EngineRun]:
    """Yield the engines that are left out, and those that have a run, which is read from its directory."""
    for case in cases:
        if case.scenario is None:
            yield EngineRun(engine=case.engine, mode=case.mode, refused=case.problems[0])
        elif (one := done.results.get((case.name, case.scenario.seed))) is not None:
            performed = RunResult.kept(Path(one.directory), case.scenario)
            yield EngineRun(engine=case.engine, mode=case.mode, performed=performed)


class _EngineCase:
    """The scenario under one engine. ``problems``: why it cannot be run; empty if it can."""

    def __init__(self, source: str, engine: str, mode: str, overrides: Sequence[str], given: Sequence[str]) -> None:
        self.engine, self.mode = engine, mode
        self._source, self._overrides = source, [*overrides, *_of_mode(engine, mode)]
        self.scenario: Scenario | None = None
        self.problems: tuple[str, ...] = ()
        try:
            self.scenario = load_scenario(source, overrides=[*self._overrides, *given])
        except ScenarioError as error:
            self.problems = error.lines

    @property
    def name(self) -> str:
        return f"{self.engine} {self.mode}"

    def task(self, scenario: Scenario, *, zones: ZoneKind, runs: Path) -> RunTask[tuple[Scenario, str]]:
        command = run_command(self._source, scenario, zones=zones, overrides=self._overrides, runs=runs)
        return RunTask(self.name, scenario.seed, (scenario, command))


def _of_mode(engine: str, mode: str) -> list[str]:
    return [
        f"queue.engine={engine}",
        f"queue.mode={'default' if mode == 'compat' else mode}",
        f"queue.compat={str(mode == 'compat').lower()}",
    ]
