"""JUnit suites of the verbs of many runs: a case for each class, over all seeds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zonelab.analysis.checkers.verdict import CLASSES
from zonelab.analysis.comparison.confirmation import ConfirmationStatus
from zonelab.analysis.number_text import counted, share_interval
from zonelab.analysis.rates.decisions import ObjectiveStatus
from zonelab.app.terminal.junit import JUnitCase, Outcome, Suite
from zonelab.app.verbs.judged_runs import DECIDED, SHOWN, cases_of_run

if TYPE_CHECKING:
    from zonelab.app.verbs.engines import EngineComparison
    from zonelab.scenarios.spec.scenario import Scenario
    from zonelab.studies.evaluate.result import EvaluationResult
    from zonelab.studies.guarantees.ablation_report import AblationReport
    from zonelab.studies.guarantees.matrix_report import MatrixReport
    from zonelab.studies.guarantees.option_report import OptionReport
    from zonelab.studies.hunt.findings import HuntResult
    from zonelab.studies.limit.result import LimitResult
    from zonelab.studies.sweep.result import SweepResult


def hunt_suite(hunted: "HuntResult", scenario: "Scenario") -> Suite:
    """One case for each class that ``scenario`` forbids, and one for each seed that is broken."""
    group, runs = f"zonelab.hunt.{scenario.name}.{scenario.level}", len(hunted.observations)
    found = {one.name: one for one in hunted.groups}
    cases = []
    for name in dict.fromkeys((*scenario.forbidden, *found)):
        seeds = found[name].seeds if name in found else ()
        lines = (_seeds(seeds), f"again: zonelab replay {found[name].counterexample}") if seeds else ()
        cases.append(_of_class(group, name, len(seeds), hunted.judged, *lines))
    cases += _without_verdict(group, runs, hunted.undecided, hunted.broken, command=hunted.command)
    return _suite("hunt", group, hunted.command, cases, runs=runs, complete=hunted.complete)


def matrix_suite(report: "MatrixReport") -> Suite:
    """One case for each cell and class that is judged in it."""
    content, group = report.to_json(), "zonelab.matrix"
    cases = [_of_cell(cell, name, found) for cell in content["cells"] for name, found in cell["classes"].items()]
    cases += [JUnitCase.of(group, problem.partition(":")[0], Outcome.ERROR, problem) for problem in content["problems"]]
    return _suite("matrix", group, report.command, cases, runs=report.runs, complete=report.complete)


def _of_cell(cell: Mapping[str, Any], name: str, found: Mapping[str, Any]) -> JUnitCase:
    group = f"zonelab.matrix.{cell['engine']}.{cell['mode']}.{cell['level']}"
    lines = [f"seed {found['first_seed']}"] if found["failing"] else []
    lines += [f"again: zonelab replay {found['counterexample']}"] if found.get("counterexample") else []
    return _of_class(group, name, found["failing"], cell["decided"], *lines, case=f"{cell['faults']}: {name}")


def engines_suite(done: "EngineComparison") -> Suite:
    """One case for each engine and class that its run forbids."""
    group, again, cases = "zonelab.engines", f"again: {done.command}", []
    for run in done.rows:
        name = f"{group}.{run.engine}.{run.mode}"
        if run.performed is None:
            cases.append(JUnitCase.of(name, DECIDED, Outcome.SKIPPED, f"left out: {run.refused}"))
        else:
            cases += cases_of_run(run.performed, group=name)
    cases += [JUnitCase.of(group, why.partition(":")[0], Outcome.ERROR, why, again) for why in done.problems]
    return _suite("engines", group, done.command, cases, runs=done.runs, complete=done.complete)


def sweep_suite(done: "SweepResult", forbidden: Mapping[str, Sequence[str]]) -> Suite:
    """One case for each setting and class that is ``forbidden`` in it."""
    group, again, cases = f"zonelab.sweep.{done.name}", f"again: {done.command}", []
    for row in done.rows:
        name = f"{group}.{row.setting}"
        names, runs = dict.fromkeys(forbidden[row.setting]), row.judged and row.runs
        cases += [_of_class(name, one, row.runs_with.get(one, 0), runs, again) for one in names]
        cases += _without_verdict(name, row.runs, list(row.undecided), row.problems, command=done.command)
    return _suite("sweep", group, done.command, cases, runs=sum(row.runs for row in done.rows), complete=done.complete)


def limit_suite(done: "LimitResult") -> Suite:
    """One case for each setting, which passes if every search found its limit."""
    group, again = f"zonelab.limit.{done.name}", f"again: {done.command}"
    cases = []
    for row in done.rows:
        without = row.seeds - row.found
        lines = (f"not judged: {without:,} of {row.seeds:,} searches found no limit, {row.words}",) if without else ()
        cases.append(JUnitCase.of(group, row.setting, Outcome.SKIPPED, *lines))
        failed = ((f"{row.setting}, {why.partition(':')[0]}", why) for why in row.failures)
        cases += [JUnitCase.of(group, name, Outcome.ERROR, why, again) for name, why in failed]
    return _suite("limit", group, done.command, cases, runs=sum(row.seeds for row in done.rows), complete=done.complete)


def ablation_suite(report: "AblationReport") -> Suite:
    """One case for each mechanism, which passes if it is seen to be needed."""
    group, cases = "zonelab.ablate", []
    for row in report.to_json()["rows"]:
        name, few = ", ".join(row["off"]), f"not judged: nothing got worse without it in {counted(row['runs'], 'seed')}"
        cases.append(JUnitCase.of(group, name, Outcome.SKIPPED, "" if row["detected"] else few))
        for seed, problem in row["problems"].items():
            cases.append(JUnitCase.of(group, f"{name}, seed {seed}", Outcome.ERROR, problem))
    return _suite("ablate", group, report.command, cases, runs=report.runs, complete=report.complete)


def options_suite(report: "OptionReport") -> Suite:
    """One case for each workload, class of faults and set of options, which fails if they make anything worse."""
    cases = []
    for row in (row for row in report.to_json()["rows"] if row["on"]):
        group, name = f"zonelab.options.{row['workload']}", f"{row['faults']}: {' + '.join(row['on'])}"
        lines = (f"more {', '.join(row['more'])} than without, in {row['runs']:,} seeds", f"again: {report.command}")
        cases.append(JUnitCase.of(group, name, Outcome.FAILURE, *(lines if row["more"] else ())))
        cases += [JUnitCase.of(group, f"{name}, run without a verdict", Outcome.ERROR, one) for one in row["problems"]]
    return _suite("ablate", "zonelab.options", report.command, cases, runs=report.runs, complete=report.complete)


def evaluation_suite(done: "EvaluationResult") -> Suite:
    """One case for the answer, and one for each setting and each row that real zones were to confirm.

    A setting that is rejected is no failure as long as another one qualifies.
    """
    group, found, again = f"zonelab.evaluate.{done.rollout.scenario.name}", done.done.found, f"again: {done.command}"
    cases = []
    none = Outcome.SKIPPED if found.undecided else Outcome.FAILURE
    proven = found.recommended is not None and not done.open
    failing = () if proven else (done.answer, *done.reasons, again)
    cases.append(JUnitCase.of(group, "a setting is recommended", none, *failing))
    for row in found.rows:
        unmet = [one for one in row.judged if one.status is ObjectiveStatus.NOT_MET]
        lines = [f"{one.objective} is {one.status}, {one}" for one in (*unmet, *row.open)]
        of_setting = Outcome.SKIPPED if found.recommended is not None else none
        cases.append(JUnitCase.of(group, row.setting, of_setting, *(lines and (*lines, again))))
    for one in done.confirmation.rows if done.confirmation is not None else ():
        outcome = Outcome.FAILURE if one.status is ConfirmationStatus.NOT else Outcome.SKIPPED
        why = () if one.status is ConfirmationStatus.CONFIRMED else (f"{one.status}: {one.why}", again)
        cases.append(JUnitCase.of(f"{group}.real", f"{one.setting}, {one.kind}", outcome, *why))
    cases += [JUnitCase.of(group, which, Outcome.ERROR, why, again) for which, why in done.done.failures.items()]
    runs, complete = sum(done.done.runs.values()), done.done.complete
    return _suite("evaluate", group, done.command, cases, runs=runs, complete=complete)


def _suite(verb: str, group: str, command: str, cases: Iterable[JUnitCase], *, runs: int, complete: bool) -> Suite:
    """Return the suite of a study: first that every run was made, then ``cases``."""
    lines = () if complete else (f"interrupted after {counted(runs, 'run')}", f"repeat or continue with: {command}")
    first = JUnitCase.of(group, "every run was made", Outcome.ERROR, *lines)
    return Suite(verb=verb, command=command, cases=[first, *cases])


def _of_class(group: str, name: str, hits: int, runs: int, *lines: str, case: str = "") -> JUnitCase:
    """Return the case of a class that ``hits`` of ``runs`` judged runs have; with ``lines`` if any has it."""
    if not runs:
        return JUnitCase.of(group, case or name, Outcome.SKIPPED, "not judged: no run is valid or invalid")
    share = f"{hits:,} of {counted(runs, 'run')} ({share_interval(hits, runs)} with 95 % confidence)"
    first = f"{name} in {share}: {CLASSES[name].summary}"
    return JUnitCase.of(group, case or name, Outcome.FAILURE, *((first, *lines) if hits else ()))


def _without_verdict(
    group: str, runs: int, undecided: Sequence[int], broken: Mapping[int, str], *, command: str
) -> Iterator[JUnitCase]:
    """Yield a case for all ``undecided`` seeds together, and one for each that is ``broken``."""
    if undecided:
        first = f"not judged: {len(undecided):,} of {counted(runs, 'run')} are neither valid nor invalid"
        yield JUnitCase.of(group, "seeds without a verdict", Outcome.SKIPPED, first, _seeds(undecided))
    for seed, why in broken.items():
        yield JUnitCase.of(group, f"seed {seed}", Outcome.ERROR, why, f"again: {command}")


def _seeds(seeds: Sequence[int]) -> str:
    return f"seeds {', '.join(map(str, seeds[:SHOWN]))}{', …' if len(seeds) > SHOWN else ''}"
