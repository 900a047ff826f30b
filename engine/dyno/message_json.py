"""The JSON form of a message in the payload hash.

Field order, omitted empty strings, escapes and the tolerant reader are those of the Jackson mapper in
https://github.com/Netflix/dyno-queues (``RedisDynoQueue.om``), so either side reads what the other wrote.
"""

import json
import re
from typing import Any

from zonelab.engine.dyno.errors import PayloadError
from zonelab.engine.message import Message

_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ESCAPE = re.compile(r"\\(?:\\|u....)")
"""An escape by number, or an escaped backslash, after which a ``u`` is only a letter."""


def encode(message: Message) -> bytes:
    """JSON of ``message``: id, payload, timeout (ms), priority, shard; empty strings are left out.

    ``lease`` (ms) is ours, and only there if the message has a lease of its own.

    Raises ``ValueError`` if a string cannot be written as UTF-8.
    """
    fields: dict[str, str | int] = {"id": message.id}
    if message.payload:
        fields["payload"] = message.payload
    fields["timeout"] = message.timeout_ms
    fields["priority"] = message.priority
    if message.shard:
        fields["shard"] = message.shard
    if message.lease_ms is not None:
        fields["lease"] = message.lease_ms
    return _json(fields).encode()


def decode(raw: bytes, *, message_id: str) -> Message:
    """The message stored under ``message_id``. Unknown fields are ignored, missing and null ones take defaults.

    Raises ``PayloadError`` if ``raw`` is no JSON object or a field has no value that a message can hold.
    """
    try:
        fields = json.loads(raw)
        if not isinstance(fields, dict):
            raise TypeError(f"expected an object, got {type(fields).__name__}")
        return Message(
            id=_text(fields.get("id")) or message_id,
            payload=_text(fields.get("payload")),
            timeout_ms=int(fields.get("timeout") or 0),
            priority=int(fields.get("priority") or 0),
            shard=_text(fields.get("shard")) or None,
            lease_ms=None if (lease_ms := fields.get("lease")) is None else int(lease_ms),
        )
    except (ValueError, TypeError) as error:
        raise PayloadError(f"stored payload of {message_id!r} is not a message: {error}") from error


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return _json(value)


def _json(value: Any) -> str:
    """JSON without blanks, the numbers of escapes in upper case as Jackson's (``CharTypes`` in jackson-core)."""
    written = _encoded(value)
    if "\\u" not in written:
        return written
    return _ESCAPE.sub(lambda escape: escape[0][:2] + escape[0][2:].upper(), written)
