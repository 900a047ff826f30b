"""What trimming must not take: of any two zones in office one has each record that a group has yet to read."""

from functools import cache

from admission.records import between
from admission.zone import Data


@cache
def trimmed_too_far(pair: tuple[Data, Data], joined: int) -> str:
    """What is wrong with two zones in office. ``joined``: of the second group's writes the last that was decided."""
    one, other = pair
    for data in pair:
        if stale := data.records & between(0, data.span.first):
            return f"a zone whose log begins at {data.span.first} has {_named(data, stale)}, which was trimmed"
    if one.generation != other.generation:
        return ""
    newest, group = max(pair, key=lambda data: data.version), max(one.group, other.group)
    if group.number < joined:
        return f"the second group's cursor, whose write {joined} was decided, is in neither of two zones"
    begins = group.cursor if group.number else max(one.span.floor, other.span.floor)
    lost = between(min(newest.cursor, begins), len(newest.log)) & ~(one.records | other.records)
    return f"neither of two zones has {_named(newest, lost)}, which a group has yet to read" if lost else ""


def _named(data: Data, records: int) -> str:
    return " ".join(body for offset, body in enumerate(data.log) if records >> offset & 1)
