"""Runs on real servers whose medians are held against simulated ones: by ``--confirm`` and ``measure-service``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zonelab.analysis.comparison.confirmation import medians_ms
from zonelab.analysis.observation import Observation
from zonelab.analysis.summary.cautions import cautions_about_medians
from zonelab.analysis.summary.result import Result
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.scenarios.run_phases import Watcher
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.evaluate.one_run import measured_times
from zonelab.studies.reporting.progress import Display

OVERLOADED = "overloaded"
"""Samples of a real run: the zones whose consumers could not keep up."""


class RealRunsEnded(Exception):
    """Real zones cannot be run any more. ``failure``: why; None if the user asked."""

    def __init__(self, failure: str | None = None) -> None:
        super().__init__(failure)
        self.failure = failure


class RunReal(Protocol):
    """Makes a run on servers, with the parameters of ``zonelab.scenarios.run.on_servers.run_on_servers``."""

    def __call__(
        self, scenario: Scenario, *, kind: ZoneKind, runs: Path, watcher: Watcher, command: str
    ) -> tuple[Path, RunRecord]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RealRuns:
    """Makes such runs. ``runs``: where their directories are made. ``command``: what they were made by."""

    on: ZoneKind
    runs: Path
    command: str
    run_real: RunReal = run_on_servers

    def make(self, scenario: Scenario, *, title: str, shown: Display) -> Observation:
        """Make a run whose numbers are medians in ms; its problem is what must be said of the machine.

        Raises ``RealRunsEnded``, ``OSError``.
        """
        found = _measured(self.made(scenario, title=title, shown=shown), title=scenario.level)
        shown.done("measured" if found.problem is None else "busy machine")
        return found

    def made(self, scenario: Scenario, *, title: str, shown: Display) -> Path:
        """Make a run and return its directory, before ``shown`` has its end. Raises ``RealRunsEnded``, ``OSError``."""
        shown.begin(title)
        directory, record = self.run_real(scenario, kind=self.on, runs=self.runs, watcher=shown, command=self.command)
        if record.status != "complete":
            shown.done(record.status)
            reason = f"{record.error}; see {directory / 'lab.log'}"
            raise RealRunsEnded(None if record.status == "interrupted" else reason)
        return directory


def _measured(directory: Path, *, title: str) -> Observation:
    """Return what a run has to say of its times. Raises ``RunError``."""
    result = Result.examined(directory, title=title)
    return Observation(
        numbers=medians_ms(measured_times(directory)),
        samples={OVERLOADED: [one.zone for one in result.summary.overloaded]},
        problem=" ".join(cautions_about_medians([result])) or None,
        directory=str(directory),
    )
