"""``zonelab diff``: the first difference of two runs, by cause and side by side."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from zonelab.analysis.number_text import counted
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.engine.units import NS_PER_S
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.run_phases import Watcher
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.stories.again import NotMadeAgain
from zonelab.studies.stories.message_steps import MessageStep
from zonelab.studies.stories.run_diff import ComparedRun, RunDifference, StepPair, nearest_passing, run_difference

_COLUMN = 38
"""Characters of either run: both and what is between them fit into 80."""

_PAIRS_BEFORE, _PAIRS_AFTER = 4, 16
"""Pairs of steps that are shown around the first difference."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffResult:
    """``left_out``: what the second run leaves out, if it was searched for."""

    found: RunDifference
    left_out: str = ""

    def to_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "runs": [found.first.name, found.second.name],
            "left_out": self.left_out,
            "messages": found.messages,
            "only_in": list(found.alone),
            "differing": found.differing,
            "kinds": dict(found.kinds),
            "votes": found.votes,
            "without_votes": found.first.unknown or found.second.unknown,
            "message": found.message_id,
            "cause": found.cause,
            "first": found.at,
            "steps": [
                {"same": pair.same, "first": _step_json(pair.first), "second": _step_json(pair.second)}
                for pair in found.pairs
            ],
        }

    def print(self) -> None:
        print_lines(*_lines(self.found))


def diffed(first: Path, second: Path | None, *, nearest: bool, watcher: Watcher | None = None) -> DiffResult:
    """Compare two runs, or one with the nearest that passes.

    Raises ``NotAccepted`` if either is no run of a queue, or no run passes; and ``RunError``.
    """
    if nearest == (second is not None):
        raise NotAccepted("diff needs two runs, or one with --nearest")
    run = _run_of_queue(first)
    if second is not None:
        other = _run_of_queue(second)
        both = (ComparedRun.of(one, watcher=watcher) for one in (run, other))
        return DiffResult(found=run_difference(*both))
    try:
        found = nearest_passing(run, watcher=watcher)
    except NotMadeAgain as error:
        raise NotAccepted(f"--nearest: {error}") from error
    if found is None:
        raise NotAccepted(f"--nearest: no run without one of the faults of {run.path} is valid")
    return DiffResult(found=found[0], left_out=found[1])


def _run_of_queue(path: Path) -> RunDirectory:
    run = RunDirectory.open(path)
    if run.info.session is not None or run.info.workload is not None:
        used = "a session" if run.info.workload is None else f"a run of a {run.info.workload.kind}"
        raise NotAccepted(f"{run.path} is {used}; accepted: runs of queues, which are compared by message")
    return run


def _step_json(step: MessageStep | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {"at_s": step.time_ns / NS_PER_S, "kind": step.kind, "who": step.who, "what": step.words}


def _lines(found: RunDifference) -> Iterator[str]:
    names = found.first.name, found.second.name
    yield f"first:  {names[0]}"
    yield f"second: {names[1]}"
    if not found.votes:
        yield from wrap(f"Without votes: {found.first.unknown or found.second.unknown}.", 80)
    for alone, which in zip(found.alone, ("first", "second"), strict=True):
        if alone:
            yield f"{counted(alone, 'message')} in the {which} run alone."
    if found.message_id is None:
        yield f"No difference in {counted(found.messages, 'message')} of both."
        return
    kinds = ", ".join(f"{kind} {number:,}" for kind, number in found.kinds.items())
    yield f"{found.differing:,} of {counted(found.messages, 'message')} differ, first in: {kinds}."
    yield from ("", *_first(found), "")
    yield from _table(found)


def _first(found: RunDifference) -> Iterator[str]:
    pair = found.pairs[found.at]
    kind = next(step.kind for step in (pair.first, pair.second) if step is not None)
    yield f"First difference: {kind} of {found.message_id}"
    for which, step in (("first", pair.first), ("second", pair.second)):
        what = "nothing" if step is None else f"{step.time_ns / NS_PER_S:.6f} s, {step.who}: {step.words}"
        yield from wrap(f"{which}: {what}", 80, initial_indent="  ", subsequent_indent="    ")
    yield from wrap(f"Cause: {found.cause}.", 80)


def _table(found: RunDifference) -> Iterator[str]:
    begin, end = max(0, found.at - _PAIRS_BEFORE), found.at + _PAIRS_AFTER
    if begin:
        yield f"({counted(begin, 'step')} before, the same in both)"
    for pair in found.pairs[begin:end]:
        yield from _rows(pair)
    if more := len(found.pairs[end:]):
        yield f"({counted(more, 'step')} more; --json has them all)"


def _rows(pair: StepPair) -> Iterator[str]:
    left, right = _cell(pair.first), _cell(pair.second)
    for number in range(max(len(left), len(right))):
        mark = "│" if pair.same else "≠"
        one, other = (cell[number] if number < len(cell) else "" for cell in (left, right))
        yield f"{one:<{_COLUMN}} {mark} {other}".rstrip()


def _cell(step: MessageStep | None) -> list[str]:
    if step is None:
        return ["–"]
    return wrap(f"{step.time_ns / NS_PER_S:.6f} {step.words}", _COLUMN, subsequent_indent="  ")
