"""The report of the guarantee matrix: what held, what broke, and its counterexamples."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from rich.text import Text

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, lacking_means
from zonelab.analysis.number_text import counted, percent, share_interval
from zonelab.analysis.proportions import share_json
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.scenarios.fault_draws.fault_classes import (
    TRUE_CLOCKS,
    WRONG_CLOCKS,
    EngineMode,
    FaultClass,
    classes_of,
)
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.studies.guarantees.matrix import (
    CELLS,
    Cell,
    CellResult,
    Failure,
    Matrix,
    counterexamples,
    matrix_from,
    matrix_of,
    share_bound,
)
from zonelab.studies.guarantees.standing import HEADINGS, OrderTotals
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.study_report import StudyReport
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.console import styled
from zonelab.studies.reporting.footer import without_verdict
from zonelab.studies.reporting.report_table import Column, ReportTable

TITLES = {
    EngineMode.DEFAULT: "The default engine",
    EngineMode.COMPAT: "With the defects of the original (compat)",
    EngineMode.HARDENED: "Hardened mode",
    EngineMode.ROCKETMQ_4_9: "As RocketMQ 4.9",
    EngineMode.ROCKETMQ_5_3: "As RocketMQ 5.3",
    EngineMode.FENCED: "Fenced",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixReport(StudyReport):
    """``unshrunk``: why a failure has no file."""

    study: Matrix
    files: Mapping[Failure, Path] = field(default_factory=dict)
    unshrunk: Sequence[str] = ()

    _TITLE = "What holds under which faults"
    _PAGE = "docs/guarantees.md"

    def tables(self, *, beside: Path | None = None) -> Sequence[ReportTable[Any]]:
        """Return a table of cells for each mode, one of standstills for each cell with any; a document's, failures."""
        modes = [mode for mode in EngineMode if any(cell.mode is mode for cell in self.study.cells)]
        stood = [_standstills(cell, result.order) for cell, result in self.study.cells.items() if result.order]
        shown: list[ReportTable[Any]] = [*map(self._cells_of, modes), *(table for table in stood if table.rows)]
        if beside is not None and (failures := self.study.failures()):
            shown.append(ReportTable(title="Every broken cell", columns=self._failed(beside), rows=list(failures)))
        return shown

    def _results(self) -> dict[str, Any]:
        cells = [self._cell_json(cell, result) for cell, result in self.study.cells.items()]
        return {"cells": cells}

    def _cell_json(self, cell: Cell, result: CellResult) -> dict[str, Any]:
        clocked = TRUE_CLOCKS if cell.fault_class in WRONG_CLOCKS else FORBIDDEN_DEFAULT
        features = cell.features
        lacking = lacking_means(leases=features.leases, priorities=features.priorities, order=features.order)
        judged = [name for name in clocked if name not in lacking]
        named = (*judged, *(name for name in result.broken if name not in judged))
        return {
            "engine": cell.engine,
            "faults": cell.fault_class,
            "level": cell.level,
            "mode": cell.mode,
            "runs": result.runs,
            "decided": result.decided,
            **({"opportunities": result.order.opportunities, "stood": result.order.to_json()} if result.order else {}),
            "classes": {str(name): self._class_json(cell, result, name) for name in named},
        }

    def _class_json(self, cell: Cell, result: CellResult, name: CaseClass) -> dict[str, Any]:
        seeds = result.seeds(name)
        if not seeds:
            return {"failing": 0, "share_below": share_bound(result.decided) if result.decided else None}
        path = self.files.get(Failure(cell=cell, message_class=name, seed=seeds[0]))
        return {
            "failing": len(seeds),
            "share": share_json(len(seeds), result.decided),
            "first_seed": seeds[0],
            "counterexample": str(path) if path else None,
        }

    def _cells_of(self, mode: EngineMode) -> ReportTable[FaultClass]:
        """Return a row for each class of faults, and a column for each level."""
        cells = {(cell.fault_class, cell.level): cell for cell in self.study.cells if cell.mode is mode}

        def result(fault_class: FaultClass, level: Level) -> CellResult | None:
            cell = cells.get((fault_class, level))
            return None if cell is None else self.study.cells[cell]

        levels = (Column(level, partial(result, level=level), text=_words) for level in LEVELS_OF_ONE_DC)
        return ReportTable(
            title=TITLES[mode],
            columns=[Column("faults", str), *levels],
            rows=list(dict.fromkeys(fault_class for fault_class, _ in cells)),
        )

    def _failed(self, path: Path) -> list[Column[Failure]]:
        def decided(failure: Failure) -> tuple[int, int]:
            result = self.study.cells[failure.cell]
            return len(result.seeds(failure.message_class)), result.decided

        def link(failure: Failure) -> str:
            file = self.files.get(failure)
            return f"[yaml]({os.path.relpath(file, path.parent)})" if file else ""

        return [
            Column("faults", lambda failure: failure.cell.fault_class),
            Column("level", lambda failure: failure.cell.level),
            Column("mode", lambda failure: failure.cell.mode),
            Column("class", lambda failure: failure.message_class),
            Column("failing seeds", decided, text=lambda found: "{:,} of {:,}".format(*found)),
            Column("share (95 %)", decided, text=lambda found: share_interval(*found)),
            Column("first seed", lambda failure: failure.seed, text=str, number=True),
            Column("file", link),
        ]

    def sentences(self) -> Iterator[str]:
        matrix = self.study
        yield "held (below x): no violation; the share of failing seeds is below x with 95 % confidence."
        if broken := [result.decided for result in matrix.cells.values() if result.broken]:
            yield (
                "A class that a broken cell does not name occurred in none of its runs: "
                f"below {percent(share_bound(min(broken)))} with 95 % confidence if each of them judges it."
            )
        for cell, result in matrix.cells.items():
            if (order := result.order) is not None:
                yield f"{cell.name}: {counted(order.seeds, 'run')} had partitions that stood still; {order.in_words()}."
        if self.files:
            first = next(iter(self.files.values()))
            yield f"{counted(len(self.files), 'counterexample')} in {first.parent}; zonelab run {first} --on sim"
        yield from without_verdict(self.problems, file=self.file)
        yield from (f"no counterexample: {problem}" for problem in self.unshrunk)


