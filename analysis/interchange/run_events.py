"""The events of a run as exports read them: one at a time, each with the rows of its messages."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from zonelab.analysis.runs.accesses import VALUES, VALUES_NAME
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stories.lines import StorySource

INVOKE = "invoke"


class RunEvent(NamedTuple):
    """An event of the history. ``messages``: its rows that concern a message, columns as in ``operations``."""

    time_ns: int
    process: str
    zone: str
    f: str
    type: str
    op_id: int
    error: str | None
    messages: tuple[dict[str, Any], ...]

    @property
    def delivers(self) -> bool:
        """True if messages were delivered with it."""
        return self.f == "pop" and self.type == "ok"


def run_events(run: StorySource) -> Iterator[RunEvent]:
    """Yield the events of a run in the order of time. Raises ``RunError``."""
    rows = (row for batch in run.operations() for row in batch.to_pylist())
    for _, of_event in groupby(rows, key=itemgetter("index")):
        own = list(of_event)
        first = own[0]
        yield RunEvent(
            time_ns=first["time_ns"],
            process=first["process"],
            zone=first["zone"],
            f=first["f"],
            type=first["type"],
            op_id=first["op_id"],
            error=first["error"],
            messages=tuple(row for row in own if row["message_id"] is not None),
        )


def values_by_operation(run: RunDirectory) -> dict[int, dict[str, Any]]:
    """Return what each operation of a workload brought and got, by ``op_id``. Raises ``RunError``."""
    table = run.table(VALUES_NAME, VALUES)
    return {} if table is None else {row["op_id"]: row for row in table.to_pylist()}
