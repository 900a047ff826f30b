"""One request of JSON-RPC 1.0 out of what a client sent, as Go's net/rpc/jsonrpc reads it.

Source: https://pkg.go.dev/net/rpc/jsonrpc, and what gmq v1.0 answered when it was run (docs/gmq-service.md).
"""

import json
import re
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from zonelab.app.gmq_service.rpc.go_json import WHITESPACE, compacted, decoded, scan_value, whole

_NULL = b"null"
_BLANKS = re.compile(rb"[ \t\n\r]+")
_STRUCTURE = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_NEAR_END = 12
"""An error so close to the end may be a word or an escape that has not arrived whole."""

ABSENT = object()
"""In place of params that were not sent, or null."""


class NotJson(Exception):
    """The bytes received are no request and cannot become one: Go closes the connection without a word."""


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """``id``: as it was written, ``null`` if there was none. ``params``: ``ABSENT`` if there were none."""

    method: str
    params: Any
    id: str


class RequestFramer:
    """Cuts requests out of bytes, wherever packets and lines begin and end."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = self._depth = 0
        self._in_string = False
        self._whole_tried = False

    @property
    def held(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> list[RpcRequest]:
        """The requests that are complete now. Raises ``NotJson``; those before it are in its argument."""
        self._buffer += data
        found: list[RpcRequest] = []
        try:
            while (request := self._next()) is not None:
                found.append(request)
        except NotJson as error:
            raise NotJson(found) from error
        return found

    def _next(self) -> RpcRequest | None:
        buffer = self._buffer
        blanks = _BLANKS.match(buffer)
        if blanks is not None:
            begin = blanks.end()
            del buffer[:begin]
            self._scanned = max(0, self._scanned - begin)
        if not buffer:
            return None
        if buffer[0] != ord("{"):
            return self._null()
        end = self._end()
        if end is None:
            if not self._whole_tried:
                self._whole_tried = True
                _refuse_hopeless(decoded(buffer))
            return None
        text = decoded(buffer[:end])
        del buffer[:end]
        self._scanned = self._depth = 0
        self._whole_tried = False
        return _request(text)

    def _null(self) -> RpcRequest | None:
        """``null`` is a request without anything; no other value but an object is one."""
        if not _NULL.startswith(self._buffer[:4]):
            raise NotJson
        if len(self._buffer) < len(_NULL):
            return None
        del self._buffer[: len(_NULL)]
        return RpcRequest("", ABSENT, "null")

    def _end(self) -> int | None:
        """Return where the object at the beginning ends; looks at each byte once, however they come."""
        buffer, position = self._buffer, self._scanned
        while True:
            if self._in_string:
                position = _string_until(buffer, position)
                if buffer[position : position + 1] != b'"':
                    self._scanned = position
                    return None
                self._in_string = False
                position += 1
            match = _STRUCTURE.search(buffer, position)
            if match is None:
                self._scanned = len(buffer)
                return None
            mark, position = match[0], match.end()
            if mark == b'"':
                self._in_string = True
            elif mark in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 0:
                    return position


def _string_until(buffer: bytearray, position: int) -> int:
    """Return where the string around ``position`` ends: at its quotation mark, or before what has not arrived whole."""
    mark = buffer.find(b'"', position)
    end = mark if mark >= 0 else len(buffer)
    if buffer.find(b"\\", position, end) < 0:
        return end
    match = _IN_STRING.match(buffer, position)
    assert match is not None  # of no byte at least
    return match.end()


def _refuse_hopeless(text: str) -> None:
    """Raise for a request whose first piece is wrong: half a megabyte of garbage need not be awaited to its end."""
    try:
        scan_value(text, 0)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Unterminated") and error.pos < len(text) - _NEAR_END:
            raise NotJson from error
    except (ValueError, RecursionError) as error:
        raise NotJson from error
    except StopIteration:
        return


def _request(text: str) -> RpcRequest:
    method, params, request_id = "", ABSENT, "null"
    try:
        for name, value, raw in _members(text):
            match name.lower():
                case "method":
                    if value is not None and not isinstance(value, str):
                        raise NotJson
                    method = method if value is None else whole(value)
                case "params":
                    params = ABSENT if value is None else value
                case "id":
                    request_id = compacted(raw)
    except (ValueError, RecursionError) as error:
        raise NotJson from error
    return RpcRequest(method, params, request_id)


def _members(text: str) -> Any:
    """Name, value and how it was written, of each member of the object ``text``. Raises ``ValueError``."""
    position = _skip(text, 1)
    if text[position : position + 1] == "}":
        return
    while True:
        if text[position : position + 1] != '"':
            raise ValueError(position)
        name, position = scanstring(text, position + 1, True)  # noqa: FBT003 (how it is called)
        position = _skip(text, position)
        if text[position : position + 1] != ":":
            raise ValueError(position)
        begin = _skip(text, position + 1)
        try:
            value, position = scan_value(text, begin)
        except StopIteration as error:  # which a generator must not let out
            raise ValueError(begin) from error
        yield name, value, text[begin:position]
        position = _skip(text, position)
        if text[position : position + 1] == "}":
            return
        if text[position : position + 1] != ",":
            raise ValueError(position)
        position = _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    while text[position : position + 1] in WHITESPACE and position < len(text):
        position += 1
    return position
