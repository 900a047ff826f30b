"""Operations as Porcupine has them, in JSON, as accesses that our checkers judge; fields as in docs/exports.md."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zonelab.analysis.interchange.foreign_history import (
    ELSEWHERE,
    ForeignHistory,
    ForeignHistoryError,
    operation_named,
)
from zonelab.analysis.interchange.porcupine import NEVER
from zonelab.analysis.runs.accesses import Access
from zonelab.analysis.workloads import WorkloadKind

_FIELDS: Mapping[str, type] = {"ClientId": int, "Input": dict, "Call": int, "Output": dict, "Return": int}
_STATUSES = ("ok", "fail", "info")


def read_porcupine(text: str, kind: WorkloadKind) -> ForeignHistory:
    """Return the history in ``text``, an operation a line. Raises ``ForeignHistoryError``."""
    operations = list(_operations(text))
    places = _places(operations)
    return ForeignHistory.of(kind, (_access(number, places, one, kind) for number, one in enumerate(operations)))


def _operations(text: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            operation = json.loads(line)
        except ValueError:
            operation = None
        if not isinstance(operation, dict):
            raise ForeignHistoryError(f"line {number}: got {line[:60]!r}; accepted: an operation, as an object in JSON")
        for name, kind in _FIELDS.items():
            if not isinstance(operation.get(name), kind):
                got = json.dumps(operation.get(name))[:60]
                what = "an object" if kind is dict else "a whole number"
                raise ForeignHistoryError(f"line {number}: {name}: got {got}; accepted: {what}")
        if operation["Return"] < operation["Call"]:
            raise ForeignHistoryError(f"line {number}: Return: got {operation['Return']}; accepted: not before Call")
        if (status := operation["Output"].get("status", "ok")) not in _STATUSES:
            raise ForeignHistoryError(f"line {number}: status: got {status}; accepted: {', '.join(_STATUSES)}")
        yield {**operation, "line": number}


def _places(operations: Sequence[Mapping[str, Any]]) -> dict[tuple[int, bool], int]:
    """Return the place of the begin and the end of each operation: of one moment, begins come first."""
    moments = [(one["Call"], False, number) for number, one in enumerate(operations)]
    moments += [(one["Return"], True, number) for number, one in enumerate(operations) if _is_known(one)]
    return {(number, is_end): place for place, (_, is_end, number) in enumerate(sorted(moments))}


def _is_known(operation: Mapping[str, Any]) -> bool:
    return bool(operation["Return"] != NEVER and operation["Output"].get("status", "ok") != "info")


def _access(
    number: int, places: Mapping[tuple[int, bool], int], operation: Mapping[str, Any], kind: WorkloadKind
) -> Access:
    asked, got = operation["Input"], operation["Output"]
    f = operation_named(kind, asked.get("op"), {}, place=f"line {operation['line']}")
    known = _is_known(operation)
    status: Any = got.get("status", "ok") if known else "info"
    members = got.get("members")
    applied = got.get("applied", True if f in ("cas", "create", "acquire") and status == "ok" else None)
    return Access(
        op=number,
        process=str(asked.get("client", f"client-{operation['ClientId']}")),
        zone=str(asked.get("zone", ELSEWHERE)),
        f=f,
        type=status,
        key=str(asked.get("key", "0")),
        argument=_text(asked.get("argument")),
        expected=_text(asked.get("expected")),
        result=_text(got.get("result")),
        applied=applied,
        members=tuple(sorted(map(str, members or ()))) if f == "members" and status == "ok" else None,
        begin=places[number, False],
        end=places[number, True] if known else None,
        begin_ns=operation["Call"],
        end_ns=operation["Return"] if known else None,
        error=got.get("error"),
    )


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
