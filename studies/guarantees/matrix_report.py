"""The guarantee matrix as a table on the terminal, as a page of the documentation, and as JSON."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from zonelab.analysis.checkers.verdict import Broken
from zonelab.analysis.message_classes import DESCRIPTIONS, FORBIDDEN_DEFAULT, lacking_means
from zonelab.analysis.number_text import share_interval
from zonelab.analysis.proportions import share_json
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC
from zonelab.scenarios.fault_draws.fault_classes import (
    ABOUT,
    TRUE_CLOCKS,
    WRONG_CLOCKS,
    EngineMode,
    FaultClass,
    classes_of,
    explained,
)
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.studies.guarantees.matrix import (
    CELLS,
    JUDGED,
    Cell,
    CellResult,
    Failure,
    Matrix,
    counterexamples,
    matrix_from,
    matrix_of,
    share_bound,
)
from zonelab.studies.guarantees.page import effort, provenance, share
from zonelab.studies.guarantees.standing import HEADINGS, OrderTotals
from zonelab.studies.guarantees.study_report import RUNS, StudyReport
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.console import console, styled

_SMALL = 0.01
"""Shares below this need more digits."""

_PAGE = """# What holds under which faults

{provenance}{interrupted}

Every cell is the {engine} queue at one level, under one class of faults, {modes}, run in simulation with the seeds
{first} to {last}. A run pushes about 42 messages {times} from three zones with two consumers each; everything is healed
and drained before it is judged. The load of a seed is the same in every cell; the faults of different seeds differ in
place, time and length.

- **held**: none of {classes} in n seeds{exceptions}.
  The share of seeds that would fail is below the number given, with 95 % confidence (one-sided Clopper-Pearson, about
  3 / n). That is evidence about these short runs, not a proof.
- Otherwise the cell is broken: it names the classes and the share of seeds that showed them. Classes that a cell does
  not name did not occur in it. The last table has counts and 95 % intervals (Clopper-Pearson).

{matrix}

{order}## Classes of faults

{faults}

## Classes of violation

{violations}

## Every broken cell

The file is the first failing seed, made smaller as far as a short search goes. It repeats with
`zonelab run FILE --on sim`, and with `zonelab replay FILE`, which also says whether every event was the same.

