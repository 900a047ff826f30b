"""``zonelab sweep`` and ``limit``: every setting with every seed, show how far that is, and write what was found."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from zonelab.analysis.whole_files import write_json
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.state import RunState
from zonelab.studies.many_runs.where import HERE, Where, seed_words
from zonelab.studies.reporting.progress import RunBar
from zonelab.studies.sweep.every_setting import EverySetting, FoundBy


def run_every_setting(
    study: EverySetting[FoundBy], *, seeds: range, runs: Path, command: str, where: Where = HERE
) -> FoundBy:
    """In ``runs/<scenario>/<verb>-<fingerprint>``, going on with what is there.

    Raises ``OSError``, ``NotAccepted`` if another program writes there, or ``ManyRunsFailed``.
    """
    environment = study.environment()
    directory = runs / study.scenario / f"{study.verb}-{environment.naming(study.experiment())}"
    with study.state(directory, environment) as state:
        done = made(study, seeds, state=state, environment=environment, where=where)
        found: FoundBy = study.found(
            scenario=study.scenario,
            directory=directory,
            command=command,
            seeds=seeds,
            environment=environment.parts,
            rows=study.rows(done),
            known=done.known,
            complete=done.complete,
        )
        write_json(directory / f"{study.verb}.json", found.to_json())
    return found


def made(
    study: EverySetting[FoundBy],
    seeds: range,
    *,
    state: RunState,
    environment: Environment,
    where: Where,
) -> AllRuns:
    """With a bar. Raises ``ManyRunsFailed``."""
    total = len(seeds) * len(study.settings)
    known = sum((setting.name, seed) in state.results for setting in study.settings for seed in seeds)
    with RunBar(f"{study.scenario} {study.verb}", total=total, done=known, unit=study.unit) as bar:
        if words := study.forecast(len(seeds)):
            bar.tell(f"{study.verb}: {words}")
        return study.run(seeds, environment=environment, state=state, workers=where.workers, progress=bar.show)


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
