"""The format of a log of events: a line of JSON for each thing that happened to a message.

The first line may say more of the whole log: ``{"format": "zonelab-events", "version": 1, "drained": true}``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FORMAT_NAME = "zonelab-events"
VERSION = 1
EXAMPLE = '{"op": "push", "id": "1"}'

LINE_BYTES_MAX = 1_000_000
ID_LENGTH_MAX = 1_000
TIME_NS_MAX = 9_000_000_000_000_000_000
MILLIS_MAX = 1_000_000_000_000

OPS: Mapping[str, str] = {
    "push": "a producer is about to hand the message to the queue",
    "accepted": "the queue has answered that it has the message",
    "refused": "the queue has answered that it does not have the message",
    "begin": "a worker has got the message and begins to work on it",
    "ending": "the worker has done it and is about to tell the queue; if it dies now, nobody knows whether it has",
    "end": "the worker has finished it, and the queue knows",
    "failed": "the attempt failed, and the queue knows: it may be tried again",
    "effect": "what the work was for has happened, said by what holds it: a database, a mailbox",
}
"""Names that ``op`` can have, each with what happened to the message."""

PUSH, ACCEPTED, REFUSED, BEGIN, ENDING, END, FAILED, EFFECT = range(len(OPS))


class EventError(Exception):
    """A log of events cannot be used. The message is one line that names file, line and program."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventField:
    """A field of an event. ``most``: its largest value, or its greatest length."""

    meaning: str
    most: int
    text: bool = False
    required: bool = False

    def problem(self, value: object) -> str | None:
        """Return why ``value`` is not accepted; None if it is."""
        if value is None and not self.required:
            return None
        shown = json.dumps(value)[:60]
        if self.text:
            usable = isinstance(value, str) and 0 < len(value) <= self.most and _is_utf8(value)
            return None if usable else f"got {shown}; accepted: text of 1 to {self.most:,} characters"
        usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= self.most
        return None if usable else f"got {shown}; accepted: a whole number from 0 to {self.most:,}"


FIELDS: Mapping[str, EventField] = {
    "op": EventField(meaning="what happened", text=True, required=True, most=20),
    "id": EventField(meaning="the message: the queue's own id of it", text=True, required=True, most=ID_LENGTH_MAX),
    "t_ns": EventField(meaning="when, in nanoseconds since 1970", most=TIME_NS_MAX),
    "program": EventField(meaning="who says so; the name of the file if not given", text=True, most=ID_LENGTH_MAX),
    "zone": EventField(meaning="where the program is", text=True, most=64),
    "delay_ms": EventField(meaning="on a push: how long from then on it must not be delivered", most=MILLIS_MAX),
    "lease_ms": EventField(meaning="on a push or a begin: how long no other may get it", most=MILLIS_MAX),
    "attempt": EventField(meaning="on a begin and what ends it: the number of the attempt", most=MILLIS_MAX),
}
"""The fields of an event, by name. Others are ignored."""

TEXTS = tuple(name for name, field in FIELDS.items() if field.text)
NUMBERS = tuple(name for name, field in FIELDS.items() if not field.text)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of an event."""
    properties: dict[str, Any] = {}
    for name, field in FIELDS.items():
        kind: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": field.most}
        if not field.text:
            kind = {"type": "integer", "minimum": 0, "maximum": field.most}
        properties[name] = {"description": field.meaning, **(kind if field.required else {"anyOf": [kind, _NULL]})}
    properties["op"]["enum"] = list(OPS)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{FORMAT_NAME}, version {VERSION}",
        "type": "object",
        "required": [name for name, field in FIELDS.items() if field.required],
        "properties": properties,
    }


_NULL = {"type": "null"}


@dataclass(frozen=True, kw_only=True, slots=True)
class LogHeader:
    """The first line of a log, if it says more of the log. ``drained``: it was kept until the queue was empty."""

    drained: bool = False


def header_of(line: bytes) -> LogHeader | None:
    """Return what the first ``line`` of a log says of the whole; None if it is an event. Raises ``ValueError``."""
    if FORMAT_NAME.encode() not in line:
        return None
    value = _object_in(line)
    if isinstance(value, str) or value.get("format") != FORMAT_NAME:
        return None
    if (version := value.get("version", VERSION)) != VERSION:
        raise ValueError(f"version: got {json.dumps(version)[:60]}; accepted: {VERSION}")
    drained = value.get("drained", False)
    if not isinstance(drained, bool):
        raise ValueError(f"drained: got {json.dumps(drained)[:60]}; accepted: true, false")
    return LogHeader(drained=drained)


def is_event_log(line: bytes) -> bool:
    """Return whether a file that begins with ``line`` is a log of events."""
    value = _object_in(line)
    return not isinstance(value, str) and ("op" in value or value.get("format") == FORMAT_NAME)


def event_in(line: bytes) -> dict[str, Any] | str:
    """Return the event of a line, or why there is none, in words."""
    if len(line) > LINE_BYTES_MAX:
        return f"got {len(line):,} bytes; accepted: lines of at most {LINE_BYTES_MAX:,}"
    value = _object_in(line)
    if isinstance(value, str):
        return value
    for name, field in FIELDS.items():
        if (problem := field.problem(value.get(name))) is not None:
            return f"{name}: {problem}"
    if value["op"] not in OPS:
        return f"op: got {json.dumps(value['op'])}; accepted: {', '.join(OPS)}"
    return {name: value.get(name) for name in FIELDS}


def program_in(line: bytes) -> str | None:
    """Return the program that a line names, if it can be read."""
    value = _object_in(line[:LINE_BYTES_MAX])
    program = None if isinstance(value, str) else value.get("program")
    return program if isinstance(program, str) else None


def _object_in(line: bytes) -> dict[str, Any] | str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return f"got {line[:60].decode('utf-8', 'replace')!r}; accepted: an object in JSON"
    return value if isinstance(value, dict) else f"got {line[:60].decode('utf-8', 'replace')!r}; accepted: an object"


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
