"""A run as a history of Jepsen: one map an event, in EDN or JSON.

Names of operations and shapes of values are those that Jepsen's own checkers read (``:read``, ``:write``, ``:cas``,
``:add``, ``:enqueue``, ``:dequeue``, ``:drain``, ``:acquire``, ``:generate``); a key and a value together are a pair,
as of ``jepsen.independent``. What Jepsen has no place for is in fields of ours, which it passes over.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, TextIO

from zonelab.analysis.interchange.edn import Keyword, written
from zonelab.analysis.interchange.run_events import INVOKE, RunEvent, run_events, values_by_operation
from zonelab.analysis.runs.accesses import held
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.workloads import WorkloadKind

AT_REST = "at-rest"
"""``f`` of the last event, of the nemesis: what each zone held at the end, by zone and key."""

NEMESIS = "nemesis"

NAMES: Mapping[WorkloadKind, Mapping[str, str]] = {
    WorkloadKind.SET: {"members": "read"},
    WorkloadKind.COUNTER: {"next": "generate"},
    WorkloadKind.LIST: {"push": "enqueue", "pop": "dequeue"},
}
"""Jepsen's names of operations that are called something else here."""

REFUSED = "refused"
"""The error of a conditional update that was answered and did not take effect; what it found may stand beside it."""

EMPTY = "empty"


def write_jepsen(run: RunDirectory, file: TextIO, *, as_json: bool) -> None:
    """Write the history of a run, an event a line. Raises ``RunError``."""
    for number, operation in enumerate(jepsen_history(run)):
        whole = {"index": number, **operation}
        if as_json:
            file.write(json.dumps(whole, ensure_ascii=False, default=sorted) + "\n")
        else:
            file.write(written({Keyword(name): _keyword(name, value) for name, value in whole.items()}) + "\n")


def _keyword(name: str, value: Any) -> Any:
    is_name = name in ("type", "f") or value == NEMESIS
    return Keyword(value) if is_name and isinstance(value, str) else value


def jepsen_history(run: RunDirectory) -> Iterator[dict[str, Any]]:
    """Yield the events of clients and faults as maps of Jepsen, in the order of time, then what zones held at rest."""
    faults = list(_faults(run))
    for operation in _Clients(run).operations():
        while faults and faults[0]["time"] < operation["time"]:
            yield faults.pop(0)
        yield operation
    yield from faults
    contents = held(run) if run.info.workload is not None else None
    if contents is not None:
        by_zone = {zone: {key: list(own) for key, own in keys.items()} for zone, keys in contents.by_zone.items()}
        yield {"type": "info", "process": NEMESIS, "f": AT_REST, "value": by_zone, "time": run.info.end_ns or 0}


def _faults(run: RunDirectory) -> Iterator[dict[str, Any]]:
    moments = []
    for band in run.faults():
        moments.append((band.begin_ns, f"start-{band.kind}", band.target))
        if band.end_ns is not None:
            moments.append((band.end_ns, f"stop-{band.kind}", band.target))
    for time_ns, f, target in sorted(moments):
        operation = {"type": "info", "process": NEMESIS, "f": f.replace("_", "-"), "value": target, "time": time_ns}
        yield from (operation, dict(operation))  # as Jepsen has it: once as it is asked for, once as it is done


class _Clients:
    """The clients as processes of Jepsen, each of which does one thing at a time and nothing after what is in doubt."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        workload = run.info.workload
        self._kind = None if workload is None else WorkloadKind(workload.kind)
        self._values = values_by_operation(run)
        self._free: dict[str, list[int]] = defaultdict(list)
        self._numbers = count()
        self._busy: dict[int, int] = {}

    def operations(self) -> Iterator[dict[str, Any]]:
        for event in run_events(self._run):
            operation = self._operation(event)
            where = {"zone": event.zone, "client": event.process}
            yield {**operation, "process": self._process(event), "time": event.time_ns, **where}

    def _process(self, event: RunEvent) -> int:
        if event.type == INVOKE:
            free = self._free[event.process]
            self._busy[event.op_id] = free.pop() if free else next(self._numbers)
            return self._busy[event.op_id]
        number = self._busy.pop(event.op_id)
        if event.type != "info":
            self._free[event.process].append(number)
        return number

    def _operation(self, event: RunEvent) -> dict[str, Any]:
        if self._kind is None:
            return _of_queue(event)
        row = self._values.get(event.op_id)
        operation: dict[str, Any] = {"type": event.type, "f": NAMES.get(self._kind, {}).get(event.f, event.f)}
        if row is None:
            return {**operation, "value": None, **_error(event)}
        operation["value"] = [row["key"], _value(event, row)]
        if event.type == "ok" and row["applied"] is False:
            found = {"found": row["result"]} if event.f == "cas" else {}
            return {**operation, "type": "fail", "error": REFUSED, **found}
        if event.type == "ok" and event.f == "pop" and row["result"] is None:
            return {**operation, "type": "fail", "error": EMPTY}
        return {**operation, **_error(event)}


def _value(event: RunEvent, row: Mapping[str, Any]) -> Any:
    if event.f == "cas":
        return [row["expected"], row["argument"]]
    if event.f == "members":
        return None if event.type != "ok" else frozenset(row["members"] or ())
    if event.f in ("read", "next", "pop"):
        return row["result"] if event.type == "ok" else None
    return row["argument"]


def _error(event: RunEvent) -> dict[str, Any]:
    return {"error": event.error} if event.error else {}


def _of_queue(event: RunEvent) -> dict[str, Any]:
    """Return the event of a queue's client: several messages at once are a vector, as of Jepsen's ``:drain``."""
    ids = [row["message_id"] for row in event.messages]
    value = ids[0] if len(ids) == 1 else ids or None
    if event.f == "pop":
        kind = "fail" if event.type == "ok" and not ids else event.type
        empty = {"error": EMPTY} if event.type == "ok" and not ids else _error(event)
        return {"type": kind, "f": "drain" if len(ids) > 1 else "dequeue", "value": value, **empty}
    return {"type": event.type, "f": "enqueue" if event.f == "push" else event.f, "value": value, **_error(event)}
