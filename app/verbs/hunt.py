"""``zonelab hunt``: run the seeds in several processes, show how far that is, and sum up what was found."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from zonelab.studies.hunt.findings import HuntResult, sum_up
from zonelab.studies.hunt.seeds import HuntTarget
from zonelab.studies.many_runs.where import HERE, Where, seed_words


def run_hunt(target: HuntTarget, *, seeds: Sequence[int], runs: Path, command: str, where: Where = HERE) -> HuntResult:
    """Hunt in ``runs/<scenario>/hunt-<fingerprint>``, and continue what is there. Raises ``OSError``."""
    experiment = target.experiment(seeds)
    directory = experiment.directory(runs)
    return sum_up(target, experiment.conduct(directory, where=where), directory, command=command)


def hunt_command(
    source: str, *, level: str, seeds: range, where: Where, messages: int, overrides: Sequence[str], runs: Path
) -> str:
    words = ["zonelab", "hunt", source, "--level", level, *seed_words(seeds)]
    words += [*where.words, "--messages", str(messages)]
    for override in overrides:
        words += ["--set", override]
    return shlex.join(words if runs == Path("runs") else [*words, "--dir", str(runs)])
