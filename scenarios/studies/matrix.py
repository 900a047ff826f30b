"""The guarantee matrix: which violations occur at which level, under which faults, in which mode of the engine.

A cell is run with many seeds, each in simulation and judged in memory. What a seed shows depends on the seed and the
cell alone, so neither the number of processes nor their order changes the result.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from analysis.statistics import proportion_interval
from cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from engine.queue import Features
from scenarios.fault_draws.fault_classes import EngineMode, FaultClass, classes_of, scenario_of_class
from scenarios.parallel import results
from scenarios.run.trial import QueueTrial, attempt
from scenarios.run_files.directory import program_fingerprint
from scenarios.shrink.queue_run import shrink
from scenarios.spec.engines import ENGINES
from scenarios.spec.reading import dump_scenario
from scenarios.spec.scenario import Scenario

JUDGED = (*FORBIDDEN_DEFAULT, MessageClass.ORPHAN)
"""What some cell forbids. Orphans are forbidden where producers of V1 crash, and counted nowhere else."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What one run showed: cases by forbidden class. ``problem``: why there is no verdict of true or false."""

    seed: int
    violated: Mapping[MessageClass, int]
    pushed: int
    problem: str | None

    @classmethod
    def of(cls, trial: QueueTrial) -> "Shown":
        seed, verdict = trial.scenario.seed, trial.verdict
        if verdict is None:
            return cls(seed=seed, violated={}, pushed=0, problem=trial.run.record.error or "the lab failed")
        return cls(
            seed=seed,
            violated={name: verdict.counts[name] for name in verdict.violated},
            pushed=verdict.begun,
            problem="; ".join(verdict.reasons) if verdict.valid == "unknown" else None,
        )


def share_bound(runs: int) -> float:
    """The share of failing seeds that no failure in ``runs`` seeds excludes with 95 % confidence: about 3 / ``runs``.

    One-sided Clopper-Pearson; the rule of three is its approximation.
    """
    return proportion_interval(0, runs, confidence=0.9).high


@dataclass(slots=True)
class CellResult:
    """The runs of one cell."""

    runs: int = 0
    problems: dict[int, str] = field(default_factory=dict)
    failing: dict[MessageClass, list[int]] = field(default_factory=dict)
    """Seeds by violated class, in order."""

    def add(self, shown: Shown) -> None:
        self.runs += 1
        if shown.problem is not None:
            self.problems[shown.seed] = shown.problem
        for name in shown.violated:
            self.failing.setdefault(name, []).append(shown.seed)

    @property
    def broken(self) -> tuple[MessageClass, ...]:
        return tuple(name for name in JUDGED if name in self.failing)

    def seeds(self, name: MessageClass) -> Sequence[int]:
        return self.failing.get(name, ())


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """``complete`` is False if it was broken off; then the first seeds were run in every cell, or nearly so."""

    cells: Mapping[Cell, CellResult]
    complete: bool

    @property
    def runs(self) -> int:
        return sum(result.runs for result in self.cells.values())

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
    message_class: MessageClass
    seed: int

    @property
    def file_name(self) -> str:
        return f"{self.cell.name}-{self.message_class}.yaml"


def counterexamples(matrix: Matrix, directory: Path, *, jobs: int, shrink_runs: int) -> dict[Failure, Path]:
    """A scenario file in ``directory`` for each failure, made smaller in at most ``shrink_runs`` runs. Ctrl-C ends it.

    Raises ``OSError``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    failures = matrix.failures()
    written: dict[Failure, Path] = {}
    with suppress(KeyboardInterrupt), results(_shrunk, [(one, shrink_runs) for one in failures], jobs=jobs) as texts:
        for failure, text in zip(failures, texts, strict=True):
            path = directory / failure.file_name
            path.write_text(text, encoding="utf-8")
            written[failure] = path
    return written


class MatrixState:
    """What the runs so far showed, a line of JSON each, so that a matrix that was broken off goes on where it was.

    ``path`` is begun anew if another program wrote it. Raises ``OSError``.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._program = program_fingerprint()
        self._known: dict[tuple[str, int], Shown] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and lines[0] == self._program:
            self._known = {key: shown for key, shown in map(_known_of, lines[1:]) if key is not None}
        self._write([self._program, *(_line(*key, shown) for key, shown in self._known.items())])

    def known_of(self, matrix: Matrix) -> int:
        """How many of its runs were here before: there may be others, of more seeds or of other cells."""
        tasks = ((cell, seed) for cell, result in matrix.cells.items() for seed in range(1, result.runs + 1))
        return sum(self.of(*task) is not None for task in tasks)

    def of(self, cell: Cell, seed: int) -> Shown | None:
        return self._known.get((cell.name, seed))

    def add(self, cell: Cell, shown: Shown) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(cell.name, shown.seed, shown) + "\n")

    def _write(self, lines: Sequence[str]) -> None:
        self._path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _line(name: str, seed: int, shown: Shown) -> str:
    return json.dumps([name, seed, shown.violated, shown.pushed, shown.problem])


def _known_of(line: str) -> tuple[tuple[str, int] | None, Shown]:
    """A last line that was not written whole is of a run that is made again."""
    try:
        name, seed, violated, pushed, problem = json.loads(line)
    except ValueError:
        return None, Shown(seed=0, violated={}, pushed=0, problem=None)
    classes = {MessageClass(one): cases for one, cases in violated.items()}
    return (name, seed), Shown(seed=seed, violated=classes, pushed=pushed, problem=problem)


def fill(
    cells: Sequence[Cell],
    *,
    runs: int,
    jobs: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
    state: MatrixState | None = None,
) -> Matrix:
    """Run every cell with seeds 1 to ``runs``, but what ``state`` has. Ctrl-C ends it.

    ``progress`` is called with how many of how many runs are done.
    """
    found = {cell: CellResult() for cell in cells}
    tasks = [(cell, seed) for seed in range(1, runs + 1) for cell in cells]
    known = {task: shown for task in tasks if state is not None and (shown := state.of(*task)) is not None}
    missing = [task for task in tasks if task not in known]
    done = 0
    try:
        with results(_run, missing, jobs=jobs) as shown_all:
            fresh = iter(shown_all)
            for task in tasks:
                shown = known.get(task) or next(fresh)
                if state is not None and task not in known:
                    state.add(task[0], shown)
                found[task[0]].add(shown)
                done += 1
                progress(done, len(tasks))
    except KeyboardInterrupt:
        return Matrix(cells=found, complete=False)
    return Matrix(cells=found, complete=True)


def _run(task: tuple[Cell, int]) -> Shown:
    cell, seed = task
    return Shown.of(attempt(cell.scenario(seed)))


def _shrunk(task: tuple[Failure, int]) -> str:
    failure, runs_max = task
    found = shrink(failure.cell.scenario(failure.seed), failure.message_class, runs_max=runs_max)
    return dump_scenario(found.scenario)
