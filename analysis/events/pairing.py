"""Operations out of events: which answer belongs to which push, and which end to which begin."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zonelab.analysis.events.format import ACCEPTED, BEGIN, EFFECT, END, ENDING, PUSH
from zonelab.analysis.events.reading import ABSENT, EventLog, Ints
from zonelab.analysis.units import NS_PER_MS

NONE = -1
"""Stands for an event that is not there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spans:
    """Operations of one kind, by the numbers of the events that begin and end each; ``end`` ``NONE``: nothing did."""

    begin: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.begin)

    def but(self, ids: Ints, log: EventLog) -> Self:
        """Return the operations on other messages than ``ids``."""
        kept = ~np.isin(log.id[self.begin], ids)
        return replace(self, begin=self.begin[kept], end=self.end[kept])


@dataclass(frozen=True, kw_only=True, slots=True)
class EventProblem:
    """A contradiction among events: the event that shows it, and what it is, in words."""

    event: int
    words: str


def pushes(log: EventLog) -> tuple[Spans, list[EventProblem]]:
    """Return the attempts to push, and what is pushed again though the queue had it: an id is one message.

    An answer belongs to the push in front of it; an answer without one is an attempt of its own, of no duration.
    """
    events = _of_messages(log, PUSH, BEGIN)
    kind, ids = log.op[events], log.id[events]
    asks, follows = kind == PUSH, _equal_to_previous(ids)
    answers = ~asks & follows & np.concatenate(([False], asks[:-1])) if len(events) else ~asks
    begins = (asks | ~answers).nonzero()[0]
    answered = np.concatenate((answers[1:], [False]))[begins] if len(events) else answers
    end = np.where(answered, events[np.minimum(begins + 1, len(events) - 1)], NONE)
    end = np.where(asks[begins], end, events[begins])
    accepted = np.cumsum(kind == ACCEPTED) - (kind == ACCEPTED)
    first = np.maximum.accumulate(np.where(~follows, np.arange(len(events)), 0)) if len(events) else begins
    again = begins[accepted[begins] > accepted[first[begins]]]
    problems = [
        EventProblem(event=int(events[one]), words=f"{_name(log, events[one])} is pushed again: an id is one message")
        for one in again.tolist()
    ]
    return Spans(begin=events[begins], end=end), problems


def attempts(log: EventLog) -> tuple[Spans, list[EventProblem]]:
    """Return the attempts to work on messages, and the ends that have no begin.

    An end belongs to the last begin of its message and program, and attempt if all events of work say theirs, that
    nothing has ended. An end without a begin is an attempt of its own: the message was worked on. It is none behind the
    end of an attempt with a begin that has finished the message: that may be all there was.
    """
    events = _of_messages(log, BEGIN, EFFECT)
    keys = _attempt_keys(log, events)
    told = log.op[events] != ENDING
    events, keys = events[told], keys[told]
    order = np.lexsort((np.arange(len(events)), *keys.T[::-1]))
    events, keys = events[order], keys[order]
    begins = log.op[events] == BEGIN
    follows = np.concatenate(([False], (keys[1:] == keys[:-1]).all(axis=1))) if len(events) else begins
    paired = ~begins & follows & np.concatenate(([False], begins[:-1])) if len(events) else begins
    end = np.full(len(events), NONE)
    positions = paired.nonzero()[0]
    end[positions - 1] = events[positions]
    alone = ~begins & ~paired
    if alone.any():
        group = np.cumsum(~follows)
        for rows in _groups(group, np.unique(group[alone])):
            _pair(rows, events, begins, end, alone)
    end[alone] = events[alone]
    problems = [
        EventProblem(event=int(event), words=f"{_name(log, event)} ends here, and its begin is not in the log")
        for event in events[alone]
    ]
    finished = begins & (end != NONE) & (log.op[end] == END)
    first_end = np.full(len(log.ids), len(log))
    np.minimum.at(first_end, log.id[events[finished]], end[finished])
    kept = begins | (alone & (events < first_end[log.id[events]]))
    return Spans(begin=events[kept], end=end[kept]), problems