{details}
"""

_MODES = {
    EngineMode.DEFAULT: "in its default mode",
    EngineMode.COMPAT: "with the defects of the original (`compat`)",
    EngineMode.HARDENED: "hardened ({hardened})",
    EngineMode.ROCKETMQ_4_9: "as RocketMQ 4.9",
    EngineMode.ROCKETMQ_5_3: "as RocketMQ 5.3",
    EngineMode.FENCED: "with fenced partitions (docs/fifo-fenced.md)",
}

_HARDENED = {"gmq": "docs/gmq.md"}
"""Where the hardened mode of an engine is told, if not in docs/hardened.md."""

TITLES = {
    EngineMode.DEFAULT: "The default engine",
    EngineMode.COMPAT: "With the defects of the original (compat)",
    EngineMode.HARDENED: "Hardened mode",
    EngineMode.ROCKETMQ_4_9: "As RocketMQ 4.9",
    EngineMode.ROCKETMQ_5_3: "As RocketMQ 5.3",
    EngineMode.FENCED: "Fenced",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixReport(StudyReport[Matrix]):
    """``unshrunk``: why a failure has no file."""

    first_seed: int = 1
    files: Mapping[Failure, Path] = field(default_factory=dict)
    unshrunk: Sequence[str] = ()

    @property
    def problems(self) -> list[str]:
        """Runs without a verdict of true or false."""
        return self.study.problems

    def print(self) -> None:
        for mode in EngineMode:
            table = self._table(mode)
            if table.row_count:
                console().print(table, "")
        for cell, order in self._orders():
            if order.stood:
                title = f"{cell.mode} at {cell.level}: partitions that stood still"
                table = Table(*HEADINGS, title=title, title_justify="left", show_edge=False, pad_edge=False)
                for row in order.rows():
                    table.add_row(*row)
                console().print(table, "")
        for sentence in self._sentences():
            console().print(sentence, highlight=False, soft_wrap=True)

    def page(self, path: Path) -> str:
        return _PAGE.format(
            provenance=provenance(self.command, runs=self.study.runs, took_s=self.took_s, known=self.study.known),
            interrupted="".join(self._remarks()),
            first=self.first_seed,
            last=self.first_seed + max((result.runs for result in self.study.cells.values()), default=0) - 1,
            classes=", ".join(FORBIDDEN_DEFAULT),
            engine=f"`{self._engine}`",
            modes=" or ".join(
                _MODES[mode].format(hardened=_HARDENED.get(self._engine, "docs/hardened.md")) for mode in self._modes
            ),
            times=_times_of(next(iter(self.study.cells))),
            matrix="\n\n".join(self._markdown(mode) for mode in self._modes),
            order="".join(self._order_markdown()),
            exceptions=self._exceptions(),
            faults="\n".join(f"- **{name}**: {ABOUT[name]}." for name in explained(self._classes, self._engine)),
            violations="\n".join(f"- **{name}**: {DESCRIPTIONS[name]}." for name in JUDGED),
            details="\n".join(self._details(path)),
        )

    def _exceptions(self) -> str:
        """In which cells other classes than the usual ones are judged."""
        told = []
        if FaultClass.V1_PRODUCERS_CRASH in self._classes:
            told.append("where producers of V1 crash, nor an orphan")
        if not self._classes.isdisjoint(WRONG_CLOCKS):
            mixed = FaultClass.ANY_OF_ONE_ZONE in self._classes
            often = f", which they are in half of the runs of {FaultClass.ANY_OF_ONE_ZONE}," if mixed else ""
            told.append(
                f"where clocks are wrong{often} *early* is not judged, as it depends on whose clock one believes"
            )
        return f" ({'; '.join(told)})" if told else ""

    def _remarks(self) -> Iterator[str]:
        if not self.study.complete:
            yield " It was broken off, so some cells have fewer seeds."

    def _results(self) -> dict[str, Any]:
        cells = [self._cell_json(cell, result) for cell, result in self.study.cells.items()]
        return {"problems": self.study.problems, "cells": cells}

    def _cell_json(self, cell: Cell, result: CellResult) -> dict[str, Any]:
        clocked = TRUE_CLOCKS if cell.fault_class in WRONG_CLOCKS else FORBIDDEN_DEFAULT
        told = cell.features
        lacking = lacking_means(leases=told.leases, priorities=told.priorities, order=told.order)
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

    def _class_json(self, cell: Cell, result: CellResult, name: Broken) -> dict[str, Any]:
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

    @property
    def _engine(self) -> str:
        return next(iter(self.study.cells)).engine

    @property
    def _classes(self) -> frozenset[FaultClass]:
        return frozenset(cell.fault_class for cell in self.study.cells)

    @property
    def _modes(self) -> list[EngineMode]:
        return [mode for mode in EngineMode if any(cell.mode is mode for cell in self.study.cells)]

    def _rows(self, mode: EngineMode) -> Iterator[tuple[str, list[str]]]:
        cells = {(cell.fault_class, cell.level): cell for cell in self.study.cells if cell.mode is mode}
        for fault_class in dict.fromkeys(fault_class for fault_class, _ in cells):
            row = (cells.get((fault_class, level)) for level in LEVELS_OF_ONE_DC)
            yield fault_class, [_words(self.study.cells[cell]) if cell else "" for cell in row]

    def _table(self, mode: EngineMode) -> Table:
        table = Table(title=TITLES[mode], title_justify="left", show_edge=False, pad_edge=False)
        for heading in ("faults", *LEVELS_OF_ONE_DC):
            table.add_column(heading)
        for name, texts in self._rows(mode):
            table.add_row(name, *(styled(text, "red") if text and "held" not in text else text for text in texts))
        return table

    def _markdown(self, mode: EngineMode) -> str:
        lines = [
            f"## {TITLES[mode]}",
            "",
            f"| faults | {' | '.join(LEVELS_OF_ONE_DC)} |",
            "|---" * (len(LEVELS_OF_ONE_DC) + 1) + "|",
        ]
        lines += [f"| {name} | {' | '.join(texts)} |" for name, texts in self._rows(mode)]
        return "\n".join(lines)

    def _orders(self) -> Iterator[tuple[Cell, OrderTotals]]:
        for cell, result in self.study.cells.items():
            if result.order is not None:
                yield cell, result.order

    def _order_markdown(self) -> Iterator[str]:
        for cell, order in self._orders():
            yield f"## Partitions that stood still: {cell.fault_class}, {cell.mode}, {cell.level}\n\n"
            yield f"In {order.seeds:,} runs. {order.in_words()[0].upper()}{order.in_words()[1:]}.\n\n"
            lines = [f"| {' | '.join(row)} |\n" for row in (HEADINGS, ("---",) * len(HEADINGS), *order.rows())]
            yield "".join(lines) + "\n"

    def _details(self, path: Path) -> Iterator[str]:
        yield "| faults | level | mode | class | failing seeds | share (95 %) | first seed | file |"
        yield "|---" * 8 + "|"
        for failure in self.study.failures():
            cell, result = failure.cell, self.study.cells[failure.cell]
            hits = len(result.seeds(failure.message_class))
            file = self.files.get(failure)
            link = f"[yaml]({os.path.relpath(file, path.parent)})" if file else ""
            where = f"{cell.fault_class} | {cell.level} | {cell.mode} | {failure.message_class}"
            interval = share_interval(hits, result.decided)
            yield f"| {where} | {hits} of {result.decided} | {interval} | {failure.seed} | {link} |"

    def _sentences(self) -> Iterator[str]:
        matrix = self.study
        yield f"{effort(runs=matrix.runs, took_s=self.took_s, known=self.study.known)}."
        yield "held (< x): no violation; the share of failing seeds is below x with 95 % confidence."
        if broken := [result.decided for result in matrix.cells.values() if result.broken]:
            yield (
                "A class that a broken cell does not name occurred in none of its runs: "
                f"below {_bound(min(broken))} with 95 % confidence if each of them judges it."
            )
        for cell, order in self._orders():
            yield f"{cell.name}: {order.seeds:,} runs had partitions that stood still; {order.in_words()}."
        if not matrix.complete:
            yield "Broken off: the first seeds were run in every cell, or nearly so."
        if self.files:
            yield f"{len(self.files)} counterexamples are in {next(iter(self.files.values())).parent}; to repeat one:"
            yield f"  zonelab run {next(iter(self.files.values()))} --on sim"
        for problem in matrix.problems:
            yield f"no verdict: {problem}"
        for problem in self.unshrunk:
            yield f"no counterexample: {problem}"


def _times_of(cell: Cell) -> str:
    scenario = cell.scenario(1)
    return f"in {scenario.load.duration_s:g} s, under leases of {scenario.queue.unack_ms} ms,"


def _words(result: CellResult) -> str:
    if not result.runs:
        return "not run"
    undecided = f", {len(result.problems)} undecided" if result.problems else ""
    if not result.broken:
        if not result.decided:
            return f"{result.runs} undecided"
        return f"held (< {_bound(result.decided)}){undecided}"
    return ", ".join(f"{name} {share(len(result.seeds(name)), result.decided)}" for name in result.broken) + undecided


def _bound(decided: int) -> str:
    bound = share_bound(decided)
    return f"{bound:.1%}" if bound >= _SMALL else f"{bound:.3%}"


def fill_matrix(
    cells: Sequence[Cell] = CELLS,
    *,
    seeds: range,
    out: Path | None,
    shrink_runs: int,
    files: Path | None = None,
    runs: Path = RUNS,
    where: Where = HERE,
    command: str = "zonelab matrix",
) -> MatrixReport:
    """Run ``cells`` in a folder below ``runs``, and write their page to ``out``. Raises ``OSError``.

    Counterexamples are written into ``files``, or else beside the results.
    """
    if files is not None:
        files.mkdir(parents=True, exist_ok=True)

    def further(matrix: Matrix, directory: Path) -> dict[str, Any]:
        if not matrix.complete:
            return {"first_seed": seeds.start}
        written, problems = counterexamples(matrix, files or directory, workers=where.workers, shrink_runs=shrink_runs)
        return {"first_seed": seeds.start, "files": written, "unshrunk": problems}

    return MatrixReport.of(
        matrix_of(cells, seeds),
        lambda done: matrix_from(cells, done),
        runs=runs,
        command=command,
        out=out,
        where=where,
        further=further,
    )


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
