"""Histories that a register did answer, drawn at random, for tests and measurements of the linearizability checker."""

from dataclasses import dataclass
from random import Random

from zonelab.analysis.checkers.consistency.linear import RegisterOperation, RegisterStep, Value

WRITE_SHARE = 0.4


@dataclass(slots=True)
class _Step:
    """An operation under way: ``seen`` is set once it has taken effect, as its value and what it found."""

    number: int
    kind: RegisterStep
    begin: int
    seen: tuple[Value, Value] | None = None


def register_history(
    random: Random, operations: int, clients: int, *, cas_share: float = 0.0, doubt_share: float = 0.0
) -> list[RegisterOperation]:
    """``operations`` of ``clients`` that take turns at random; each takes effect at one moment between its events.

    ``cas_share`` of them are compare-and-sets, 40 % writes of values that are all different, the others reads. A
    share ``doubt_share`` of the updates is never answered.
    """
    value: Value = None
    position = number = 0
    busy: dict[int, _Step] = {}
    done: list[RegisterOperation] = []
    while len(done) < operations:
        client = random.randrange(clients)
        step = busy.get(client)
        if step is None:
            if number < operations:
                busy[client] = _Step(number, _kind(random.random(), cas_share), position)
                number += 1
        elif step.seen is None:
            found = value
            value = value if step.kind is RegisterStep.READ else f"v{step.number}"
            step.seen = value, found
        else:
            unanswered = step.kind is not RegisterStep.READ and random.random() < doubt_share
            done.append(_operation(step, None if unanswered else position))
            del busy[client]
        position += 1
    return done


def _kind(drawn: float, cas_share: float) -> RegisterStep:
    if drawn < cas_share:
        return RegisterStep.CAS
    return RegisterStep.WRITE if drawn < cas_share + WRITE_SHARE else RegisterStep.READ


def _operation(step: _Step, end: int | None) -> RegisterOperation:
    assert step.seen is not None, "an operation ends after it has taken effect"
    value, found = step.seen
    expected = found if step.kind is RegisterStep.CAS else None
    return RegisterOperation(id=step.number, kind=step.kind, value=value, expected=expected, begin=step.begin, end=end)
