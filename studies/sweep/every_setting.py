"""Every setting with each of the same seeds, going on with what is there: what sweeps and searches for limits share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from zonelab.analysis.observation import Observation
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.run_all import IN_THIS_PROCESS, AllRuns, run_all
from zonelab.studies.many_runs.state import RESULTS_NAME, RunState
from zonelab.studies.many_runs.task import Task, Workers
from zonelab.studies.sweep.settings import Setting, environment_of, experiment_of


class ToldRow(Protocol):
    """What was found of one setting."""

    def to_json(self) -> dict[str, Any]: ...


RowOf = TypeVar("RowOf", bound=ToldRow)


@dataclass(frozen=True, kw_only=True)
class Found(ABC, Generic[RowOf]):
    """What was found, a row a setting.

    ``complete`` is False if it was broken off. ``known``: so many runs, or searches, were there before.
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


FoundBy = TypeVar("FoundBy", bound=Found[Any])


@dataclass(frozen=True, kw_only=True)
class EverySetting(ABC, Generic[FoundBy]):
    """``verb``: names directories and files. ``unit``: what is made of a setting and a seed, as progress counts it.

    ``found``: the class of what is told.
    """

    verb: ClassVar[str]
    unit: ClassVar[str]
    found: ClassVar[Callable[..., Any]]
    settings: tuple[Setting, ...]

    @property
    @abstractmethod
    def made(self) -> Callable[[tuple[int, int]], Observation]:
        """Of the number of a setting and a seed; a worker gets it."""

    @property
    @abstractmethod
    def beside(self) -> str:
        """What decides, beside the settings, what comes of a seed."""

    @abstractmethod
    def rows(self, done: AllRuns) -> tuple[ToldRow, ...]: ...

    @abstractmethod
    def forecast(self, seeds: int) -> str | None:
        """What will be made, if it takes long."""

    @property
    def scenario(self) -> str:
        return self.settings[0].scenario.name

    def environment(self) -> Environment:
        return environment_of(self.settings)

    def experiment(self) -> str:
        """Differs whenever a setting or what comes of a seed does."""
        return experiment_of(self.settings, self.beside)

    def state(self, directory: Path, environment: Environment, *, name: str = RESULTS_NAME) -> RunState:
        """Raises ``OSError``, or ``NotAccepted`` if another program writes there."""
        return RunState(directory / name, environment=environment, experiment=self.experiment())

    def run(
        self,
        seeds: Sequence[int],
        *,
        environment: Environment,
        state: RunState,
        workers: Workers = IN_THIS_PROCESS,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> AllRuns:
        """Every setting with each of ``seeds`` that ``state`` does not have yet. Raises ``ManyRunsFailed``."""
        tasks = [
            Task(setting.name, seed, (index, seed)) for seed in seeds for index, setting in enumerate(self.settings)
        ]
        return run_all(self.made, tasks, workers=workers, environment=environment, state=state, progress=progress)
