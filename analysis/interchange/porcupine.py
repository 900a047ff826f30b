"""A run as input of Porcupine: its ``Operation`` values, one JSON object a line, to be read by Go's ``encoding/json``.

An operation whose end is not known returns at the largest ``int64``: Porcupine then lets it take effect at any time
after its call.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from zonelab.analysis.interchange.run_events import INVOKE, RunEvent, run_events, values_by_operation
from zonelab.analysis.runs.directory import RunDirectory

NEVER = 2**63 - 1

_OF_INPUT = ("key", "argument", "expected")
_OF_OUTPUT = ("result", "applied", "members")


def write_porcupine(run: RunDirectory, file: TextIO) -> None:
    """Write the operations of a run, in the order in which they ended. Raises ``RunError``."""
    for operation in porcupine_operations(run):
        file.write(json.dumps(operation, ensure_ascii=False) + "\n")


def porcupine_operations(run: RunDirectory) -> Iterator[dict[str, Any]]:
    """Yield the operations as Porcupine names their fields."""
    values, numbers = values_by_operation(run), dict[str, int]()
    begun: dict[int, RunEvent] = {}
    for event in run_events(run):
        numbers.setdefault(event.process, len(numbers))
        if event.type == INVOKE:
            begun[event.op_id] = event
        else:
            first = begun.pop(event.op_id)
            yield _operation(first, event, numbers[event.process], values.get(event.op_id))
    for first in begun.values():
        yield _operation(first, first._replace(type="info"), numbers[first.process], values.get(first.op_id))


def _operation(begun: RunEvent, ended: RunEvent, client: int, row: Mapping[str, Any] | None) -> dict[str, Any]:
    known = ended.type != "info"
    asked: dict[str, Any] = {"op": begun.f, "zone": begun.zone, "client": begun.process}
    got: dict[str, Any] = {"status": ended.type}
    if row is not None:
        asked |= {name: row[name] for name in _OF_INPUT if row[name] is not None}
        got |= {name: row[name] for name in _OF_OUTPUT if row[name] is not None}
    if ids := [one["message_id"] for one in begun.messages]:
        asked["messages"] = ids
    if ended.delivers:
        got["messages"] = [one["message_id"] for one in ended.messages]
    if ended.error:
        got["error"] = ended.error
    end = ended.time_ns if known else NEVER
    return {"ClientId": client, "Input": asked, "Call": begun.time_ns, "Output": got, "Return": end}
