"""The table of what the options of the replication layer are good for: on the terminal, as a page, and as JSON."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from analysis.statistics import proportion_interval
from scenarios.campaign import RunBar, markdown_rows, print_rows, provenance
from scenarios.option_ablation import KEYS, LEVEL, RATE_PER_S, Cell, OptionResults, ablate_options

_HEADINGS = (
    "workload, faults",
    "options on",
    "failing per 1,000 seeds (95 %)",
    "by class, per 1,000 seeds",
    "answered, %",
    "done by options, per run",
    "against none",
)

_PAGE = """# What the options of the replication layer are good for

{provenance}{interrupted}

Dynomite repairs nothing unless its read repair is on, and the other three options are ours; all are off unless a
scenario, a gateway or `zonelab up` says otherwise ([topology](topology.md#options)). Here clients of three zones use
{keys} registers (reads and writes) or sets (additions, and reads of all members) at {level}, {rate:g} operations a
second in each zone for a second, in simulation, while the faults of a class happen ([guarantees](guarantees.md)
describes them). A row has {seeds} seeds; runs of one seed differ by the options alone.

- *failing*: seeds with any class that makes such a run invalid ([consistency](consistency.md#what-is-checked)), with
  the 95 % interval (Clopper-Pearson).
- *against none*: classes that have fewer or more cases than the runs without options, in so many more pairs of runs
  than the other way round that chance would do this in less than 5 % of such tables (one-sided sign test, Bonferroni).

{table}

## What an option changes, and what not

{sentences}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionReport:
    results: OptionResults
    command: str
    took_s: float

    def print(self) -> None:
        print_rows(_HEADINGS, self._rows(), self._sentences())

    def page(self) -> str:
        return _PAGE.format(
            provenance=provenance(self.command, runs=self.results.runs, took_s=self.took_s),
            interrupted="" if self.results.complete else " It was broken off, so some rows have fewer seeds.",
            keys=KEYS,
            level=LEVEL,
            rate=RATE_PER_S,
            seeds=max(result.runs for result in self.results.cells.values()),
            table=markdown_rows(_HEADINGS, self._rows()),
            sentences="\n".join(f"- {sentence}" for sentence in self._sentences()),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "runs": self.results.runs,
            "complete": self.results.complete,
            "took_s": round(self.took_s, 3),
            "rows": [self._json(cell) for cell in self.results.cells],
        }

    def _json(self, cell: Cell) -> dict[str, Any]:
        result, (options, place) = self.results.cells[cell], cell
        interval = proportion_interval(result.failing, result.runs)
        fewer, more = self.results.changed(cell)
        return {
            "on": list(options),
            "workload": place.kind,
            "faults": place.fault_class,
            "runs": result.runs,
            "failing": result.failing,
            "share": {"low": interval.low, "high": interval.high},
            "classes": result.by_class,
            "fewer": list(fewer),
            "more": list(more),
            "operations": result.begun,
            "answered": result.answered,
            "options": result.done,
            "problems": result.problems,
        }

    def _rows(self) -> Iterator[tuple[str, ...]]:
        cells = self.results.cells
        for place in dict.fromkeys(place for _, place in cells):
            for options in dict.fromkeys(options for options, _ in cells):
                yield self._row((options, place))

    def _row(self, cell: Cell) -> tuple[str, ...]:
        result, (options, place) = self.results.cells[cell], cell
        runs = max(1, result.runs)
        interval = proportion_interval(result.failing, result.runs)
        classes = (f"{name} {1000 * number / runs:.0f}" for name, number in result.by_class.items())
        done = (f"{name} {number / runs:.1f}" for name, number in result.done.items() if "rounds" not in name)
        fewer, more = self.results.changed(cell)
        changes = [f"fewer: {', '.join(fewer)}"] if fewer else []
        changes += [f"more: {', '.join(more)}"] if more else []
        return (
            f"{place.kind}, {place.fault_class}",
            " + ".join(options) or "none",
            f"{1000 * result.failing / runs:.0f} ({1000 * interval.low:.0f} to {1000 * interval.high:.0f})",
            "; ".join(classes) or "none",
            f"{100 * result.answered / max(1, result.begun):.1f}",
            "; ".join(done) or "nothing",
            "; ".join(changes) or "–" if options else "",
        )

    def _sentences(self) -> Iterator[str]:
        cells = self.results.cells
        for options in dict.fromkeys(options for options, _ in cells):
            if not options:
                continue
            fewer, more, nothing = [], [], []
            for cell in cells:
                if cell[0] == options:
                    place = f"{cell[1].kind}, {cell[1].fault_class}"
                    less, further = self.results.changed(cell)
                    fewer += [f"{', '.join(less)} ({place})"] if less else []
                    more += [f"{', '.join(further)} ({place})"] if further else []
                    nothing += [place] if not less and not further else []
            said = [f"fewer {'; '.join(fewer)}"] if fewer else []
            said += [f"more {'; '.join(more)}"] if more else []
            said += [f"nothing that chance would not do: {'; '.join(nothing)}"] if nothing else []
            yield f"**{' + '.join(options)}**: {'. '.join(one[0].upper() + one[1:] for one in said)}."
        problems = [text for result in cells.values() for text in result.problems]
        if problems:
            yield f"{len(problems)} runs did not end as they should, the first: {problems[0]}."


def run_option_ablation(*, runs: int, jobs: int, out: Path | None) -> OptionReport:
    """Run every row and write its page to ``out``. Raises ``OSError``."""
    if out is not None:
        out.touch()  # what cannot be written is told before the runs, not after them
    begin_s = monotonic()
    with RunBar("options") as bar:
        results = ablate_options(runs=runs, jobs=jobs, told=bar.told)
    words = ["zonelab", "ablate", "--options", "--runs", str(runs), "--jobs", str(jobs)]
    words += ["--out", str(out)] if out else []
    report = OptionReport(results=results, command=shlex.join(words), took_s=monotonic() - begin_s)
    if out is not None:
        out.write_text(report.page(), encoding="utf-8")
    return report
