"""One run from scenario to report: the servers' part, real or simulated, then the analysis of what they left."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.settings import used_words
from zonelab.analysis.stages import Stage, unheard
from zonelab.analysis.summary.narrative import narrative
from zonelab.analysis.summary.result import Result
from zonelab.app.monitor.after_run import NOT_JUDGED, Ending
from zonelab.app.monitor.run_page import RunPage
from zonelab.app.verbs.check import Illustrations, illustrate, print_result
from zonelab.app.verbs.lens import lens_contents
from zonelab.scenarios.arms import Arm, On, Recording, ZoneKind
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.run.simulated import run_in_sim
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.scenarios.run_phases import Watcher
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.footer import command_line, repeated


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """A run and what the analysis made of it.

    ``result`` is None if the lab failed, or the run was interrupted before its load: there is nothing to judge then.
    """

    scenario: Scenario
    directory: Path
    record: RunRecord
    command: str
    result: Result | None
    illustrations: Illustrations

    @classmethod
    def kept(cls, directory: Path, scenario: Scenario) -> "RunResult":
        """Return the complete run in ``directory``, as it was left there. Raises ``RunError``."""
        run = RunDirectory.open(directory)
        return cls(
            scenario=scenario,
            directory=directory,
            record=RunRecord(),
            command=run.info.command,
            result=Result.recorded(run),
            illustrations=Illustrations.kept(directory),
        )

    @property
    def words(self) -> str:
        """The verdict in one word, or else how the run ended."""
        return self.record.status if self.result is None else self.result.words

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.directory),
            "scenario": self.scenario.name,
            "level": self.scenario.level,
            "seed": self.scenario.seed,
            "status": self.record.status,
            "error": self.record.error,
            "valid": self.result.verdict.valid if self.result else None,
            "sentences": narrative([self.result]) if self.result else [],
            "verdict": self.result.verdict.to_json() if self.result else None,
            "summary": self.result.summary.to_json() if self.result else None,
            "plots": [str(path) for path in self.illustrations.plots],
            "report": str(self.illustrations.report) if self.illustrations.report else None,
            "problem": self.illustrations.problem,
            "command": self.command,
        }

    @property
    def ending(self) -> Ending:
        """The run as its live page tells it at the end."""
        if self.result is None:
            return replace(NOT_JUDGED, word=self.words)
        report = self.illustrations.report
        return Ending(
            word=self.words,
            sentences=narrative([self.result]),
            report=None if report is None else str(report),
            html=None if report is None else report.read_text(encoding="utf-8"),
        )

    def print(self) -> None:
        if self.result is not None:
            print_result(self.result, title=f"{self.scenario.name}, {used_words(RunDirectory.open(self.directory))}")
        print_lines(*map(str, (self.directory, *self.illustrations.paths)))
        if self.illustrations.problem:
            print_lines(self.illustrations.problem)
        print_lines("", *self._closer, repeated(self.command))

    @property
    def _closer(self) -> list[str]:
        """Return the command that shows the first message with which something forbidden happened."""
        verdict = None if self.result is None else self.result.verdict
        cases = [] if verdict is None else [case for name in verdict.violated for case in verdict.cases.get(name, ())]
        names = [case.message_id for case in cases if case.message_id]
        return (
            [f"Look closer with: {command_line(['zonelab', 'lens', str(self.directory), names[0]])}"] if names else []
        )


def perform(
    scenario: Scenario,
    *,
    zones: ZoneKind,
    runs: Path,
    shown: Watcher,
    command: str,
    make_queue: MakeQueue = queue_under_test,
    page: RunPage | None = None,
    stage: Stage = unheard,
    recording: Recording | None = None,
) -> RunResult:
    """Run on ``scenario.arm``, check, draw; ``zones``, ``page`` and ``recording`` are for real servers.

    ``stage`` hears how far the check and the drawing are.

    Raises ``OSError`` if the run directory cannot be written.
    """
    make = partial(
        _performed,
        scenario,
        zones=zones,
        runs=runs,
        shown=shown,
        command=command,
        make_queue=make_queue,
        stage=stage,
        recording=recording,
    )
    if page is None:
        return make(page=None)
    ending = NOT_JUDGED
    try:
        done = make(page=page)
        ending = done.ending
    finally:
        page.end(ending)
    return done


def _performed(
    scenario: Scenario,
    *,
    zones: ZoneKind,
    runs: Path,
    shown: Watcher,
    command: str,
    make_queue: MakeQueue,
    page: RunPage | None,
    stage: Stage,
    recording: Recording | None,
) -> RunResult:
    if scenario.arm is Arm.SIM:
        directory, record = run_in_sim(scenario, runs=runs, watcher=shown, command=command, make_queue=make_queue)
    else:
        directory, record = run_on_servers(
            scenario,
            kind=zones,
            runs=runs,
            watcher=shown,
            command=command,
            make_queue=make_queue,
            page=page,
            recording=recording,
        )
    watchers: list[Watcher] = [shown] if page is None else [shown, page]
    result, illustrations = None, Illustrations()
    if record.status != "failed" and record.phases:
        for watcher in watchers:
            watcher.phase("check", None)
        result = Result.examined(directory, title=scenario.level, stage=stage)
        for watcher in watchers:
            watcher.phase("plots", None)
        illustrations = illustrate(directory, lenses=lens_contents, stage=stage)
    return RunResult(
        scenario=scenario,
        directory=directory,
        record=record,
        command=command,
        result=result,
        illustrations=illustrations,
    )


def run_command(
    source: str,
    scenario: Scenario,
    *,
    zones: ZoneKind,
    overrides: Sequence[str],
    runs: Path,
    recording: Recording | None = None,
) -> str:
    """The command line that repeats a run: everything that decides it is spelled out."""
    words = ["zonelab", "run", source, "--level", scenario.level, "--on", On.of(scenario.arm, zones)]
    words += ["--seed", str(scenario.seed), *(["--record", recording] if recording is not None else [])]
    return command_line(words, overrides=overrides, runs=runs)
