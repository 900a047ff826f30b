"""``zonelab evaluate``: runs of every setting until the objectives are decided or the budget is spent."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from zonelab.analysis.evaluation_page import write_evaluation_page
from zonelab.analysis.number_text import counted
from zonelab.analysis.rates.decisive_inputs import changes
from zonelab.analysis.rates.drawn_inputs import drawn_inputs
from zonelab.analysis.rates.recommendation import Recommendation
from zonelab.analysis.rates.rollout_question import RolloutQuestion
from zonelab.analysis.whole_files import write_json
from zonelab.scenarios.arms import Arm, ZoneKind
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.spec.rules import problems
from zonelab.studies.evaluate.ablation_runs import AblationRuns
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.confirming import ConfirmationRuns
from zonelab.studies.evaluate.evaluation import Evaluation
from zonelab.studies.evaluate.real_run import RealRuns
from zonelab.studies.evaluate.result import EvaluationResult
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.short_rollout import short_rollout
from zonelab.studies.evaluate.simulated_inputs import InputRuns, at_every_end, check_inputs
from zonelab.studies.evaluate.year_tables import of_year
from zonelab.studies.limit.limits import limit_rows, limits_of
from zonelab.studies.limit.rows import LimitRow
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.progress import RunBar

SUMMARY_NAME = "evaluate.json"
PREDICTED_NAME = "confirm-predicted.jsonl"
LIMITS_NAME = "limit.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirm:
    """On what real zones the best settings are run, and how often."""

    on: ZoneKind
    repeats: int

    @property
    def words(self) -> list[str]:
        return ["--confirm", str(self.on), "--confirm-runs", str(self.repeats)]

    def check(self, rollout: Rollout) -> None:
        """Before an evaluation that may take long.

        Raises ``ZoneError`` if there can be no such zones, ``ScenarioError`` if they cannot run what is simulated.
        """
        for setting in rollout.settings:
            found = problems(setting.scenario.model_copy(update={"arm": Arm.REAL}))
            if found:
                raise ScenarioError([f"--confirm: {problem.path}: {problem.text}" for problem in found])
        if self.on is ZoneKind.DOCKER:
            from zonelab.cluster.real.zones.docker.daemon import connect

            connect().close()


def run_evaluation(
    rollout: Rollout,
    *,
    budget: Budget,
    first_seed: int,
    runs: Path,
    command: str,
    where: Where = HERE,
    assumed: bool = False,
    confirm: Confirm | None = None,
    limit_seeds: int = 0,
) -> EvaluationResult:
    """Evaluate in ``runs/<scenario>/evaluate-<fingerprint>``, going on with what is there.

    ``limit_seeds``: with so many seeds the throughput limit of each setting is searched then. ``confirm``: the best
    settings are then run on real zones. ``assumed``: most of the rollout is not the user's, so
    the result says what it is.

    Raises ``OSError``, ``NotAccepted`` if the budget is too small or another program writes there, ``ManyRunsFailed``.
    """
    evaluation = Evaluation(rollout, first_seed=first_seed, workers=where.workers)
    directory = evaluation.experiment.directory(runs)
    with evaluation.experiment.state(directory) as state:
        with RunBar(f"{rollout.scenario.name} evaluate", done=len(state.results)) as bar:
            evaluation.progress = bar.show
            evaluation.first_answer = partial(_tell_first, bar)
            evaluation.begins = partial(bar.tell, f"evaluate: {_words_before(rollout, budget)}")
            check_inputs(rollout)
            ablations = AblationRuns.within(budget, evaluation)
            inputs = InputRuns.within(budget, evaluation)
            done = evaluation.run(inputs.rest(ablations.rest(budget)), state=state)
        ends = inputs.made(done, directory) if done.complete else ()
        done = replace(done, found=at_every_end(done.found, ends))
        evaluate, found = rollout.evaluate, done.found
        known = {row.setting: done.measured[row.setting] for row in found.rows if row.is_known}
        question = RolloutQuestion(settings=known, objectives=evaluate.objectives, prefer=evaluate.prefer)
        alike = () if found.recommended is None else (found.recommended, *found.tied)
        result = EvaluationResult(
            rollout=rollout,
            done=done,
            changes=tuple(changes(question, alike=alike)) if known else (),
            drawn=drawn_inputs(question) if known else None,
            values=of_year(done.measured, prefer=evaluate.prefer),
            directory=directory,
            command=command,
            first_seed=first_seed,
            assumed=assumed,
            ends=ends,
            environment=evaluation.experiment.environment.parts,
        )
        _write(result)
        if done.complete:
            result = replace(result, ablations=ablations.made(done, directory))
            _write(result)
        if limit_seeds and done.complete:
            result = replace(result, limits=_limits(rollout, first_seed, limit_seeds, where, directory))
            _write(result)
        if confirm is not None and done.complete:
            real = RealRuns(on=confirm.on, runs=runs, command=command)
            short = short_rollout(rollout)
            with ExitStack() as opened:
                if short is not rollout:
                    evaluation = Evaluation(short, first_seed=first_seed, workers=where.workers)
                    state = opened.enter_context(evaluation.experiment.state(directory, name=PREDICTED_NAME))
                confirming = ConfirmationRuns(evaluation=evaluation, real=real, repeats=confirm.repeats)
                confirmation = confirming.confirmed(done, simulated=state, directory=directory)
            result = replace(result, confirmation=confirmation)
            _write(result)
    return result


def _tell_first(bar: RunBar, found: Recommendation, after_s: float) -> None:
    """Print what is known after the first runs."""
    chosen = found.leading or "no setting yet"
    rejected = [row.setting for row in found.rows if row.binding is not None]
    out = f"; {counted(len(rejected), 'setting')} rejected" if rejected else ""
    bar.tell(f"evaluate: first answer after {after_s:.0f} s, from few runs: {chosen}{out}; more runs are being made")


def _words_before(rollout: Rollout, budget: Budget) -> str:
    """Return what will be run, and how long that may take; a time is that of the runs alone."""
    runs = f"{len(rollout.settings)} settings x {len(rollout.year.cells)} kinds of runs"
    load = f"{rollout.year.run_s:g} s of load each, simulated"
    if budget.runs is not None:
        return f"{runs}, {load}; for at most {counted(budget.runs, 'run')} of each setting"
    if budget.until_decided:
        return f"{runs}, {load}; until nothing is open that takes less than a day"
    return f"{runs}, {load}; for about {budget.seconds:g} s, and some seconds more for the answer and its page"


def _limits(rollout: Rollout, first_seed: int, count: int, where: Where, directory: Path) -> tuple[LimitRow, ...]:
    limits = limits_of(rollout.settings, range(first_seed, first_seed + count))
    return limit_rows(rollout.settings, limits.conduct(directory, where=where, name=LIMITS_NAME))


def _write(result: EvaluationResult) -> None:
    content = result.to_json()
    write_json(result.directory / SUMMARY_NAME, content)
    write_evaluation_page(content, result.directory)
