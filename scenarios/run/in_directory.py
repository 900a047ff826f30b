"""A run that leaves a run directory, whether it is simulated or on real servers."""

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scenarios.logs import logging_to
from scenarios.run_files.directory import create_run_directory
from scenarios.run_files.record import RunRecord
from scenarios.run_files.run_json import write_run
from scenarios.spec.reading import RESOLVED_NAME, write_scenario
from scenarios.spec.scenario import Scenario

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run early and in order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Happened:
    """A run that is over. ``where``: the arm, what the zones were, and whatever else only this arm can tell."""

    record: RunRecord
    epoch_ns: int
    where: Mapping[str, Any]


def run_in_directory(
    scenario: Scenario, *, runs: Path, command: str, run: Callable[[Path], Happened]
) -> tuple[Path, RunRecord]:
    """Let ``run`` write its tables into a new directory under ``runs``, and write the scenario, log and ``run.json``.

    Raises ``OSError`` if the directory cannot be made or ``run.json`` cannot be written.
    """
    started = datetime.now(UTC)
    directory = create_run_directory(runs, scenario, started)
    write_scenario(scenario, directory / RESOLVED_NAME)
    with logging_to(directory / "lab.log"):
        done = run(directory)
        write_run(
            directory,
            scenario,
            done.record,
            started=started,
            epoch_ns=done.epoch_ns,
            command=command,
            where=done.where,
        )
    return directory, done.record
