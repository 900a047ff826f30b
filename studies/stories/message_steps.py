"""The steps of each message of a run: two runs in which a message has the same steps, times aside, treat it alike.

A step is what a client was answered, a lease that ended, or a vote: a command that changes something and the answers of
the zones to it. Numbers that differ from run to run, such as those of deliveries, are no part of a step.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from zonelab.analysis.interchange.run_events import INVOKE, RunEvent, run_events
from zonelab.analysis.stories.lease_ends import LeaseEnds
from zonelab.analysis.stories.lines import StorySource
from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.engine.ports import Reply, ServerError
from zonelab.scenarios.run.command_log import SentCommand

_TOKEN = re.compile(r"[\w-]+")
_WORD_CHARACTERS_MAX = 1_000
"""A longer word of a command is a script or a body, which is not looked through."""


class StepKind(StrEnum):
    """The kind of a step."""

    PUSH = "push"
    VOTE = "vote"
    DELIVERY = "delivery"
    LEASE = "lease"
    ACK = "ack"
    EXTEND = "extend"


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageStep:
    """``words``: what happened, the same in every run in which it happens. ``time_ns``: run time, no part of that."""

    time_ns: int
    kind: StepKind
    who: str
    words: str


def message_steps(run: StorySource, commands: Iterable[SentCommand] = ()) -> dict[str, list[MessageStep]]:
    """Return the steps of each message of a run in the order of time; ``commands``: what its coordinators sent.

    Raises ``RunError``.
    """
    steps: dict[str, list[MessageStep]] = defaultdict(list)
    leases = LeaseEnds(run.info)
    for event in run_events(run):
        for row in event.messages if event.type != INVOKE else ():
            steps[row["message_id"]].append(_of_client(event, row))
            leases.note(row)
    for one in leases.over():
        ended = MessageStep(time_ns=one.time_ns, kind=StepKind.LEASE, who=one.process, words="its lease ends")
        steps[one.message_id].append(ended)
    known = frozenset(steps)
    for sent in commands:
        if is_write(sent.command):
            vote = _vote(sent)
            for message_id in _named(sent, known):
                steps[message_id].append(vote)
    return {message_id: sorted(own, key=lambda step: step.time_ns) for message_id, own in steps.items()}


def _of_client(event: RunEvent, row: Mapping[str, Any]) -> MessageStep:
    kind = StepKind.DELIVERY if event.f == "pop" else StepKind(event.f) if event.f in set(StepKind) else StepKind.ACK
    words = {"ok": "done", "fail": "failed", "info": "in doubt"}[event.type]
    words = f"gets it in {event.zone}" if event.delivers else f"{event.f}: {words}"
    words += f" ({event.error})" if event.error else ""
    return MessageStep(time_ns=event.time_ns, kind=kind, who=event.process, words=words)


def _named(sent: SentCommand, known: frozenset[str]) -> list[str]:
    """Return the ids of ``known`` that a command names."""
    found: dict[str, None] = {}
    for word in sent.command:
        text = word.decode(errors="replace") if isinstance(word, bytes) else str(word)
        if len(text) <= _WORD_CHARACTERS_MAX:
            found.update(dict.fromkeys(one for one in _TOKEN.findall(text) if one in known))
    return list(found)


def _vote(sent: SentCommand) -> MessageStep:
    name = sent.command[0]
    answers = ", ".join(
        f"{zone} {'never answers' if answer is None else _answer(answer.reply)}"
        for zone, answer in sorted(sent.answers.items())
    )
    command = name.decode() if isinstance(name, bytes) else str(name)
    return MessageStep(time_ns=sent.time_ns, kind=StepKind.VOTE, who=sent.program, words=f"{command}: {answers}")


def _answer(reply: Reply) -> str:
    """Return an answer without what differs from run to run: of text that is no status only that it is there."""
    if isinstance(reply, ZoneFailure):
        return f"{reply} ({'may have been applied' if reply.maybe_applied else 'not applied'})"
    if isinstance(reply, ServerError):
        return str(reply)
    if isinstance(reply, list):
        return f"[{', '.join(map(_answer, reply))}]"
    if reply is None:
        return "nil"
    if isinstance(reply, int):
        return str(reply) if -1 <= reply <= 1 else "a number"
    return "OK" if reply == b"OK" else "a value"


def step_texts(steps: Sequence[MessageStep]) -> list[tuple[str, str]]:
    """Return kind and words of each step: equal in two runs if it is the same in both, whoever did it and when."""
    return [(step.kind, step.words) for step in steps]
