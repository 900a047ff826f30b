"""The report of what each option of replication and of clients is good for."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zonelab.analysis.number_text import NONE, counted
from zonelab.studies.guarantees.option_ablation import (
    ANSWERED,
    BEGUN,
    Cell,
    answers,
    changed,
    option_pairs,
)
from zonelab.studies.guarantees.paired import RowResult
from zonelab.studies.guarantees.paired_report import PairedReport, per_1000
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.report_table import Column

_Row = tuple[Cell, RowResult]

_NOTHING = "nothing that chance would not do"
_DID_NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionReport(PairedReport[Cell]):
    _TITLE = "What the options of replication and of clients are good for"
    _PAGE = "docs/replication-options.md"

    def _columns(self) -> list[Column[_Row]]:
        study = self.study
        return [
            Column("workload, faults", lambda row: _words(row[0])),
            Column(None, lambda row: row[0][1].workload, name="workload"),
            Column(None, lambda row: row[0][1].fault_class, name="faults"),
            Column("options on", lambda row: list(row[0][0]), text=lambda on: " + ".join(on) or "none", name="on"),
            *self._failing(),
            Column("by class, per 1,000 seeds", lambda row: _classes_words(row[1])),
            Column(None, lambda row: {name: row[1].failing_runs(name) for name in row[1].failing}, name="classes"),
            Column("answered, %", lambda row: _answered(row[1]), number=True),
            Column(None, lambda row: row[1].numbers.get(BEGUN, 0), name="operations"),
            Column(None, lambda row: row[1].numbers.get(ANSWERED, 0), name="answered"),
            Column(None, lambda row: answers(study, row[0]) or None, name="answers"),
            Column("done by options, per run", lambda row: _done_words(row[1])),
            Column(None, lambda row: _done_by_options(row[1]), name="options"),
            Column("against none", lambda row: self._changes_words(row[0])),
            Column(None, lambda row: list(changed(study, row[0])[0]), name="fewer"),
            Column(None, lambda row: list(changed(study, row[0])[1]), name="more"),
            Column(None, lambda row: _problems(row[1]), name="problems"),
        ]

    def _shown(self, row: _Row) -> bool:
        """Leave out options that did nothing and changed nothing."""
        cell, result = row
        return not cell[0] or _done_words(result) != _DID_NOTHING or bool(self._changes(cell))

    def _changes(self, cell: Cell) -> list[str]:
        """Return what the options change against none; empty for what chance would do."""
        fewer, more = changed(self.study, cell)
        changes = [f"fewer: {', '.join(fewer)}"] if fewer else []
        changes += [f"more: {', '.join(more)}"] if more else []
        return changes + ([f"answered: {side}"] if (side := answers(self.study, cell)) else [])

    def _changes_words(self, cell: Cell) -> str:
        return ("; ".join(self._changes(cell)) or NONE) if cell[0] else ""

    def sentences(self) -> Iterator[str]:
        rows = self.study.rows
        for options in dict.fromkeys(options for options, _ in rows):
            if not options:
                continue
            found: dict[str, dict[str, list[str]]] = {}
            for cell in (cell for cell in rows if cell[0] == options):
                for change in self._changes(cell) or [_NOTHING]:
                    found.setdefault(change, {}).setdefault(str(cell[1].workload), []).append(cell[1].fault_class)
            elsewhere = " Elsewhere nothing that chance would not do." if found.pop(_NOTHING, None) else ""
            parts = [f"{change} ({_places(places)})" for change, places in found.items()]
            yield f"**{' + '.join(options)}**: {'; '.join(parts) or _NOTHING}.{elsewhere if parts else ''}"
        problems = [text for result in rows.values() for text in _problems(result)]
        if problems:
            yield f"{counted(len(problems), 'run')} did not end with a verdict, the first: {problems[0]}."


def _words(cell: Cell) -> str:
    return f"{cell[1].workload}, {cell[1].fault_class}"


def _places(places: dict[str, list[str]]) -> str:
    """Return workloads with their classes of faults."""
    return "; ".join(f"{workload}: {', '.join(classes)}" for workload, classes in places.items())


def _classes_words(result: RowResult) -> str:
    return "; ".join(f"{name} {per_1000(result.failing_runs(name), result.runs)}" for name in result.failing) or "none"


def _answered(result: RowResult) -> str:
    begun = result.numbers.get(BEGUN, 0)
    return f"{100 * result.numbers.get(ANSWERED, 0) / begun:.1f}" if begun else NONE


def _done_words(result: RowResult) -> str:
    done = {name: f"{number / max(1, result.runs):.1f}" for name, number in _done_by_options(result).items()}
    shown = (f"{name} {number}" for name, number in done.items() if "rounds" not in name and float(number))
    return "; ".join(shown) or _DID_NOTHING


def _done_by_options(result: RowResult) -> dict[str, float]:
    return {name: number for name, number in result.numbers.items() if name not in (BEGUN, ANSWERED)}


def _problems(result: RowResult) -> list[str]:
    return [f"seed {seed}: {text}" for seed, text in result.problems.items()]


def run_option_ablation(
    *, seeds: range, out: Path | None, runs: Path, where: Where = HERE, command: str = "zonelab ablate --options"
) -> OptionReport:
    """Run every row, in a folder below ``runs``, and write its page to ``out``. Raises ``OSError``."""
    pairs = option_pairs(seeds=seeds)
    return OptionReport.of_pairs(pairs, runs=runs, command=command, out=out, where=where)
