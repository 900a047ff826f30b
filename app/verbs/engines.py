"""``zonelab engines SCENARIO``: one scenario under every engine, in each of its modes, as one table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.engine_table import compared_table
from zonelab.app.verbs.run import RunResult, perform, run_command
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.arms import On, ZoneKind
from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.reporting.console import print_lines, print_table
from zonelab.studies.reporting.footer import command_line, repeated
from zonelab.studies.reporting.progress import Display


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineRun:
    """Result of the scenario under one engine: a run, or why the engine does not fit the scenario."""

    engine: str
    mode: str
    performed: RunResult | None = None
    refused: str | None = None

    @property
    def result(self) -> Result | None:
        result = self.performed.result if self.performed is not None else None
        return result if isinstance(result, Result) else None

    def to_json(self) -> dict[str, Any]:
        run = self.performed.to_json() if self.performed is not None else None
        return {"engine": self.engine, "mode": self.mode, "refused": self.refused, "run": run}


_NAME_WIDTH = max(len(f"{engine} {mode}") for engine, one in ENGINES.items() for mode in one.modes)


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineComparison:
    """One scenario under all engines; ``command`` makes it again."""

    title: str
    runs: tuple[EngineRun, ...]
    command: str

    @property
    def stopped(self) -> RunResult | None:
        """The first run that is not complete."""
        performed = (run.performed for run in self.runs if run.performed is not None)
        return next((run for run in performed if run.record.status != "complete"), None)

    def to_json(self) -> dict[str, Any]:
        return {"runs": [run.to_json() for run in self.runs], "command": self.command}

    def print(self) -> None:
        rows = [(run.engine, run.mode, run.result) for run in self.runs if run.refused is None]
        print_table(compared_table(rows, title=self.title))
        made = [
            f"{run.engine}, {run.mode}: {run.performed.directory}" for run in self.runs if run.performed is not None
        ]
        print_lines("", *self._notes(), *made, "", repeated(self.command))

    def _notes(self) -> Iterator[str]:
        for run in self.runs:
            if run.refused is not None:
                yield f"left out: {run.engine}, {run.mode}: {run.refused}"
            elif run.result is not None and (lacking := run.result.lacking_means):
                classes = ", ".join(lacking)
                yield f"{run.engine}, {run.mode}: not judged, for lack of means: {classes}"


def compare_engines(
    source: str, *, level: Level | None, on: On | None, seed: int | None, overrides: Sequence[str], runs: Path
) -> EngineComparison:
    """Run ``source`` once for every engine and mode, all with one seed, and stop after a run that does not complete.

    An engine that a rule of the scenario refuses is left out, with the reason. Raises ``ScenarioError`` if that is so
    of all, and ``NotAccepted`` if the scenario has no queue.
    """
    given = [*([f"level={level}"] if level else []), *([f"seed={seed}"] if seed is not None else [])]
    given += [f"arm={on.arm}"] if on is not None else []
    cases = [
        _EngineCase(source, engine, mode, overrides, given) for engine, one in ENGINES.items() for mode in one.modes
    ]
    first = next((case.scenario for case in cases if case.scenario is not None), None)
    if first is None:
        raise ScenarioError(cases[0].problems)
    if first.workload is not None:
        raise NotAccepted(f"{source}: has a workload ({first.workload.kind}) and no queue; accepted: one with a queue")
    zones, found = (on or On.PROCESS).zones, []
    with Display() as shown:
        shown.announce("engines", [case.scenario for case in cases if case.scenario is not None])
        for case in cases:
            found.append(case.run(zones=zones, runs=runs, shown=shown))
            performed = found[-1].performed
            if performed is not None and performed.record.status != "complete":
                break
    return EngineComparison(
        title=_title(first), runs=tuple(found), command=_command(source, first, on, overrides, runs)
    )


class _EngineCase:
    """The scenario under one engine. ``problems``: why it cannot be run; empty if it can."""

    def __init__(self, source: str, engine: str, mode: str, overrides: Sequence[str], given: Sequence[str]) -> None:
        self._source, self._engine, self._mode = source, engine, mode
        self._overrides = [*overrides, *_of_mode(engine, mode)]
        self.scenario: Scenario | None = None
        self.problems: tuple[str, ...] = ()
        try:
            self.scenario = load_scenario(source, overrides=[*self._overrides, *given])
        except ScenarioError as error:
            self.problems = error.lines

    def run(self, *, zones: ZoneKind, runs: Path, shown: Display) -> EngineRun:
        if self.scenario is None:
            return EngineRun(engine=self._engine, mode=self._mode, refused=self.problems[0])
        shown.begin(f"{self._engine} {self._mode}".ljust(_NAME_WIDTH))
        command = run_command(self._source, self.scenario, zones=zones, overrides=self._overrides, runs=runs)
        done = perform(self.scenario, zones=zones, runs=runs, shown=shown, command=command)
        return EngineRun(engine=self._engine, mode=self._mode, performed=done)


def _of_mode(engine: str, mode: str) -> list[str]:
    return [
        f"queue.engine={engine}",
        f"queue.mode={'default' if mode == 'compat' else mode}",
        f"queue.compat={str(mode == 'compat').lower()}",
    ]


def _title(scenario: Scenario) -> str:
    return f"{scenario.name}, {scenario.level}, seed {scenario.seed}, one run each"


def _command(source: str, scenario: Scenario, on: On | None, overrides: Sequence[str], runs: Path) -> str:
    words = ["zonelab", "engines", source, "--level", scenario.level, "--seed", str(scenario.seed)]
    return command_line([*words, *(["--on", on] if on is not None else [])], overrides=overrides, runs=runs)
