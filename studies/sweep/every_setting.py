"""Every setting with each of the same seeds: what sweeps and searches for limits have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from zonelab.analysis.observation import Observation
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.task import Task
from zonelab.studies.sweep.settings import Setting, identities, own_functions


class ToldRow(Protocol):
    """What was found of one setting."""

    def to_json(self) -> dict[str, Any]: ...


RowOf = TypeVar("RowOf", bound=ToldRow)


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
        """What came of no seed, and why."""

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
        tasks=[Task(setting.name, seed, (index, seed)) for seed in seeds for index, setting in enumerate(settings)],
        decided_by=(*identities(settings), beside),
        factories=own_functions(settings),
        forecast=forecast,
        unit=unit,
    )
