"""Commands that a process of the user's own programs sent, as a run with ``record_commands`` keeps them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = "programs"
"""The folder of a run directory with what its programs wrote and sent."""


class SentByProgram(NamedTuple):
    """A command that a process sent: run time, the address that it came from, and the words, cut short."""

    time_ns: int
    connection: str
    command: str


def commands_path(directory: Path, process: str) -> Path:
    """Return the file of a run for the commands of ``process``."""
    return directory / FOLDER / f"{process}.commands.jsonl"


def sent_by(directory: Path, process: str, *, epoch_ns: int) -> Iterator[SentByProgram]:
    """Yield what ``process`` sent, as far as the run has recorded it; a line that is torn ends it."""
    try:
        file = commands_path(directory, process).open(encoding="utf-8")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            try:
                one = json.loads(line)
                yield SentByProgram(one["t_ns"] - epoch_ns, one["connection"], one["command"])
            except (ValueError, KeyError):
                return