def _standstills(cell: Cell, order: OrderTotals) -> ReportTable[Any]:
    title = f"Partitions that stood still: {cell.fault_class}, {cell.mode}, {cell.level}"
    columns = [Column(heading, itemgetter(place)) for place, heading in enumerate(HEADINGS)]
    return ReportTable(title=title, columns=columns, rows=list(order.rows()))


def _words(result: CellResult | None) -> Text | str:
    """Return whether a cell held, in red if it is broken."""
    if result is None:
        return ""
    if not result.runs:
        return "not run"
    undecided = f", {len(result.problems)} undecided" if result.problems else ""
    if not result.broken:
        held = f"held (below {percent(share_bound(result.decided))}; {counted(result.decided, 'run')}){undecided}"
        return held if result.decided else f"{result.runs} undecided"
    shares = (f"{name} {percent(len(result.seeds(name)) / result.decided)}" for name in result.broken)
    return styled(f"{', '.join(shares)} of {counted(result.decided, 'run')}{undecided}", "red")


def fill_matrix(
    cells: Sequence[Cell] = CELLS,
    *,
    seeds: range,
    out: Path | None,
    shrink_runs: int,
    files: Path | None = None,
    runs: Path,
    where: Where = HERE,
    command: str = "zonelab matrix",
) -> MatrixReport:
    """Run ``cells`` in a folder below ``runs``, and write their page to ``out``. Raises ``OSError``.

    Counterexamples are written into ``files``, or else beside the results.
    """
    if files is not None:
        files.mkdir(parents=True, exist_ok=True)

    def found(done: AllRuns, directory: Path) -> dict[str, Any]:
        matrix = matrix_from(cells, done)
        results = {"study": matrix, "problems": matrix.problems}
        if not done.complete:
            return results
        written, problems = counterexamples(matrix, files or directory, workers=where.workers, shrink_runs=shrink_runs)
        return {**results, "files": written, "unshrunk": problems}

    return MatrixReport.of(matrix_of(cells, seeds), found, runs=runs, command=command, out=out, where=where)


def choice_words(cells: Sequence[Cell]) -> Iterator[str]:
    """The options that choose these cells."""
    axes = (
        ("--mode", ENGINES[cells[0].engine].modes, [cell.mode for cell in cells]),
        ("--level", LEVELS_OF_ONE_DC, [cell.level for cell in cells]),
        ("--faults", classes_of(cells[0].engine), [cell.fault_class for cell in cells]),
    )
    if cells[0].engine != "dyno":
        yield from ("--engine", cells[0].engine)
    for option, all_of, names in axes:
        wanted = dict.fromkeys(names)
        if len(wanted) < len(all_of):
            for name in wanted:
                yield from (option, name)
