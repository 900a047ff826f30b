"""Commands that a process of the user's own programs sent, as a run with ``record_commands`` keeps them, and that at
which it was hit."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = "programs"
"""The folder of a run directory with what its programs wrote and sent."""

_STRUCK = {"SIGKILL": "is killed", "SIGTERM": "is asked to end", "SIGSTOP": "is stopped"}
_WHEN = {
    "before": "before this command, which no zone gets",
    "applied": "when every zone has applied this command, without its answer",
    "replied": "with the answer to this command",
}


class SentByProgram(NamedTuple):
    """A command that a process sent: run time, program of the history, the address that it came from, and the words,
    cut short.
    """

    time_ns: int
    program: str
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
                program = one.get("program", process)  # older records lack it
                yield SentByProgram(one["t_ns"] - epoch_ns, program, one["connection"], one["command"])
            except (ValueError, KeyError):
                return


def strike_words(strike: Mapping[str, Any]) -> str:
    """Return what became of a process that was hit at a command, by its record in ``run.json``."""
    how = _STRUCK.get(strike["signal"], f"gets {strike['signal']}")
    return f"{how} {_WHEN[strike.get('when', 'before')]}: {strike['command']}"
