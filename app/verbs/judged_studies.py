"""JUnit suites of the verbs of many runs: a case for each class, over all seeds."""

from collections.abc import Mapping, Sequence
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
    from zonelab.studies.hunt.findings import Group, HuntResult
    from zonelab.studies.limit.result import LimitResult
    from zonelab.studies.sweep.result import SweepResult

_UNMET = (ObjectiveStatus.NOT_MET, ObjectiveStatus.UNDECIDED)


def hunt_suite(hunted: "HuntResult", scenario: "Scenario") -> Suite:
    """One case for each class that ``scenario`` forbids, and one for each seed that is broken."""
    group, runs = f"zonelab.hunt.{scenario.name}.{scenario.level}", len(hunted.observations)
    found = {one.name: one for one in hunted.groups}
    cases = [_all_run(group, runs, complete=hunted.complete, command=hunted.command)]
    for name in dict.fromkeys((*scenario.forbidden, *found)):
        lines = _of_seeds(found[name], hunted.judged) if name in found else ()
        cases.append(JUnitCase.of(group, name, Outcome.FAILURE, *lines) if hunted.judged else _unjudged(group, name))
    if undecided := hunted.undecided:
        lines = (f"not judged: {len(undecided):,} of {runs:,} seeds are neither valid nor invalid", _seeds(undecided))
        cases.append(JUnitCase.of(group, "seeds without a verdict", Outcome.SKIPPED, *lines))
    for seed, why in hunted.broken.items():
        cases.append(JUnitCase.of(group, f"seed {seed}", Outcome.ERROR, why, f"again: {hunted.command}"))
    return Suite(verb="hunt", command=hunted.command, cases=cases)


def _of_seeds(group: "Group", runs: int) -> tuple[str, ...]:
    first = f"{group.name} in {_share(len(group.seeds), runs)}: {CLASSES[group.name].summary}"
    return first, _seeds(group.seeds), f"again: zonelab replay {group.counterexample}"


def matrix_suite(report: "MatrixReport") -> Suite:
    """One case for each cell and class that is judged in it."""
    content, group = report.to_json(), "zonelab.matrix"
    cases = [_all_run(group, report.runs, complete=report.complete, command=report.command)]
    cases += [_of_cell(cell, name, found) for cell in content["cells"] for name, found in cell["classes"].items()]
    cases += [JUnitCase.of(group, problem.partition(":")[0], Outcome.ERROR, problem) for problem in content["problems"]]
    return Suite(verb="matrix", command=report.command, cases=cases)


def _of_cell(cell: Mapping[str, Any], name: str, found: Mapping[str, Any]) -> JUnitCase:
    group, case = f"zonelab.matrix.{cell['engine']}.{cell['mode']}.{cell['level']}", f"{cell['faults']}: {name}"
    if not cell["decided"]:
        return _unjudged(group, case)
    if not found["failing"]:
        return JUnitCase(group=group, name=case)
    lines = [
        f"{name} in {_share(found['failing'], cell['decided'])}: {CLASSES[name].summary}",
        f"seed {found['first_seed']}",
    ]
    lines += [f"again: zonelab replay {found['counterexample']}"] if found["counterexample"] else []
    return JUnitCase.of(group, case, Outcome.FAILURE, *lines)


def engines_suite(done: "EngineComparison") -> Suite:
    """One case for each engine and class that its run forbids."""
    group, again = "zonelab.engines", f"again: {done.command}"
    cases = [_all_run(group, done.runs, complete=done.complete, command=done.command)]
    for run in done.rows:
        name = f"{group}.{run.engine}.{run.mode}"
        if run.performed is None:
            cases.append(JUnitCase.of(name, DECIDED, Outcome.SKIPPED, f"left out: {run.refused}"))
        else:
            cases += cases_of_run(run.performed, group=name)
    cases += [JUnitCase.of(group, why.partition(":")[0], Outcome.ERROR, why, again) for why in done.problems]
    return Suite(verb="engines", command=done.command, cases=cases)


def sweep_suite(done: "SweepResult", forbidden: Mapping[str, Sequence[str]]) -> Suite:
    """One case for each setting and class that is ``forbidden`` in it."""
    group = f"zonelab.sweep.{done.name}"
    cases = [_all_run(group, sum(row.runs for row in done.rows), complete=done.complete, command=done.command)]
    for row in done.rows:
        name = f"{group}.{row.setting}"
        for one in dict.fromkeys(forbidden[row.setting]):
            hits = row.runs_with.get(one, 0)
            lines = f"{one} in {_share(hits, row.runs)}: {CLASSES[one].summary}", f"again: {done.command}"
            told_of_hits = lines if hits else ()
            cases.append(
                JUnitCase.of(name, one, Outcome.FAILURE, *told_of_hits) if row.judged else _unjudged(name, one)
            )
        if row.undecided:
            lines = f"not judged: {len(row.undecided):,} of {row.runs:,} runs", _seeds(list(row.undecided))
            cases.append(JUnitCase.of(name, "seeds without a verdict", Outcome.SKIPPED, *lines))
        for seed, why in row.problems.items():
            cases.append(JUnitCase.of(name, f"seed {seed}", Outcome.ERROR, why, f"again: {done.command}"))
    return Suite(verb="sweep", command=done.command, cases=cases)


