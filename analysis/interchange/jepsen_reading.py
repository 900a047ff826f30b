"""Histories of Jepsen, in EDN or JSON, as accesses that our checkers judge."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from zonelab.analysis.interchange.edn import EdnError, read_all
from zonelab.analysis.interchange.foreign_history import (
    ELSEWHERE,
    ForeignHistory,
    ForeignHistoryError,
    operation_named,
)
from zonelab.analysis.interchange.jepsen import AT_REST, EMPTY, NAMES, REFUSED
from zonelab.analysis.runs.accesses import Access, FinalContents
from zonelab.analysis.workloads import WorkloadKind

_TYPES = ("invoke", "ok", "fail", "info")
_ONLY_KEY = "0"
"""The key of a history in which values stand alone."""


def read_jepsen(text: str, kind: WorkloadKind) -> ForeignHistory:
    """Return the history in ``text``: an event a line, or all in one vector. Raises ``ForeignHistoryError``."""
    events = list(_events(text))
    clients = [one for one in events if isinstance(one.fields.get("process"), int)]
    keyed = _is_keyed([one for one in clients if one.type == "invoke"])
    accesses = _paired([replace(one, keyed=keyed) for one in clients], kind)
    return ForeignHistory.of(kind, accesses, _at_rest(events))


@dataclass(frozen=True, slots=True)
class _JepsenEvent:
    """``number``: its place in the history, from 1; ``keyed``: values stand with a key."""

    number: int
    fields: Mapping[str, Any]
    keyed: bool = False

    @property
    def place(self) -> str:
        return f"event {self.number}"

    @property
    def type(self) -> str:
        return str(self.fields["type"])

    @property
    def key(self) -> str:
        value = self.fields.get("value")
        return str(value[0]) if self.keyed and _is_pair(value) else _ONLY_KEY

    @property
    def value(self) -> Any:
        value = self.fields.get("value")
        return value[1] if self.keyed and _is_pair(value) else value

    @property
    def time_ns(self) -> int:
        time = self.fields.get("time")
        return time if isinstance(time, int) else self.number


def _is_pair(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple) and len(value) == 2


def _events(text: str) -> Iterator[_JepsenEvent]:
    for number, fields in enumerate(_maps(text), 1):
        place = f"event {number}"
        if not isinstance(fields, dict):
            raise ForeignHistoryError(f"{place}: got {str(fields)[:60]!r}; accepted: a map, as {{:type :invoke, …}}")
        if fields.get("type") not in _TYPES:
            raise ForeignHistoryError(f"{place}: type: got {fields.get('type')}; accepted: {', '.join(_TYPES)}")
        yield _JepsenEvent(number, fields)


def _maps(text: str) -> Iterator[Any]:
    """Yield the events, which may be in one vector."""
    head = text.lstrip().removeprefix("[").lstrip()[:2].replace(" ", "")
    try:
        values = _json_values(text) if head.startswith('{"') else read_all(text)
        for value in values:
            yield from value if isinstance(value, list) else (value,)
    except EdnError as error:
        line = text.count("\n", 0, error.offset) + 1
        raise ForeignHistoryError(f"line {line}: {error}; accepted: EDN, or JSON") from error
    except json.JSONDecodeError as error:
        raise ForeignHistoryError(f"line {error.lineno}: {error.msg}; accepted: JSON, or EDN") from error


def _json_values(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip() if len(text) - at < 1_000 else True:
        while text[at].isspace():
            at += 1
        value, at = decoder.raw_decode(text, at)
        yield value


def _is_keyed(invocations: Sequence[_JepsenEvent]) -> bool:
    """Values stand with a key if all do; two values of a compare-and-set alone are a pair, too."""
    others = [one for one in invocations if one.fields.get("f") != "cas"]
    if others:
        return all(_is_pair(one.fields.get("value")) for one in others)
    return all(_is_pair(value := one.fields.get("value")) and _is_pair(value[1]) for one in invocations)


def _paired(events: Sequence[_JepsenEvent], kind: WorkloadKind) -> Iterator[Access]:
    """Yield the operations; places are those of the events of clients alone."""
    begun: dict[int, tuple[int, int, _JepsenEvent]] = {}
    operations = 0
    for place, event in enumerate(events):
        process = event.fields["process"]
        if (event.type == "invoke") == (process in begun):
            what = "begins before its last operation has ended" if process in begun else "ends what it has not begun"
            raise ForeignHistoryError(f"{event.place}: process {process} {what}")
        if event.type == "invoke":
            begun[process] = operations, place, event
            operations += 1
        else:
            yield _access(*begun.pop(process), event, place, kind)
    for op, place, event in begun.values():
        yield _access(op, place, event, None, None, kind)


def _access(
    op: int, begin: int, invoked: _JepsenEvent, ended: _JepsenEvent | None, end: int | None, kind: WorkloadKind
) -> Access:
    aliases = {theirs: ours for ours, theirs in NAMES.get(kind, {}).items()}
    f = operation_named(kind, invoked.fields.get("f"), aliases, place=invoked.place)
    known = ended is not None and ended.type != "info"
    outcome = "info" if ended is None else ended.type
    error = None if ended is None else ended.fields.get("error")
    answered = outcome == "ok" or (outcome == "fail" and (error == EMPTY or _is_refusal(f, ended)))
    who = invoked.fields["process"]
    return Access(
        op=op,
        process=str(invoked.fields.get("client", f"process-{who}")),
        zone=str(invoked.fields.get("zone", ELSEWHERE)),
        f=f,
        type="ok" if answered else "fail" if outcome == "fail" else "info",
        key=invoked.key,
        **_brought(f, invoked, op),
        **(_got(f, ended) if answered and ended is not None else {}),
        begin=begin,
        end=end if known else None,
        begin_ns=invoked.time_ns,
        end_ns=ended.time_ns if known and ended is not None else None,
        error=None if error is None or answered else str(error),
    )


def _is_refusal(f: str, ended: _JepsenEvent | None) -> bool:
    """A refused compare-and-set that does not say what it found certainly did nothing, and shows nothing."""
    if ended is None or ended.fields.get("error") != REFUSED:
        return False
    return f != "cas" or "found" in ended.fields


def _brought(f: str, invoked: _JepsenEvent, op: int) -> dict[str, Any]:
    value = invoked.value
    if f == "cas":
        if not _is_pair(value):
            raise ForeignHistoryError(f"{invoked.place}: value of a cas: got {value}; accepted: [old new]")
        return {"expected": _text(value[0]), "argument": _text(value[1])}
    if f == "acquire":
        return {"argument": _text(value) or f"{op}"}
    return {"argument": _text(value)} if f in ("write", "create", "add", "push") else {}


def _got(f: str, ended: _JepsenEvent) -> dict[str, Any]:
    refused = ended.type == "fail"
    if f == "members":
        members = ended.value
        if not isinstance(members, list | tuple | frozenset):
            raise ForeignHistoryError(f"{ended.place}: value of a read: got {members}; accepted: a set or a vector")
        return {"members": tuple(sorted(str(_text(one)) for one in members))}
    if f == "cas":
        value = ended.value
        found = ended.fields.get("found") if refused else value[0] if _is_pair(value) else None
        return {"applied": not refused, "result": _text(found)}
    if f in ("create", "acquire"):
        return {"applied": not refused}
    return {"result": None if refused else _text(ended.value)} if f in ("read", "next", "pop") else {}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str) if isinstance(value, bool | list | tuple | dict) else str(value)


def _at_rest(events: Sequence[_JepsenEvent]) -> FinalContents | None:
    """Return what zones held at the end, if the history has what our exports add."""
    for event in reversed(events):
        value = event.fields.get("value")
        if event.fields.get("f") == AT_REST and isinstance(value, dict):
            return FinalContents(
                {zone: {key: tuple(map(str, own)) for key, own in keys.items()} for zone, keys in value.items()}
            )
    return None
