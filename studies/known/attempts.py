"""Attempts at a known failure: runs of its scenario in its arm, at versions of the queue and without its fault."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic

from zonelab.analysis.checkers.verdict import observed
from zonelab.analysis.observation import Observation
from zonelab.analysis.summary.result import Result
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.arms import Arm, ZoneKind
from zonelab.scenarios.faults.guests import ProgramKill
from zonelab.scenarios.guests.environments import used_environment
from zonelab.scenarios.guests.guest import load_guest
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.run.simulated import NullWatcher, run_in_sim
from zonelab.scenarios.spec.reading import identity_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.known.failure import KnownFailure
from zonelab.studies.known.rows import MeasuredRow
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.task import RunTask
from zonelab.studies.many_runs.where import HERE, Where

HIT = "hit"
TOOK_S = "took_s"
"""Numbers of a run: 1 if all faults of programs found their commands, which is not said of a run without such faults,
and seconds from its begin to its verdict.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptSetting:
    """A version of the queue, with the fault or without, at a level and on so many zones, or at the scenario's own."""

    version: str
    control: bool = False
    level: str | None = None
    zones: int | None = None

    @property
    def name(self) -> str:
        """Return the version and what else is said."""
        zones = None if self.zones is None else f"{self.zones} zones"
        return " ".join(filter(None, (self.version, "control" if self.control else None, self.level, zones)))


def settings_of(
    failure: KnownFailure, *, version: str | None, control: bool, level: str | None, zones: int | None = None
) -> list[AttemptSetting]:
    """Return the settings that a command line asks for: without ``version``, all those of a row of the table."""
    affected = AttemptSetting(version=version or failure.affected, control=control, level=level, zones=zones)
    if version is not None or control:
        return [affected]
    newest = [replace(affected, version=failure.newest)] if failure.newest != failure.affected else []
    return [affected, *newest, replace(affected, control=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptMeasure:
    """Makes a run in a folder of its own below ``runs`` and returns what it showed."""

    runs: Path
    command: str

    def __call__(self, subject: tuple[str, Scenario]) -> Observation:
        setting, scenario = subject
        begin_s = monotonic()
        folder = self.runs / setting.replace(" ", "-").replace("/", "_")
        make = run_in_sim if scenario.arm is Arm.SIM else partial(run_on_servers, kind=ZoneKind.PROCESS)
        directory, record = make(scenario, runs=folder, watcher=NullWatcher(), command=self.command)
        if record.status == "interrupted":
            raise KeyboardInterrupt
        if record.status != "complete":
            raise ClusterError(f"{record.error}; see {directory / 'lab.log'}")
        verdict = Result.examined(directory, title=scenario.level).verdict
        strikes = [strike for one in record.programs.values() for strike in one.get("strikes", ())]
        hit = {HIT: float(all(strike.get("hit") for strike in strikes))} if strikes else {}
        numbers = {**hit, TOOK_S: monotonic() - begin_s}
        return replace(observed(verdict, directory=directory), numbers=numbers)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempts:
    """Results of the attempts at ``failure``: a row for each setting, and why runs have no result."""

    failure: KnownFailure
    rows: Sequence[MeasuredRow]
    problems: Sequence[str]
    complete: bool
    known: int


def attempt_failure(
    failure: KnownFailure,
    settings: Sequence[AttemptSetting],
    *,
    seeds: range,
    runs: Path,
    command: str,
    where: Where = HERE,
) -> Attempts:
    """Make the runs of ``settings`` with ``seeds`` that an earlier invocation has not made. Ctrl-C ends it.

    Raises ``ClusterError`` if an environment cannot be made, ``ScenarioError``, ``OSError``.
    """
    scenarios, decided_by = {}, []
    for one in settings:
        base = failure.run_of(one.version, control=one.control, level=one.level, zones=one.zones)
        scenarios[one.name] = base
        decided_by.append(f"{one.name}: {identity_of(base)}")
    experiment = Experiment(
        verb="known",
        name=failure.name,
        measure=AttemptMeasure(runs=runs / failure.name / "known", command=command),
        tasks=[
            RunTask(name, seed, (name, base.model_copy(update={"seed": seed})))
            for seed in seeds
            for name, base in scenarios.items()
        ],
        decided_by=decided_by,
        note=_invalid,
    )
    with ExitStack() as used:  # over all runs: nobody removes what the next one needs
        for program in (program for base in scenarios.values() for program in base.programs.values()):
            if program.guest is not None:
                used.enter_context(used_environment(load_guest(program.guest), version=program.version))
        done = experiment.conduct(experiment.directory(runs), where=where)
    found = done.by_setting()
    rows = [_row(failure, one, scenarios[one.name], found[one.name]) for one in settings if one.name in found]
    return Attempts(failure=failure, rows=rows, problems=done.broken, complete=done.complete, known=done.known)


def _invalid(runs: int, last: Observation | None) -> str:
    """Return how many have an invalid verdict, which is another thing than to show the failure."""
    return f"{runs:,} invalid"


def _row(
    failure: KnownFailure, setting: AttemptSetting, scenario: Scenario, observations: Mapping[int, Observation]
) -> MeasuredRow:
    judged = [one for one in observations.values() if one.valid is not None]
    aimed = any(isinstance(fault, ProgramKill) for fault in scenario.faults)
    hit = [one for one in judged if one.numbers.get(HIT, not aimed)]
    failing = [one for one in hit if any(one.counts.get(str(name)) for name in failure.shows)]
    decided = [one for one in hit if one.valid != "unknown" or one in failing]
    took_s = sorted(one.numbers[TOOK_S] for one in judged)
    return MeasuredRow(
        failure=failure.name,
        queue=failure.queue,
        version=setting.version,
        control=setting.control,
        level=str(scenario.level),
        zones=len(scenario.zones),
        runs=len(decided),
        failing=len(failing),
        undecided=len(judged) - len(decided),
        hit=len(hit) if aimed else None,
        took_s=round(took_s[len(took_s) // 2], 1) if took_s else 0.0,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
    )
