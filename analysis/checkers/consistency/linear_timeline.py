"""A few operations on one register as a picture in text: who did what, and what overlapped what."""

from collections.abc import Mapping, Sequence

from zonelab.analysis.checkers.consistency.linear import RegisterOperation, RegisterStep

COLUMN = 6
"""Characters between two neighbouring events."""


def timeline(
    operations: Sequence[RegisterOperation], *, names: Mapping[int, str], notes: Mapping[int, str] | None = None
) -> list[str]:
    """One line per operation in order of begin; ``names`` says who did the operation of an id, ``notes`` what else.

    Events are drawn at equal distances: the picture shows their order, not the time between them. ``→`` at the end
    of a bar: nobody knows when, or whether, the operation took effect.
    """
    events = sorted({one.begin for one in operations} | {one.end for one in operations if one.end is not None})
    place = {event: number * COLUMN for number, event in enumerate(events)}
    width = max(place.values(), default=0) + COLUMN
    who = max((len(names[one.id]) for one in operations), default=0)
    what = max((len(words(one)) for one in operations), default=0)
    lines = []
    for one in sorted(operations, key=lambda one: (one.begin, one.id)):
        begin, end = place[one.begin], width if one.end is None else place[one.end]
        bar = " " * begin + "├" + "─" * (end - begin - 1) + ("→" if one.end is None else "┤")
        note = (notes or {}).get(one.id, "")
        lines.append(f"{names[one.id]:<{who}}  {words(one):<{what}}  {bar:<{width + 1}}  {note}".rstrip())
    return lines


def words(operation: RegisterOperation) -> str:
    value = _value(operation.value)
    if operation.kind is RegisterStep.READ:
        return f"read {value}"
    if operation.kind is RegisterStep.WRITE:
        return f"write {value}"
    if operation.kind is RegisterStep.CAS:
        return f"cas {_value(operation.expected)} to {value}"
    return f"refused for not being {value}"


def _value(value: object) -> str:
    return "nil" if value is None else str(value)
