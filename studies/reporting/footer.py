"""The last lines of every verb over many runs, and the command line that repeats it."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from zonelab.analysis.number_text import counted

INTERRUPTED = "Interrupted. Run the same command to continue."


def footer(
    command: str, *, complete: bool = True, reused: int = 0, unit: tuple[str, str] = ("run", "runs")
) -> Iterator[str]:
    """Yield how many results were ``reused``, whether the study was interrupted, and what repeats or continues it."""
    if reused:
        yield f"{counted(reused, *unit)} {'was' if reused == 1 else 'were'} reused from an earlier invocation."
    if not complete:
        yield INTERRUPTED
    yield f"Repeat or continue with: {command}"


def repeated(command: str) -> str:
    """Return the last line of a verb that makes single runs, which can be repeated and not continued."""
    return f"Repeat with: {command}"


def without_verdict(problems: Sequence[str], *, file: Path, shown: int = 5) -> Iterator[str]:
    """Yield the first ``problems``, and how many more ``file`` has."""
    yield from (f"no verdict: {problem}" for problem in problems[:shown])
    if len(problems) > shown:
        yield f"and {len(problems) - shown} more without a verdict, in {file}"


def command_line(words: Iterable[str], *, overrides: Iterable[str] = (), runs: Path = Path("runs")) -> str:
    """Return ``words`` as a shell takes them, with ``--set`` for each override and ``--dir`` unless it is the usual."""
    changed = (word for override in overrides for word in ("--set", override))
    return shlex.join([*words, *changed, *(["--dir", str(runs)] if runs != Path("runs") else [])])
