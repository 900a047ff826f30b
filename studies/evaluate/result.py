"""Result of an evaluation: the answer and its reasons, as tables and as JSON, which ``evaluate.json`` has, too."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from zonelab.analysis.number_text import listed
from zonelab.analysis.rates.decisions import ObjectiveJudgement, ObjectiveStatus
from zonelab.analysis.rates.decisive_inputs import DecisiveInput
from zonelab.analysis.rates.drawn_inputs import DrawnInputs
from zonelab.analysis.rates.fault_costs import fault_costs
from zonelab.analysis.rates.neighbours import SettingNeighbour, neighbours
from zonelab.analysis.rates.objectives import COMMANDS, DUPLICATES, Figure
from zonelab.analysis.rates.recommendation import SettingChoice
from zonelab.analysis.rates.samples import Estimate
from zonelab.engine.dyno.hardened import Hardening
from zonelab.studies.evaluate.ablations import Ablations
from zonelab.studies.evaluate.confirmation import Confirmation
from zonelab.studies.evaluate.decision_brief import NO_RUN, NOT_YET, DecisionBrief, nearest_change, runner_up
from zonelab.studies.evaluate.drawn_told import drawn_json, drawn_sentences, drawn_table
from zonelab.studies.evaluate.evaluation import EvaluationRounds
from zonelab.studies.evaluate.given_faults import RatesGivenFaults
from zonelab.studies.evaluate.outage_limits import beyond, shortened
from zonelab.studies.evaluate.priced_settings import PricedSettings
from zonelab.studies.evaluate.reasons import AnswerReasons
from zonelab.studies.evaluate.rollout import SEEDS_OF_CELL, Rollout
from zonelab.studies.evaluate.simulated_inputs import InputEnd
from zonelab.studies.evaluate.year_tables import YEAR_MEANS, YearTables
from zonelab.studies.evaluate.yearly_cost import YearlyCost
from zonelab.studies.limit.result import MEANS, limit_table
from zonelab.studies.limit.rows import LimitRow
from zonelab.studies.reporting.console import Cell, print_lines, styled
from zonelab.studies.reporting.footer import footer, without_verdict
from zonelab.studies.reporting.report_table import Column, ReportTable
from zonelab.studies.sweep.settings import lines_of

PRECISION_MEANS = (
    "For experts: rates given a fault, in the runs with it; from the least to the largest of the settings."
)
OVERLAP_ASSUMED = (
    "Faults that overlap in a year cost as much as if each came alone: what two together do to each other is in no run."
)


RENEWALS = str(Hardening.LEASE_HEARTBEAT)


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """``changes``: inputs that would change the answer. ``drawn``: what the file's intervals leave open, if it has any.
    ``values``: by setting and figure, of the year.

    ``ends``: of rate, lag and work, at which finalists were run, too. ``assumed``: no file was given.
    ``ablations``: of the recommended setting. ``confirmation``: by real zones, and
    ``limits``: of throughput, if asked for.
    """

    rollout: Rollout
    done: EvaluationRounds
    changes: tuple[DecisiveInput, ...]
    drawn: DrawnInputs | None
    values: Mapping[str, Mapping[Figure, Estimate]]
    directory: Path
    command: str
    first_seed: int
    assumed: bool
    environment: Mapping[str, str]
    ends: tuple[InputEnd, ...] = ()
    ablations: Ablations | None = None
    confirmation: Confirmation | None = None
    limits: tuple[LimitRow, ...] = ()

    @property
    def complete(self) -> bool:
        """False if Ctrl-C ended it."""
        return self.done.complete

    @property
    def problems(self) -> list[str]:
        """Why the lab failed, in a run or on real zones."""
        failed = [f"{which}: {why}" for which, why in self.done.failures.items()]
        real = None if self.confirmation is None else self.confirmation.failure
        return failed if real is None else [*failed, real]

    @property
    def exit_code(self) -> int:
        """0: a setting is recommended; 1: none qualifies; 2: an objective is open, or it is not confirmed."""
        found = self.done.found
        if not self.done.complete or self.open or (found.recommended is None and found.undecided):
            return 2
        if self.confirmation is not None and not self.confirmation.holds:
            return 2
        return 0 if found.recommended is not None else 1

    @property
    def answer(self) -> str:
        """Which setting is recommended, or why none is, in one line."""
        found = self.done.found
        if found.recommended is not None:
            alike = f"; tied with it: {', '.join(found.tied)}{self._answers.fewer}"
            tied = alike if found.tied else ""
            named = "; ".join(str(one.objective) for one in self.open)
            not_proven = f", but not proven, as open: {named}" if named else ""
            return f"Recommended: {found.recommended}{not_proven}{tied}"
        if found.undecided:
            return f"Not decided: {', '.join(found.undecided)} may qualify with more runs"
        return "No setting meets all objectives"

    @property
    def open(self) -> tuple[ObjectiveJudgement, ...]:
        """The objectives of the recommended setting that are open and that the file does not accept so."""
        chosen = self.done.found.recommended
        return () if chosen is None else self._row(chosen).open

    @property
    def reasons(self) -> list[str]:
        """Why each setting is taken, tied or rejected, in one sentence each."""
        return list(self._answers.sentences())

    @cached_property
    def _answers(self) -> AnswerReasons:
        runs = {name: one.outcomes.size(None)[0] for name, one in self.done.measured.items()}
        return AnswerReasons(found=self.done.found, values=self.values, needs_s=self.done.needs_s, runs=runs)

    @cached_property
    def brief(self) -> DecisionBrief:
        """Return what whoever decides reads first."""
        found = self.done.found
        other = runner_up(found)
        beside = "" if other is None else next(line for line in self.reasons if line.startswith(f"{other} is "))
        proof, first = ("", f"{NOT_YET} {beside}") if found.recommended is None else (self.reasons[0], beside)
        return DecisionBrief(
            proof=proof,
            runner_up=first,
            costs=tuple(self._cost.sentences()) if self._cost is not None else (),
            change=nearest_change(self.changes) if any(row.is_known for row in found.rows) else NO_RUN,
            left_out=tuple(self.left_out),
        )

    @cached_property
    def _cost(self) -> YearlyCost | None:
        """The cost of the recommended setting."""
        name = self.done.found.recommended
        return None if name is None else self._cost_of(name)

    def _cost_of(self, name: str) -> YearlyCost | None:
        scenario = next(one.scenario for one in self.rollout.settings if one.name == name)
        commands = self.values[name][Figure.parsed(COMMANDS)]
        outcomes, prices = self.done.measured[name].outcomes, self.rollout.evaluate.prices
        return YearlyCost.of(scenario, self.rollout.year, commands, prices=prices, outcomes=outcomes)

    @cached_property
    def _priced(self) -> PricedSettings | None:
        """Return the settings that would do, by the prices of the file."""
        doing = [row.setting for row in self.done.found.rows if row.is_likely]
        return PricedSettings.of({name: cost for name in doing if (cost := self._cost_of(name)) is not None})

    @property
    def left_out(self) -> list[str]:
        """Return what was asked and not made, or not long enough, a sentence each."""
        never = [str(cell) for cell, count in self.done.runs.items() if not count]
        told = [f"The budget had no time for runs with {listed(never)}: nothing is known of them."] if never else []
        told += [f"The budget had no time for runs {end.name}." for end in self.ends if end.found is None]
        if self.done.left:
            told.append(f"Fewer runs were made of what others are preferred to: {', '.join(self.done.left)}.")
        return told

    @property
    def assumptions(self) -> list[str]:
        """Return what the arithmetic of the year takes as given, whatever the runs show."""
        return [OVERLAP_ASSUMED] if self.rollout.year.faults else []

    @property
    def doubts(self) -> list[str]:
        """Return where the line through the lengths of a fault goes beyond what was run, and where it
        contradicts a run.
        """
        return [*beyond(self.rollout), *shortened(self.rollout)] + [
            f"{row.setting}: {bent.figure} does not grow in a line with how long '{bent.fault}' lasts: {bent.seen:.3g} "
            f"a run where the line says {bent.line:.3g}; its interval is widened"
            for row in self.done.found.rows
            for bent in row.bent
        ]

    def to_json(self) -> dict[str, Any]:
        found = self.done.found
        return {
            "scenario": self.rollout.scenario.name,
            "command": self.command,
            "answer": self.answer,
            "exit_code": self.exit_code,
            "brief": self.brief.to_json(),
            "reasons": self.reasons,
            "recommended": found.recommended,
            "tied": list(found.tied),
            "undecided": list(found.undecided),
            "left": list(self.done.left),
            "complete": self.done.complete,
            "looks": self.done.looks,
            "objectives": [str(one) for one in self.rollout.evaluate.objectives],
            "settings": [self._row_json(row) for row in found.rows],
            "seconds_a_run": self.done.seconds_a_run,
            "changes": [str(change) for change in self.changes],
            "flips": [change.to_json() for change in (*self.changes, *(self._priced.flips if self._priced else ()))],
            "priced": None if self._priced is None else self._priced.to_json(),
            "neighbours": self.explained_neighbours,
            "ablations": None if self.ablations is None else self.ablations.to_json(),
            "drawn": None if self.drawn is None else drawn_json(self.drawn),
            "ends": [end.to_json() for end in self.ends],
            "cost": None if self._cost is None else self._cost.to_json(),
            "assumptions": self.assumptions,
            "doubts": self.doubts,
            "confirmation": None if self.confirmation is None else self.confirmation.to_json(),
            "limits": [row.to_json() for row in self.limits],
            "runs": {str(cell): count for cell, count in self.done.runs.items()},
            "known": self.done.known,
            "problems": self.problems,
            "seeds": {"first": self.first_seed, "apart": SEEDS_OF_CELL},
            "environment": dict(self.environment),
            "directory": str(self.directory),
        }

    def print(self) -> None:
        self._decided.print()
        print_lines(f"The year, with 95 % intervals. Times are in milliseconds. {YEAR_MEANS}\n")
        self._year.times.print()
        self._year.counts.print()
        if rates := self._given_faults.table:
            print_lines(f"{PRECISION_MEANS}\n")
            rates.print()
        if self.drawn is not None:
            drawn_table(self.drawn, self.rollout.evaluate.prefer[0]).print()
        if self.limits:
            limit_table(self.limits).print(MEANS)
        if self.confirmation is not None:
            self.confirmation.print()
        print_lines(*self.sentences())

    def sentences(self) -> Iterator[str]:
        """The answer, its reasons, what is assumed, what would change it, and how it was found, line by line."""
        yield from (self.answer + ".", *self.reasons)
        if self.confirmation is not None:
            yield from ("", *self.confirmation.sentences())
        if self.assumed:
            yield f"\nAssumed, as no file was given (zonelab new rollout writes one): {self._assumptions}."
        if self._cost is not None:
            yield f"\nCost of {self.done.found.recommended}, a year:"
            yield from (f"  {one}" for one in self._cost.sentences())
        if self._priced is not None:
            yield from self._priced.sentences()
        if self._neighbours:
            yield f"\nBeside {self.done.found.recommended}, one value changed, of the year:"
            yield from (f"  {one}" for one in self.explained_neighbours)
        if self.ablations is not None:
            yield f"\n{self.ablations.setting} without a mechanism of its queue, by runs of the same seeds:"
            yield from (f"  {one}" for one in self.ablations.sentences())
        if self.drawn is not None:
            yield from ("", *drawn_sentences(self.drawn))
        if self.changes:
            yield "\nWhat would change the answer, the estimates taken as true:"
            yield from (f"  {change}" for change in self.changes)
        yield from (*self.left_out, *self.assumptions, *self.doubts, *self._given_faults.sentences())
        runs = ", ".join(f"{count} {cell}" for cell, count in self.done.runs.items())
        yield f"\nRuns of each setting: {runs}. Look {self.done.looks} of at most {self.done.looks_most}."
        yield f"Seeds from {self.first_seed} on, {SEEDS_OF_CELL:,} later for each next kind; zonelab {self._version}."
        problems = [f"{which}: {why}" for which, why in self.done.failures.items()]
        yield from without_verdict(problems, file=self.directory / "evaluate.json")
        yield from footer(self.command, complete=self.done.complete, reused=self.done.known)

    @property
    def _assumptions(self) -> str:
        base = self.rollout.scenario
        faults = (f"{one.name} {one.per_year:g} times a year for {one.lasts_s:g} s" for one in self.rollout.year.faults)
        return (
            f"{len(base.zones)} zones {base.links.lag} apart; {base.load.rate_per_s:g} messages a second and zone; "
            f"{base.queue.engine} with leases of {base.queue.unack_ms} ms; {base.persistence}; work of "
            f"{base.consumers.processing}; {'; '.join(faults)}"
        )

    @property
    def _version(self) -> str:
        return f"{self.environment['zonelab']}, sources {self.environment['sources']}"

    @cached_property
    def _neighbours(self) -> tuple[SettingNeighbour, ...]:
        evaluate, best = self.rollout.evaluate, self.done.found.recommended
        asked = (one.figure for one in evaluate.objectives if one.condition is None)
        figures = list(dict.fromkeys((*evaluate.prefer, *asked, Figure.parsed(DUPLICATES))))
        return () if best is None else tuple(neighbours(self.done.measured, best, figures))

    @property
    def explained_neighbours(self) -> list[str]:
        """Return the settings one value away, with the ablation that says why a lease makes no difference."""
        renewed = None if self.ablations is None else self.ablations.more_of(Figure.parsed(DUPLICATES), RENEWALS)
        return [
            f"{one}; leases are renewed ({renewed})"
            if renewed is not None and not one.differs and one.changed.startswith("queue.unack_ms=")
            else str(one)
            for one in self._neighbours
        ]

    @cached_property
    def _year(self) -> YearTables:
        names = [row.setting for row in self.done.found.rows]
        return YearTables(names=names, measured=self.done.measured, values=self.values)

    @cached_property
    def _given_faults(self) -> RatesGivenFaults:
        return RatesGivenFaults.of(self.done)

    def _row(self, name: str) -> SettingChoice:
        return next(row for row in self.done.found.rows if row.setting == name)

    def _row_json(self, row: SettingChoice) -> dict[str, Any]:
        values = self.values[row.setting]
        return {
            "setting": row.setting,
            "status": str(row.status),
            "binding": None if row.binding is None else str(row.binding.objective),
            "objectives": [
                {
                    **one.to_json(),
                    "told": self._answers.seen(row.setting, one),
                    "seconds_needed": self.done.needs_s.get((row.setting, one.objective)),
                }
                for one in row.judged
            ],
            "rates": self._given_faults.to_json(row.setting),
            "faults": [cost.to_json() for cost in fault_costs(self.done.measured[row.setting])],
            "year": {str(figure): value.to_json() for figure, value in values.items()},
            "told": {str(figure): self._year.told(row.setting, figure) for figure, value in values.items()},
        }

    @property
    def _decided(self) -> ReportTable[SettingChoice]:
        """The objectives, and whether each setting meets them."""
        objectives = [
            Column[SettingChoice](str(objective), lambda row, at=place: self._judged(row, at))  # type: ignore[misc]
            for place, objective in enumerate(self.rollout.evaluate.objectives)
        ]
        name = Column[SettingChoice]("setting", lambda row: lines_of(row.setting))
        return ReportTable(columns=[name, *objectives], rows=self.done.found.rows)

    def _judged(self, row: SettingChoice, place: int) -> Cell:
        judged = row.judged[place]
        return styled(f"{judged.status}:\n{self._answers.seen(row.setting, judged)}", _STYLES[judged.status])


_STYLES = {ObjectiveStatus.MET: "green", ObjectiveStatus.NOT_MET: "red", ObjectiveStatus.OPEN: "yellow"}
