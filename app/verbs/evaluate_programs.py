"""``zonelab evaluate --on``: programs of the user's own on real servers, until each kind of run has so many."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from zonelab.analysis.number_text import counted
from zonelab.analysis.rates.decisions import ObjectiveJudgement
from zonelab.analysis.whole_files import write_json
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.evaluate.budget import FEWEST
from zonelab.studies.evaluate.program_evaluation import ProgramAnswer, ProgramEvaluation
from zonelab.studies.evaluate.program_rollout import ProgramRollout
from zonelab.studies.evaluate.real_run import RealRuns
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.footer import footer
from zonelab.studies.reporting.report_table import Column, ReportTable

SUMMARY_NAME = "evaluate.json"

_Row = tuple[str, ObjectiveJudgement]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramEvaluationResult:
    """Answer to which setting meets the objectives with programs of the user's own."""

    answer: ProgramAnswer
    on: ZoneKind
    directory: Path
    command: str

    @property
    def problems(self) -> list[str]:
        """Return why the lab failed."""
        return [] if self.answer.failure is None else [self.answer.failure]

    @property
    def exit_code(self) -> int:
        """0: a setting is recommended and every objective met; 1: none qualifies; 2: anything is open or not judged."""
        found = self.answer.found
        if self.answer.complete and found.recommended is None and not found.undecided:
            return 1
        if not self.answer.complete or self.answer.left_out or self.answer.not_judged or found.recommended is None:
            return 2
        chosen = next(row for row in found.rows if row.setting == found.recommended)
        return 2 if chosen.open else 0

    @property
    def sentences(self) -> list[str]:
        """Return the answer, what it rests on and what is not known, a sentence each."""
        return list(self._sentences())

    def _sentences(self) -> Iterator[str]:
        found = self.answer.found
        proven = [row.setting for row in found.rows if row.is_proven]
        if found.recommended is None:
            yield "Not decided: more runs are needed." if found.undecided else "No setting meets all objectives."
        else:
            how = "" if found.recommended in proven else ", but not proven"
            tied = f"; tied with it: {', '.join(found.tied)}" if found.tied else ""
            yield f"Recommended: {found.recommended}{how}{tied}."
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.answer.runs.items())
        yield f"Runs of each setting on {self.on} zones, none simulated: {kinds}."
        yield "So few runs say nothing of what is rare."
        if self.answer.not_judged:
            named = "; ".join(map(str, self.answer.not_judged))
            yield f"Not judged, as the programs do not say what is needed for it: {named}."
        if self.answer.left_out:
            more = len(self.answer.left_out) - 1
            others = f" (and {counted(more, 'more run')} like it)" if more else ""
            yield f"Left out, and made again next time: {self.answer.left_out[0]}{others}."

    def to_json(self) -> dict[str, Any]:
        """Return the answer with every judgement."""
        found = self.answer.found
        return {
            "on": str(self.on),
            "recommended": found.recommended,
            "tied": list(found.tied),
            "sentences": self.sentences,
            "settings": [
                {"setting": row.setting, "objectives": [one.to_json() for one in row.judged]} for row in found.rows
            ],
            "not_judged": [str(one) for one in self.answer.not_judged],
            "left_out": list(self.answer.left_out),
            "problems": self.problems,
            "runs": {str(kind): count for kind, count in self.answer.runs.items()},
            "complete": self.answer.complete,
            "directory": str(self.directory),
            "command": self.command,
        }

    def print(self) -> None:
        """Print a row for each setting and objective, then the sentences."""
        rows = [(row.setting, one) for row in self.answer.found.rows for one in row.judged]
        ReportTable(columns=_COLUMNS, rows=rows, names=2, section=lambda row: row[0]).print(*self.sentences)
        interrupted = not self.answer.complete and self.answer.failure is None
        print_lines("", str(self.directory), *footer(self.command, complete=not interrupted))


def evaluate_programs(
    rollout: ProgramRollout, *, on: ZoneKind, budget_runs: int | None, first_seed: int, runs: Path, command: str
) -> ProgramEvaluationResult:
    """Evaluate in ``runs/<scenario>/evaluate-<fingerprint>``, going on with what is there.

    ``budget_runs``: of each setting. Raises ``NotAccepted`` if these are too few, ``OSError``.
    """
    kinds = len(rollout.year.cells)
    if budget_runs is None or budget_runs < FEWEST * kinds:
        got = "nothing" if budget_runs is None else budget_runs
        raise NotAccepted(f"--runs: got {got}; accepted: at least {FEWEST * kinds}, {FEWEST} of each of {kinds} kinds")
    evaluation = ProgramEvaluation(
        rollout=rollout,
        real=RealRuns(on=on, runs=runs, command=command),
        repeats=budget_runs // kinds,
        first_seed=first_seed,
    )
    directory = evaluation.experiment.directory(runs)
    with evaluation.experiment.state(directory) as state:
        result = ProgramEvaluationResult(answer=evaluation.answer(state), on=on, directory=directory, command=command)
    write_json(directory / SUMMARY_NAME, result.to_json())
    return result


def _interval(row: _Row) -> str:
    """Return the 95 % interval of the figure."""
    judged = row[1]
    low, high = float(judged.value.low), float(judged.value.high)
    ends = (judged.objective.told(one) if isfinite(one) else "unbounded" for one in (low, high))
    return " to ".join(ends)


_COLUMNS: tuple[Column[_Row], ...] = (
    Column("setting", lambda row: row[0]),
    Column("objective", lambda row: str(row[1].objective)),
    Column("is", lambda row: str(row[1].status)),
    Column("seen", lambda row: str(row[1])),
    Column("95 % interval", _interval),
)
