"""Commands around the death of a program of the user's own, and those that name a message: the path of a job.

What was struck and at which command is in ``run.json``; all that a program sent is there only with ``record_commands``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zonelab.analysis.runs.program_commands import SentByProgram, strike_words
from zonelab.analysis.stories.lines import Line, StorySource

STRIKES_MAX = 3
"""Strikes that a story tells: the first that may have hit the message's work."""

COMMANDS_MAX = 20
"""Most commands of a path that are shown: the first and the last of those that name the message."""

_BEFORE = 3
"""Commands shown before the one at which a program was hit."""

_SHAPE_LENGTH = 40
_NUMBERED = re.compile(r"[0-9a-f]*[0-9][0-9a-f.-]*")


def program_lines(run: StorySource, message_id: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Yield the path of a message, of which ``rows`` are the events in the history, and the strikes at its programs.

    Of a message that nobody began to work on, any program may have had it.
    """
    if not run.info.programs or not rows:
        return
    began = {row["process"].partition(".")[0] for row in rows if row["f"] == "pop" and row["type"] == "ok"}
    strikes = [
        (process, strike)
        for process, facts in run.info.programs.items()
        if not began or process in began
        for strike in facts.get("strikes", ())
        if strike.get("hit") and strike.get("command") and strike["time_ns"] >= rows[0]["time_ns"]
    ]
    first = sorted(strikes, key=lambda one: int(one[1]["time_ns"]))[:STRIKES_MAX]
    struck = [line for process, strike in first for line in _strike_lines(run, process, strike)]
    at = {(strike.get("program", process), f"  {strike['command']}") for process, strike in first}
    told = {(line.who, line.what) for line in struck} | at
    yield from (line for line in _naming(run, message_id) if (line.who, line.what) not in told)
    yield from struck


def _naming(run: StorySource, message_id: str) -> list[Line]:
    """Return the commands of all programs that name the message."""
    name = re.compile(rf"(?<![\w-]){re.escape(message_id)}(?![\w-])")
    found = [
        Line(sent.time_ns, sent.program, f"  {sent.command}")
        for process in run.info.programs
        for sent in run.program_commands(process)
        if name.search(sent.command)
    ]
    found.sort()
    return found if len(found) <= COMMANDS_MAX else [*found[: COMMANDS_MAX // 2], *found[-COMMANDS_MAX // 2 :]]


def _strike_lines(run: StorySource, process: str, strike: Mapping[str, Any]) -> Iterator[Line]:
    """Yield what a process sent before it was hit, at which command it was, and what would have come then."""
    at_ns, command, when = int(strike["time_ns"]), str(strike["command"]), str(strike.get("when", "before"))
    program = str(strike.get("program", process))
    timed = list(zip(strike.get("earlier_ns", ()), strike.get("earlier", ()), strict=False))  # older runs have no times
    yield from (Line(sent_ns, program, f"  {before}") for sent_ns, before in timed[-_BEFORE:])
    yield Line(at_ns, program, strike_words(strike), kept=True)
    after = None if when == "before" else _usual_next(list(run.program_commands(process)), command, before_ns=at_ns)
    if after is not None:
        yield Line(at_ns, program, f"after such a command it sends, as before: {after}", kept=True)


def _usual_next(sent: Sequence[SentByProgram], command: str, *, before_ns: int) -> str | None:
    """Return what came last behind a command like ``command`` on the same connection; None if that is not known."""
    shape, awaited, found = _shape(command), set[str](), None
    for one in sent:
        if one.time_ns >= before_ns:
            break
        if one.connection in awaited:
            found = one.command if _shape(one.command) != shape else found
            awaited.discard(one.connection)
        if _shape(one.command) == shape:
            awaited.add(one.connection)
    return found


def _shape(command: str) -> str:
    """Return a command without what differs from job to job, as far as numbers tell that."""
    return _NUMBERED.sub("#", command[:_SHAPE_LENGTH])
