"""Every setting with each of the same seeds: what sweeps and searches for limits have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from zonelab.analysis.observation import Observation
from zonelab.analysis.whole_files import write_json
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.task import RunTask
from zonelab.studies.many_runs.where import Where
from zonelab.studies.sweep.settings import Setting, identities, own_functions


class ResultRow(Protocol):
    """Row of what was found about one setting."""

    def to_json(self) -> dict[str, Any]: ...


RowOf = TypeVar("RowOf", bound=ResultRow)


@dataclass(frozen=True, kw_only=True)
class SettingsResult(ABC, Generic[RowOf]):
    """The result, a row a setting.

    ``complete`` is False if it was interrupted. ``known``: so many runs, or searches, were made before.
    """

    scenario: str
    directory: Path
    command: str
    seeds: range
    environment: Mapping[str, str]
    rows: tuple[RowOf, ...]
    known: int
    complete: bool

    @property
    @abstractmethod
    def problems(self) -> list[str]:
        """Return what came of no seed, and why."""

    @property
    def exit_code(self) -> int:
        """0, or 2 if it was interrupted."""
        return 0 if self.complete else 2

    @abstractmethod
    def print(self) -> None: ...

    def to_json(self) -> dict[str, Any]:
        return {
            "scenario": self.scenario,
            "command": self.command,
            "seeds": {"first": self.seeds.start, "count": len(self.seeds)},
            "complete": self.complete,
            "known": self.known,
            "environment": dict(self.environment),
            "settings": [row.to_json() for row in self.rows],
            "directory": str(self.directory),
        }


def every_setting(
    settings: Sequence[Setting],
    seeds: Sequence[int],
    *,
    verb: str,
    measure: Callable[[tuple[int, int]], Observation],
    beside: str,
    forecast: str | None,
    unit: str = "runs",
) -> Experiment[tuple[int, int]]:
    """Return the experiment that makes every setting with each of ``seeds``.

    ``measure`` gets the number of a setting and a seed. ``beside``: what decides results besides the settings.
    """
    return Experiment(
        verb=verb,
        name=settings[0].scenario.name,
        measure=measure,
        tasks=[RunTask(setting.name, seed, (index, seed)) for seed in seeds for index, setting in enumerate(settings)],
        decided_by=(*identities(settings), beside),
        factories=own_functions(settings),
        forecast=forecast,
        unit=unit,
    )


ResultOf = TypeVar("ResultOf", bound=SettingsResult[Any])


def conducted(
    experiment: Experiment[tuple[int, int]],
    result: Callable[..., ResultOf],
    rows: Callable[[AllRuns], Sequence[ResultRow]],
    *,
    seeds: range,
    runs: Path,
    command: str,
    where: Where,
) -> ResultOf:
    """Conduct ``experiment`` in its folder below ``runs``, and write the ``result`` into ``<verb>.json`` there.

    Raises as ``Experiment.conduct``.
    """
    directory = experiment.directory(runs)
    done = experiment.conduct(directory, where=where)
    found = result(
        scenario=experiment.name,
        directory=directory,
        command=command,
        seeds=seeds,
        environment=experiment.environment.parts,
        rows=rows(done),
        known=done.known,
        complete=done.complete,
    )
    write_json(directory / f"{experiment.verb}.json", found.to_json())
    return found
