"""What each option of replication and of clients is good for: the columns and the words of the table."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.cluster.votes.levels import Level
from zonelab.studies.guarantees.option_ablation import (
    ANSWERED,
    BEGUN,
    KEYS,
    RATE_PER_S,
    Cell,
    answers,
    changed,
    option_pairs,
)
from zonelab.studies.guarantees.paired import RowResult
from zonelab.studies.guarantees.paired_report import PairedReport, failing_json, failing_per_1000
from zonelab.studies.guarantees.study_report import RUNS
from zonelab.studies.many_runs.where import HERE, Where

_HEADINGS = (
    "workload, faults",
    "options on",
    "failing per 1,000 seeds (95 %)",
    "by class, per 1,000 seeds",
    "answered, %",
    "done by options, per run",
    "against none",
)

_PAGE = """# What the options of replication and of clients are good for

{provenance}{interrupted}

Dynomite repairs nothing unless its read repair is on, and the other three options are ours; all are off unless a
scenario, a gateway or `zonelab up` sets them ([topology](topology.md#options)). What clients do about errors is
their policy ([client policy](client-policy.md)): failover to another zone, and one retry. Clients of three zones
use {keys} registers (reads and writes) or sets (additions, and reads of all members) at {level}, {rate:g} operations a
second in each zone for a second, in simulation, while the faults of a class happen ([guarantees](guarantees.md)
describes them; in coordinator-lost one zone's coordinator is gone for 300 to 700 ms). A row has {seeds} seeds; runs of
one seed differ by the options alone. Rows of options that did nothing and changed nothing are left out.

- *failing*: seeds with any class that makes such a run invalid ([consistency](consistency.md#what-is-checked)), with
  the 95 % interval (Clopper-Pearson).
- *against none*: classes that have fewer or more cases than the runs without options, and whether more or fewer
  operations are answered, in more pairs of runs than the other way round, by a difference that chance would produce in
  less than 5 % of such tables (one-sided sign test, Bonferroni).

{table}

## What an option changes, and what not

{sentences}
"""

_NOTHING = "nothing that chance would not do"
_DID_NOTHING, _UNCHANGED = "nothing", "–"


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionReport(PairedReport[Cell]):
    _HEADINGS = _HEADINGS
    _PAGE = _PAGE
    _INTERRUPTED = " It was broken off, so some rows have fewer seeds."

    def _words(self) -> dict[str, object]:
        sentences = "\n".join(f"- {sentence}" for sentence in self._sentences())
        return {"keys": KEYS, "level": Level.DC_QUORUM, "rate": RATE_PER_S, "sentences": sentences}

    def _json(self, row: Cell, result: RowResult) -> dict[str, Any]:
        options, conditions = row
        fewer, more = changed(self.study, row)
        return {
            "on": list(options),
            "workload": conditions.workload,
            "faults": conditions.fault_class,
            **failing_json(result),
            "classes": {name: result.failing_runs(name) for name in result.failing},
            "fewer": list(fewer),
            "more": list(more),
            "operations": result.numbers.get(BEGUN, 0),
            "answered": result.numbers.get(ANSWERED, 0),
            "answers": answers(self.study, row) or None,
            "options": _done_by_options(result),
            "problems": _problems(result),
        }

    def _rows(self) -> Iterator[tuple[str, ...]]:
        rows = self.study.rows
        for conditions in dict.fromkeys(conditions for _, conditions in rows):
            for options in dict.fromkeys(options for options, _ in rows):
                cell = self._row((options, conditions))
                if not options or cell[-2:] != (_DID_NOTHING, _UNCHANGED):
                    yield cell

    def _row(self, cell: Cell) -> tuple[str, ...]:
        result, (options, _) = self.study.rows[cell], cell
        runs, begun = max(1, result.runs), result.numbers.get(BEGUN, 0)
        classes = (f"{name} {1000 * result.failing_runs(name) / runs:.0f}" for name in result.failing)
        done = {
            name: f"{number / runs:.1f}" for name, number in _done_by_options(result).items() if "rounds" not in name
        }
        return (
            _words(cell),
            " + ".join(options) or "none",
            failing_per_1000(result),
            "; ".join(classes) or "none",
            f"{100 * result.numbers.get(ANSWERED, 0) / begun:.1f}" if begun else "–",
            "; ".join(f"{name} {number}" for name, number in done.items() if float(number)) or _DID_NOTHING,
            "; ".join(self._changes(cell)) or _UNCHANGED if options else "",
        )

    def _changes(self, cell: Cell) -> list[str]:
        """Return what the options change against none, in so many words; empty for what chance would do."""
        fewer, more = changed(self.study, cell)
        changes = [f"fewer: {', '.join(fewer)}"] if fewer else []
        changes += [f"more: {', '.join(more)}"] if more else []
        return changes + ([f"answered: {side}"] if (side := answers(self.study, cell)) else [])

    def _sentences(self) -> Iterator[str]:
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
            yield f"{len(problems)} runs did not end as they should, the first: {problems[0]}."


def _words(cell: Cell) -> str:
    return f"{cell[1].workload}, {cell[1].fault_class}"


def _places(places: dict[str, list[str]]) -> str:
    """Return workloads with their classes of faults."""
    return "; ".join(f"{workload}: {', '.join(classes)}" for workload, classes in places.items())


def _done_by_options(result: RowResult) -> dict[str, float]:
    return {name: number for name, number in result.numbers.items() if name not in (BEGUN, ANSWERED)}


def _problems(result: RowResult) -> list[str]:
    return [f"seed {seed}: {text}" for seed, text in result.problems.items()]


def run_option_ablation(
    *, seeds: range, out: Path | None, runs: Path = RUNS, where: Where = HERE, command: str = "zonelab ablate --options"
) -> OptionReport:
    """Run every row, in a folder below ``runs``, and write its page to ``out``. Raises ``OSError``."""
    pairs = option_pairs(seeds=seeds)
    return OptionReport.of(pairs.experiment, pairs.compared, runs=runs, command=command, out=out, where=where)
