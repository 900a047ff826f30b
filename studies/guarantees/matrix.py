"""The guarantee matrix: which violations occur at which level, under which faults, in which mode of the engine.

A cell is run with many seeds, each in simulation and judged in memory. What a seed shows depends on the seed and the
cell alone, so neither the number of processes nor their order changes the result.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.order.properties import FORBIDDEN
from zonelab.analysis.checkers.verdict import class_named
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.analysis.observation import Observation
from zonelab.analysis.proportions import proportion_interval
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.engine.queue import Features
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, classes_of, scenario_of_class
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.reading import dump_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.guarantees.standing import STANDSTILLS, OrderTotals, order_of
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import IN_THIS_PROCESS, AllRuns
from zonelab.studies.many_runs.task import RunTask, Workers
from zonelab.studies.shrink.queue_run import shrink

JUDGED = (*FORBIDDEN_DEFAULT, MessageClass.ORPHAN)
"""Classes that some cell forbids. Orphans are forbidden where producers of V1 crash, and counted nowhere else."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Cell:
    fault_class: FaultClass
    level: Level
    mode: EngineMode
    engine: str = "dyno"

    @property
    def name(self) -> str:
        name = f"{self.fault_class}-{self.level}-{self.mode}"
        return name if self.engine == "dyno" else f"{self.engine}-{name}"

    @property
    def features(self) -> Features:
        return ENGINES[self.engine].modes[self.mode].features

    def scenario(self, seed: int) -> Scenario:
        return scenario_of_class(self.fault_class, level=self.level, mode=self.mode, seed=seed, engine=self.engine)


def cells_of(engine: str) -> tuple[Cell, ...]:
    """Every class of faults at every level in every mode that ``engine`` has."""
    modes = [mode for mode in EngineMode if mode in ENGINES[engine].modes]
    return tuple(
        Cell(fault_class=fault_class, level=level, mode=mode, engine=engine)
        for fault_class, mode, level in product(classes_of(engine), modes, LEVELS_OF_ONE_DC)
    )


CELLS = cells_of("dyno")


def chosen(
    *,
    engine: str = "dyno",
    modes: Collection[EngineMode] = (),
    levels: Collection[Level] = (),
    fault_classes: Collection[FaultClass] = (),
) -> tuple[Cell, ...]:
    """The cells of ``engine`` of these modes, levels and classes; of all where none is given."""
    return tuple(
        cell
        for cell in cells_of(engine)
        if cell.mode in (modes or EngineMode)
        and cell.level in (levels or Level)
        and cell.fault_class in (fault_classes or FaultClass)
    )


def share_bound(runs: int) -> float:
    """The share of failing seeds that no failure in ``runs`` decided runs excludes with 95 % confidence.

    One-sided Clopper-Pearson; the rule of three, 3 / ``runs``, is its approximation.
    """
    return proportion_interval(0, runs, confidence=0.9).high


@dataclass(slots=True)
class CellResult:
    """The runs of one cell."""

    runs: int = 0
    problems: dict[int, str] = field(default_factory=dict)
    failing: dict[CaseClass, list[int]] = field(default_factory=dict)
    """Seeds by violated class, in order."""
    order: OrderTotals | None = None

    def add(self, seed: int, observation: Observation) -> None:
        """Count a run of this cell."""
        self.runs += 1
        if observation.problem is not None:
            self.problems[seed] = observation.problem
        for name in observation.violated:
            self.failing.setdefault(class_named(name), []).append(seed)
        if STANDSTILLS in observation.samples:
            self.order = self.order or OrderTotals()
            self.order.add(seed, observation)

    @property
    def decided(self) -> int:
        """The runs with a verdict of true or false, of which every share is taken: the others show nothing."""
        return self.runs - len(self.problems)

    @property
    def broken(self) -> tuple[CaseClass, ...]:
        return tuple(name for name in (*JUDGED, *FORBIDDEN) if name in self.failing)

    def seeds(self, name: CaseClass) -> Sequence[int]:
        return self.failing.get(name, ())


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """The results by cell. If it was interrupted, the first seeds were run in every cell, or nearly so."""

    cells: Mapping[Cell, CellResult]

    @property
    def problems(self) -> list[str]:
        """Runs without a verdict of true or false."""
        return [
            f"{cell.name}, seed {seed}: {problem}"
            for cell, result in self.cells.items()
            for seed, problem in result.problems.items()
        ]

    def failures(self) -> list["Failure"]:
        """The first failing seed of every cell and class."""
        return [
            Failure(cell=cell, message_class=name, seed=result.seeds(name)[0])
            for cell, result in self.cells.items()
            for name in result.broken
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    cell: Cell
    message_class: CaseClass
    seed: int

    @property
    def file_name(self) -> str:
        return f"{self.cell.name}-{self.message_class}.yaml"


def counterexamples(
    matrix: Matrix, directory: Path, *, shrink_runs: int, workers: Workers = IN_THIS_PROCESS
) -> tuple[dict[Failure, Path], list[str]]:
    """A scenario file in ``directory`` for each failure, made smaller in at most ``shrink_runs`` runs. Ctrl-C ends it.

    Also tells why a failure has no file. Raises ``OSError``, or ``ManyRunsFailed``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    failures = {(failure.file_name, failure.seed): failure for failure in matrix.failures()}
    tasks = [RunTask(*key, (failure, shrink_runs)) for key, failure in failures.items()]
    written: dict[Failure, Path] = {}
    problems = []
    with suppress(KeyboardInterrupt), closing(workers.finished(_shrunk, tasks, Environment.here())) as arriving:
        for finished in arriving:
            failure = failures[finished.key]
            if finished.result is None:
                problems.append(f"{failure.file_name}, seed {failure.seed}: {finished.error}")
                continue
            written[failure] = directory / failure.file_name
            written[failure].write_text(finished.result, encoding="utf-8")
    return {failure: written[failure] for failure in failures.values() if failure in written}, problems


def matrix_of(cells: Sequence[Cell], seeds: Sequence[int]) -> Experiment[tuple[Cell, int]]:
    """Return the experiment that runs every cell with each of ``seeds``."""
    return Experiment(
        verb="matrix",
        name=cells[0].engine,
        measure=_run,
        tasks=[RunTask(cell.name, seed, (cell, seed)) for seed in seeds for cell in cells],
        decided_by=[cell.name for cell in cells],
    )


def matrix_from(cells: Sequence[Cell], done: AllRuns) -> Matrix:
    """Return the results by cell."""
    found = {cell: CellResult() for cell in cells}
    observed = done.by_setting()
    for cell, result in found.items():
        for seed, observation in observed.get(cell.name, {}).items():
            result.add(seed, observation)
    return Matrix(cells=found)


def _run(task: tuple[Cell, int]) -> Observation:
    cell, seed = task
    trial = attempt(cell.scenario(seed))
    numbers, samples = order_of(trial)
    return replace(trial.observation(), numbers=numbers, samples=samples)


def _shrunk(task: tuple[Failure, int]) -> str:
    failure, runs_max = task
    found = shrink(failure.cell.scenario(failure.seed), failure.message_class, runs_max=runs_max)
    return dump_scenario(found.scenario)
