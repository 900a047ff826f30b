"""JUnit suites of the verbs of single runs: a case for each class that must stay empty."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from zonelab.analysis.checkers.verdict import CLASSES, Verdict
from zonelab.analysis.number_text import digits, percent
from zonelab.app.terminal.junit import JUnitCase, Outcome, Suite

if TYPE_CHECKING:
    from zonelab.analysis.comparison.compare import Comparison
    from zonelab.analysis.runs.info import RunInfo
    from zonelab.app.verbs.replay import ReplayedMachine
    from zonelab.app.verbs.run import RunResult

SHOWN = 5
"""Cases of a class that are named."""

DECIDED = "carried out and decided"


def run_suite(verb: str, runs: "Iterable[RunResult]", *, command: str) -> Suite:
    """Return the suite of the runs that ``verb`` made."""
    return Suite(verb=verb, command=command, cases=[case for run in runs for case in cases_of_run(run)])


def cases_of_run(run: "RunResult", *, group: str | None = None) -> Iterator[JUnitCase]:
    """Yield a case for each class that ``run`` forbids. ``group``: if not that of its scenario and level."""
    name = group or f"zonelab.{run.scenario.name}.{run.scenario.level}"
    where = _where(run.scenario.seed, run.directory, run.command)
    if run.result is None:
        why = run.record.error or f"the run was {run.record.status} before its load: there is nothing to judge"
        yield JUnitCase.of(name, DECIDED, Outcome.ERROR, why, *where)
    else:
        yield from _of_verdict(run.result.verdict, group=name, where=where)


def check_suite(verdict: Verdict, info: "RunInfo", directory: Path, *, command: str) -> Suite:
    """Return the suite of a run made earlier."""
    where = _where(info.seed, directory, info.command)
    cases = _of_verdict(verdict, group=f"zonelab.{info.scenario}.{info.level}", where=where)
    return Suite(verb="check", command=command, cases=list(cases))


def _where(seed: int, directory: Path, command: str) -> list[str]:
    return [f"seed {seed}", f"run {directory}", f"again: {command}"]


def _of_verdict(verdict: Verdict, *, group: str, where: Iterable[str]) -> Iterator[JUnitCase]:
    yield JUnitCase.of(group, DECIDED, Outcome.ERROR, *((*verdict.doubts, *where) if verdict.doubts else ()))
    not_exercised = verdict.order.not_exercised if verdict.order else ()
    for name in dict.fromkeys(verdict.forbid):
        count = verdict.counts[name]
        if name in verdict.not_judged:
            yield JUnitCase.of(group, name, Outcome.SKIPPED, "not judged: the queue has no means for it")
        elif name in not_exercised:
            yield JUnitCase.of(group, name, Outcome.SKIPPED, "not exercised: nothing in the run could have broken it")
        elif count:
            text = f"{count:,} {name} in {verdict.begun:,} begun: {CLASSES[name].summary}"
            first = [": ".join(filter(None, [one.subject, one.words])) for one in verdict.cases.get(name, ())[:SHOWN]]
            yield JUnitCase.of(group, name, Outcome.FAILURE, text, *first, *where)
        else:
            yield JUnitCase(group=group, name=name)


def machine_suite(again: "ReplayedMachine", *, command: str) -> Suite:
    """Return the suite of the steps that a failure of a state machine left."""
    case = JUnitCase.of("zonelab.machine", "the failure is gone", Outcome.FAILURE, again.fails)
    return Suite(verb="replay", command=command, cases=[case])


def comparison_suite(comparison: "Comparison", *, within: float, command: str) -> Suite:
    """One case for each metric: the medians agree, or differ, or nobody can tell."""
    group, cases = f"zonelab.compare.{comparison.first}.{comparison.second}", []
    for row in comparison.metrics:
        median = next((one for one in row.quantiles if one.name == "p50"), None)
        text = "no value in one of the runs"
        if median is not None:
            both = f"{digits(median.first_ms)} ms and {digits(median.second_ms)} ms"
            text = f"medians of {both}, to agree within {percent(within)}"
        match row.agree(within):
            case "yes":
                cases.append(JUnitCase(group=group, name=row.metric))
            case "no":
                cases.append(
                    JUnitCase.of(group, row.metric, Outcome.FAILURE, f"they differ: {text}", f"again: {command}")
                )
            case "undecided":
                cases.append(JUnitCase.of(group, row.metric, Outcome.SKIPPED, f"undecided: {text}"))
    return Suite(verb="compare", command=command, cases=cases)
