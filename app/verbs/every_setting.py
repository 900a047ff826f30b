"""``zonelab sweep`` and ``limit``: every setting with every seed, show how far that is, and write what was found."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from zonelab.analysis.whole_files import write_json
from zonelab.studies.limit.limits import limit_rows, limits_of
from zonelab.studies.limit.result import LimitResult
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.where import HERE, Where, seed_words
from zonelab.studies.sweep.every_setting import SettingsResult
from zonelab.studies.sweep.result import SweepResult
from zonelab.studies.sweep.settings import Setting
from zonelab.studies.sweep.sweep import sweep_of, sweep_rows

ResultOf = TypeVar("ResultOf", bound=SettingsResult[Any])


def run_sweep(
    settings: Sequence[Setting], *, seeds: range, messages: int | None, runs: Path, command: str, where: Where = HERE
) -> SweepResult:
    """Make the runs of a sweep, and write what they come to into ``sweep.json``. Raises as ``Experiment.conduct``."""
    return _found(
        sweep_of(settings, seeds, messages=messages),
        lambda done: sweep_rows(settings, done),
        SweepResult,
        seeds=seeds,
        runs=runs,
        command=command,
        where=where,
    )


def run_limits(
    settings: Sequence[Setting], *, seeds: range, runs: Path, command: str, where: Where = HERE
) -> LimitResult:
    """Search the limit of each setting, and write the result into ``limit.json``. Raises as ``Experiment.conduct``."""
    return _found(
        limits_of(settings, seeds),
        lambda done: limit_rows(settings, done),
        LimitResult,
        seeds=seeds,
        runs=runs,
        command=command,
        where=where,
    )


def _found(
    experiment: Experiment[tuple[int, int]],
    rows: Callable[[AllRuns], Sequence[Any]],
    result: Callable[..., ResultOf],
    *,
    seeds: range,
    runs: Path,
    command: str,
    where: Where,
) -> ResultOf:
    directory = experiment.directory(runs)
    done = experiment.conduct(directory, where=where)
    found = result(
        scenario=experiment.name,
        directory=directory,
        command=command,
        seeds=seeds,
        environment=experiment.environment.parts,
        rows=rows(done),
        known=done.known,
        complete=done.complete,
    )
    write_json(directory / f"{experiment.verb}.json", found.to_json())
    return found


def command_of(
    verb: str,
    source: str,
    *,
    vary: Sequence[str],
    seeds: range,
    where: Where,
    overrides: Sequence[str],
    runs: Path,
    drawn: int | None = None,
) -> str:
    """The same again. ``drawn``: about so many messages in runs that are drawn."""
    words = ["zonelab", verb, source]
    for option, given in (("--vary", vary), ("--set", overrides)):
        for text in given:
            words += [option, text]
    words += [*seed_words(seeds), *where.words]
    words += ["--draw", "--messages", str(drawn)] if drawn is not None else []
    return shlex.join(words if runs == Path("runs") else [*words, "--dir", str(runs)])