def endings(log: EventLog, worked: Spans) -> Ints:
    """Return for each attempt when its worker was about to tell the queue that it has ended; ``NONE``: it is not said.

    It belongs to the last begin of its message and program, and attempt, that is in front of it.
    """
    asked = np.full(len(worked), NONE)
    about = (log.op == ENDING).nonzero()[0]
    if not (len(about) and len(worked)):
        return asked
    _, codes = np.unique(_attempt_keys(log, np.concatenate((worked.begin, about))), axis=0, return_inverse=True)
    place = codes.reshape(-1) * len(log) + np.concatenate((worked.begin, about))
    begins, about_at = place[: len(worked)], place[len(worked) :]
    order = np.argsort(begins)
    found = np.searchsorted(begins[order], about_at) - 1
    attempt = order[np.maximum(found, 0)]
    ended = np.where(worked.end[attempt] == NONE, len(log), worked.end[attempt])
    own = (found >= 0) & (begins[attempt] // len(log) == about_at // len(log)) & (about < ended)
    np.maximum.at(asked, attempt[own], about[own])
    return asked


def unseen_attempts(log: EventLog, seen: Spans) -> tuple[Ints, list[EventProblem]]:
    """Return the effects of which no attempt is in the log: of a message with more effects than attempts, the last."""
    effects = _of_messages(log, EFFECT, EFFECT + 1)
    runs = np.bincount(log.id[seen.begin], minlength=len(log.ids))
    first = np.maximum.accumulate(np.where(~_equal_to_previous(log.id[effects]), np.arange(len(effects)), 0))
    surplus = effects[np.arange(len(effects)) - first >= runs[log.id[effects]]]
    words = "has more effects than attempts: a run that no worker reported"
    return surplus, [EventProblem(event=int(one), words=f"{_name(log, one)} {words}") for one in surplus]


def without_effect(log: EventLog, ends: Ints) -> NDArray[np.bool_]:
    """Return which of the ``ends`` report a message as finished of which no effect is in the log, where any are."""
    effects = log.op == EFFECT
    if not effects.any():
        return np.zeros(len(ends), np.bool_)
    missing: NDArray[np.bool_] = (log.op[ends] == END) & ~np.isin(log.id[ends], log.id[effects])
    return missing


def clock_problems(log: EventLog) -> Iterator[EventProblem]:
    """Yield, for two programs, the begin that is the longest before the push of its message: their clocks disagree."""
    if not log.timed:
        return
    pushed = np.full(len(log.ids), NONE)
    first = (log.op == PUSH).nonzero()[0][::-1]
    pushed[log.id[first]] = first
    begins = ((log.op == BEGIN) & (pushed[log.id] != NONE)).nonzero()[0]
    before_ns = log.time_ns[pushed[log.id[begins]]] - log.time_ns[begins]
    wrong = before_ns > NS_PER_MS
    begins, before_ns = begins[wrong], before_ns[wrong]
    told = set()
    for one in np.argsort(-before_ns, kind="stable").tolist():
        event, push = int(begins[one]), int(pushed[log.id[begins[one]]])
        programs = int(log.program[event]), int(log.program[push])
        if programs not in told:
            told.add(programs)
            earlier = f"{before_ns[one] / NS_PER_MS:,.0f} ms before {log.programs[programs[1]]} pushed it"
            yield EventProblem(event=event, words=f"{_name(log, event)} begins {earlier}: their clocks disagree")


def _attempt_keys(log: EventLog, events: Ints) -> NDArray[np.int64]:
    """Return what the events of one attempt have in common, and those of others have not."""
    numbered = bool((log.attempt[events] != ABSENT).all())
    attempt = log.attempt[events] if numbered else np.zeros(len(events), np.int64)
    return np.stack((log.id[events], log.program[events], attempt), axis=1)


def _of_messages(log: EventLog, first: int, beyond: int) -> Ints:
    """Return the events whose ``op`` is from ``first`` to before ``beyond``, by message and then by time."""
    events = ((log.op >= first) & (log.op < beyond)).nonzero()[0]
    return events[np.argsort(log.id[events], kind="stable")]


def _equal_to_previous(values: Ints) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = np.zeros(len(values), np.bool_)
    same[1:] = values[1:] == values[:-1]
    return same


def _groups(group: Ints, chosen: Ints) -> Iterator[range]:
    for number in chosen.tolist():
        yield range(int(np.searchsorted(group, number)), int(np.searchsorted(group, number, side="right")))


def _pair(rows: range, events: Ints, begins: NDArray[np.bool_], end: Ints, alone: NDArray[np.bool_]) -> None:
    """Pair the ends of one message and program with the last begin that is open, one by one."""
    unended: list[int] = []
    for row in rows:
        if begins[row]:
            end[row] = NONE
            unended.append(row)
        elif unended:
            end[unended.pop()], alone[row] = events[row], False


def _name(log: EventLog, event: int) -> str:
    return str(log.ids[int(log.id[event])])