def limit_suite(done: "LimitResult") -> Suite:
    """One case for each setting, which passes if every search found its limit."""
    group, again = f"zonelab.limit.{done.name}", f"again: {done.command}"
    cases = [_all_run(group, sum(row.seeds for row in done.rows), complete=done.complete, command=done.command)]
    for row in done.rows:
        without = row.seeds - row.found
        lines = (f"not judged: {without:,} of {row.seeds:,} searches found no limit, {row.words}",) if without else ()
        cases.append(JUnitCase.of(group, row.setting, Outcome.SKIPPED, *lines))
        failed = ((f"{row.setting}, {why.partition(':')[0]}", why) for why in row.failures)
        cases += [JUnitCase.of(group, name, Outcome.ERROR, why, again) for name, why in failed]
    return Suite(verb="limit", command=done.command, cases=cases)


def ablation_suite(report: "AblationReport") -> Suite:
    """One case for each mechanism, which passes if it is seen to be needed."""
    group = "zonelab.ablate"
    cases = [_all_run(group, report.runs, complete=report.complete, command=report.command)]
    for row in report.to_json()["rows"]:
        name, few = ", ".join(row["off"]), f"not judged: nothing got worse without it in {counted(row['runs'], 'seed')}"
        cases.append(JUnitCase.of(group, name, Outcome.SKIPPED, "" if row["detected"] else few))
        for seed, problem in row["problems"].items():
            cases.append(JUnitCase.of(group, f"{name}, seed {seed}", Outcome.ERROR, problem))
    return Suite(verb="ablate", command=report.command, cases=cases)


def options_suite(report: "OptionReport") -> Suite:
    """One case for each workload, class of faults and set of options, which fails if they make anything worse."""
    cases = [_all_run("zonelab.options", report.runs, complete=report.complete, command=report.command)]
    for row in (row for row in report.to_json()["rows"] if row["on"]):
        group, name = f"zonelab.options.{row['workload']}", f"{row['faults']}: {' + '.join(row['on'])}"
        lines = (f"more {', '.join(row['more'])} than without, in {row['runs']:,} seeds", f"again: {report.command}")
        cases.append(JUnitCase.of(group, name, Outcome.FAILURE, *(lines if row["more"] else ())))
        cases += [JUnitCase.of(group, f"{name}, run without a verdict", Outcome.ERROR, one) for one in row["problems"]]
    return Suite(verb="ablate", command=report.command, cases=cases)


def evaluation_suite(done: "EvaluationResult") -> Suite:
    """One case for the answer, and one for each setting and each row that real zones were to confirm.

    A setting that is rejected is no failure as long as another one qualifies.
    """
    group, found, again = f"zonelab.evaluate.{done.rollout.scenario.name}", done.done.found, f"again: {done.command}"
    cases = [_all_run(group, sum(done.done.runs.values()), complete=done.done.complete, command=done.command)]
    none = Outcome.SKIPPED if found.undecided else Outcome.FAILURE
    failing = () if found.recommended is not None else (done.answer, *done.reasons, again)
    cases.append(JUnitCase.of(group, "a setting is recommended", none, *failing))
    for row in found.rows:
        lines = [f"{one.objective} is {one.status}, {one}" for one in row.judged if one.status in _UNMET]
        of_setting = Outcome.SKIPPED if found.recommended is not None else none
        cases.append(JUnitCase.of(group, row.setting, of_setting, *(lines and (*lines, again))))
    for one in done.confirmation.rows if done.confirmation is not None else ():
        outcome = Outcome.FAILURE if one.status is ConfirmationStatus.NOT else Outcome.SKIPPED
        why = () if one.status is ConfirmationStatus.CONFIRMED else (f"{one.status}: {one.why}", again)
        cases.append(JUnitCase.of(f"{group}.real", f"{one.setting}, {one.kind}", outcome, *why))
    cases += [JUnitCase.of(group, which, Outcome.ERROR, why, again) for which, why in done.done.failures.items()]
    return Suite(verb="evaluate", command=done.command, cases=cases)


def _all_run(group: str, runs: int, *, complete: bool, command: str) -> JUnitCase:
    lines = () if complete else (f"interrupted after {counted(runs, 'run')}", f"repeat or continue with: {command}")
    return JUnitCase.of(group, "every run was made", Outcome.ERROR, *lines)


def _unjudged(group: str, name: str) -> JUnitCase:
    return JUnitCase.of(group, name, Outcome.SKIPPED, "not judged: no run is valid or invalid")


def _share(hits: int, runs: int) -> str:
    return f"{hits:,} of {runs:,} runs ({share_interval(hits, runs)} with 95 % confidence)"


def _seeds(seeds: Sequence[int]) -> str:
    return f"seeds {', '.join(map(str, seeds[:SHOWN]))}{', …' if len(seeds) > SHOWN else ''}"
