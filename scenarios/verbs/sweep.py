"""``zonelab sweep``: run every setting with every seed, show how far that is, and write what was found."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from scenarios.many_runs.where import HERE, Where, seed_words
from scenarios.run_files.directory import write_json
from scenarios.sweep.result import SweepResult
from scenarios.sweep.sweep import Sweep
from scenarios.terminal.progress import RunBar

SUMMARY_NAME = "sweep.json"


def run_sweep(sweep: Sweep, *, seeds: range, runs: Path, command: str, where: Where = HERE) -> SweepResult:
    """Sweep in ``runs/<scenario>/sweep-<fingerprint>``, going on with what is there.

    Raises ``OSError``, ``NotAccepted`` if another sweep writes there, or ``ManyRunsFailed``.
    """
    environment = sweep.environment()
    directory = runs / sweep.scenario / f"sweep-{sweep.fingerprint(environment)}"
    with sweep.state(directory, environment) as state:
        total = len(seeds) * len(sweep.settings)
        known = sum((setting.name, seed) in state.results for setting in sweep.settings for seed in seeds)
        with RunBar(f"{sweep.scenario} sweep", total=total, done=known) as bar:
            if sweep.messages is None:
                bar.announce("sweep", [setting.scenario for setting in sweep.settings], each=len(seeds))
            done = sweep.run(seeds, environment=environment, state=state, workers=where.workers, progress=bar.show)
        result = SweepResult(
            scenario=sweep.scenario,
            directory=directory,
            command=command,
            seeds=seeds,
            environment=environment.parts,
            rows=sweep.rows(done),
            known=done.known,
            complete=done.complete,
        )
        write_json(directory / SUMMARY_NAME, result.to_json())
    return result


def sweep_command(
    source: str,
    *,
    vary: Sequence[str],
    seeds: range,
    where: Where,
    messages: int | None,
    overrides: Sequence[str],
    runs: Path,
) -> str:
    words = ["zonelab", "sweep", source]
    for option, given in (("--vary", vary), ("--set", overrides)):
        for text in given:
            words += [option, text]
    words += [*seed_words(seeds), *where.words]
    words += ["--draw", "--messages", str(messages)] if messages is not None else []
    return shlex.join(words if runs == Path("runs") else [*words, "--dir", str(runs)])
