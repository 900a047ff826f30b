"""``zonelab limit``: up to which rate every setting keeps up with its load, with the same seeds."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from scenarios.limit.limits import Limits
from scenarios.limit.result import LimitResult
from scenarios.many_runs.where import HERE, Where, seed_words
from scenarios.run_files.directory import write_json
from scenarios.terminal.progress import RunBar

SUMMARY_NAME = "limit.json"


def run_limits(limits: Limits, *, seeds: range, runs: Path, command: str, where: Where = HERE) -> LimitResult:
    """Search in ``runs/<scenario>/limit-<fingerprint>``, going on with what is there.

    Raises ``OSError``, ``NotAccepted`` if another search writes there, or ``ManyRunsFailed``.
    """
    environment, name = limits.environment(), limits.settings[0].scenario.name
    directory = runs / name / f"limit-{limits.fingerprint(environment)}"
    with limits.state(directory, environment) as state:
        total = len(seeds) * len(limits.settings)
        known = sum((setting.name, seed) in state.results for setting in limits.settings for seed in seeds)
        with RunBar(f"{name} limit", total=total, done=known) as bar:
            done = limits.run(seeds, environment=environment, state=state, workers=where.workers, progress=bar.show)
        result = LimitResult(
            scenario=name,
            directory=directory,
            command=command,
            seeds=seeds,
            environment=environment.parts,
            rows=limits.rows(done),
            known=done.known,
            complete=done.complete,
        )
        write_json(directory / SUMMARY_NAME, result.to_json())
    return result


def limit_command(
    source: str, *, vary: Sequence[str], seeds: range, where: Where, overrides: Sequence[str], runs: Path
) -> str:
    words = ["zonelab", "limit", source]
    for option, given in (("--vary", vary), ("--set", overrides)):
        for text in given:
            words += [option, text]
    words += [*seed_words(seeds), *where.words]
    return shlex.join(words if runs == Path("runs") else [*words, "--dir", str(runs)])
