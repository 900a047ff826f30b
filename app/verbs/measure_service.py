"""``zonelab measure-service``: how long this machine works on a command, as ``simulation.service`` takes it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from zonelab.analysis.comparison.confirmation import MedianPair, Typical, medians_ms, pairs_of
from zonelab.analysis.comparison.work import CommandWork, fitted
from zonelab.analysis.number_text import counted
from zonelab.analysis.observation import Observation
from zonelab.cluster.wiring.settings import Links
from zonelab.scenarios.arms import Arm, ZoneKind
from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.rules import problems
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.simulation import StationSection
from zonelab.studies.evaluate.one_run import measured
from zonelab.studies.evaluate.real_run import RealRuns, RealRunsEnded
from zonelab.studies.evaluate.rollout import pushes
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.progress import Display
from zonelab.studies.reporting.report_table import Column, ReportTable

LAG = "constant:2ms"
"""Each hop is a timer, as in runs whose links take milliseconds; constant, so that medians hardly differ by run."""

QUIET = 2
"""Runs on a machine that was not busy, at least: fewer tell nothing of how much they differ."""


Medians = Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredService:
    """``work``: None if fewer than ``QUIET`` runs had a quiet machine. ``complete`` is False after Ctrl-C."""

    scenario: Scenario
    on: ZoneKind
    busy: tuple[Observation, ...]
    runs: tuple[str, ...]
    work: CommandWork | None = None
    without: tuple[MedianPair, ...] = ()
    with_it: tuple[MedianPair, ...] = ()
    failure: str | None = None
    complete: bool = True

    @property
    def coordinator(self) -> str | None:
        """Return the value of ``simulation.service.coordinator``."""
        return None if self.work is None else _text(self.work.value_ms)

    def to_json(self) -> dict[str, Any]:
        work = self.work
        interval = None if work is None else work.interval_ms
        return {
            "zonelab": version("zonelab"),
            "scenario": self.scenario.name,
            "level": str(self.scenario.level),
            "on": str(self.on),
            "lag": LAG,
            "coordinator": self.coordinator,
            "work_ms": None if work is None else work.value_ms,
            "low": None if interval is None else interval.low,
            "high": None if interval is None else interval.high,
            "without": [pair.to_json() for pair in self.without],
            "with": [pair.to_json() for pair in self.with_it],
            "busy": [run.directory for run in self.busy],
            "runs": list(self.runs),
            "complete": self.complete,
            "failure": self.failure,
        }

    def print(self) -> None:
        after = {pair.operation: pair for pair in self.with_it}
        columns = [
            Column[MedianPair]("median of", lambda pair: str(pair.operation)),
            Column[MedianPair]("without it, ms", lambda pair: str(pair.predicted)),
            Column[MedianPair]("measured, ms", lambda pair: str(pair.measured)),
            Column[MedianPair](
                "with it, ms", lambda pair: str(after[pair.operation].predicted) if pair.operation in after else ""
            ),
            Column[MedianPair](
                "then apart", lambda pair: after[pair.operation].difference if pair.operation in after else ""
            ),
        ]
        if self.without:
            ReportTable(columns=columns, rows=self.without).print()
        print_lines(*self.sentences())

    def sentences(self) -> Iterator[str]:
        """Yield what was found, how, and what it does not tell."""
        scenario = self.scenario
        queue = scenario.queue.factory or f"{scenario.queue.engine} in mode {scenario.queue.mode}"
        what = f"{queue} at {scenario.level}, {self.on} zones, links of {LAG}, no fault"
        if self.work is None:
            quiet = len(self.runs) - len(self.busy)
            had = f"{counted(quiet, 'run')} had a quiet machine"
            yield f"Nothing is said of {what}: {had}, at least {QUIET} are needed."
        else:
            yield f"Work on a command: {self.work}, 95 % interval; {self.work.runs} runs of {scenario.name}: {what}."
            yield f"In the scenario: simulation: {{service: {{coordinator: {self.coordinator}}}}}"
            yield "It stands for all that programs, coordinators and servers need beside the lags, on this machine."
        if self.busy:
            yield f"Left out, as the machine was busy: {counted(len(self.busy), 'run')}. {self.busy[0].problem}"
        if not self.complete and self.failure is None:
            yield "Interrupted: the runs so far are taken."


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuringService:
    """``repeats``: real runs, and as many simulated ones each time."""

    scenario: Scenario
    real: RealRuns
    repeats: int

    def run(self) -> MeasuredService:
        """Blocks for all real runs; Ctrl-C ends them. Raises ``OSError``, ``ValueError`` if nothing can be fitted."""
        made, ended = self._made()
        quiet = [run.numbers for run in made if run.problem is None]
        measured = MeasuredService(
            scenario=self.scenario,
            on=self.real.on,
            busy=tuple(run for run in made if run.problem is not None),
            runs=tuple(run.directory for run in made),
            failure=None if ended is None else ended.failure,
            complete=ended is None,
        )
        if len(quiet) < QUIET:
            return measured
        none, unit = self._simulated(None), self._simulated(1.0)
        work = fitted(_typical(none), _typical(unit), quiet)
        with_it = pairs_of(self._simulated(work.value_ms), quiet)
        return replace(measured, work=work, without=pairs_of(none, quiet), with_it=with_it)

    def _made(self) -> tuple[list[Observation], RealRunsEnded | None]:
        """The runs, and why they are not all."""
        found: list[Observation] = []
        planned = [self._seeded(place) for place in range(self.repeats)]
        with Display() as shown:
            shown.announce("measure-service", planned)
            for scenario in planned:
                title = f"{scenario.name} at {scenario.level}, seed {scenario.seed}"
                try:
                    found.append(self.real.make(scenario, title=title, shown=shown))
                except RealRunsEnded as ended:
                    return found, ended
        return found, None

    def _simulated(self, work_ms: float | None) -> list[Medians]:
        """Return the medians of as many runs, with the same seeds."""
        scenarios = (_working(self._seeded(place), work_ms) for place in range(self.repeats))
        return [_medians(scenario.model_copy(update={"arm": Arm.SIM})) for scenario in scenarios]

    def _seeded(self, place: int) -> Scenario:
        return self.scenario.model_copy(update={"seed": self.scenario.seed + place})


def scenario_to_measure(source: str, *, overrides: Sequence[str]) -> Scenario:
    """The scenario of ``source`` on real servers, without its faults, over links of ``LAG``.

    Raises ``ScenarioError``, ``NotAccepted`` if it has no messages.
    """
    given = load_scenario(source, overrides=[*overrides, "arm=sim"])
    if given.workload is not None:
        raise NotAccepted(f"{source}: got a workload of {given.workload.kind}; accepted: a scenario of a queue")
    if not pushes(given):
        raise NotAccepted(f"{source}: load.rate_per_s: got 0; accepted: more than 0, as messages are measured")
    changed = {"faults": (), "evaluate": None, "links": Links(lag=LAG), "arm": Arm.REAL}
    scenario = _working(given.model_copy(update=changed), None)
    if found := problems(scenario):
        raise ScenarioError([f"{source}: {problem.path}: {problem.text}" for problem in found])
    return scenario


def _medians(scenario: Scenario) -> Medians:
    return medians_ms(measured(attempt(scenario)))


def _typical(runs: Sequence[Medians]) -> Medians:
    return {name: Typical.of([run[name] for run in runs if name in run]).value_ms for name in runs[0]}


def _working(scenario: Scenario, work_ms: float | None) -> Scenario:
    """``scenario`` whose coordinators work so long on a command."""
    station = None if work_ms is None else StationSection(time=_text(work_ms))
    service = scenario.simulation.service.model_copy(update={"coordinator": station})
    return scenario.model_copy(update={"simulation": scenario.simulation.model_copy(update={"service": service})})


def _text(work_ms: float) -> str:
    """Two digits, to the microsecond; without an exponent, as lags have none."""
    return f"{float(f'{work_ms:.2g}'):.3f}".rstrip("0").rstrip(".") + "ms"
