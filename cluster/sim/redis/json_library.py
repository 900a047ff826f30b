"""``cjson`` of scripts, as lua-cjson 2.1 reads and writes JSON: https://github.com/mpx/lua-cjson."""

import math
import re
from collections.abc import Callable
from typing import Any

from lupa import lua51

from zonelab.cluster.sim.redis.script_functions import LuaFailure, type_name

_DEPTH_MAX = 1000
_SPARSE_SAFE, _SPARSE_RATIO = 10, 2
_ESCAPES = {
    **{code: b"\\u%04x" % code for code in (*range(32), 127)},
    **dict(zip(b'"\\/\b\t\n\f\r', (rb"\"", rb"\\", rb"\/", rb"\b", rb"\t", rb"\n", rb"\f", rb"\r"), strict=True)),
}
_UNESCAPED = {ord(code): byte for code, byte in zip('"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True)}
_SPACE = re.compile(rb"[ \t\n\r]*")
_PLAIN = re.compile(rb'[^"\\\x00]*')
_NUMBER = re.compile(rb"[+-]?(?:0x[0-9a-f]+|inf(?:inity)?|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)", re.I)
_SIGNS = {
    ord("{"): "T_OBJ_BEGIN",
    ord("}"): "T_OBJ_END",
    ord("["): "T_ARR_BEGIN",
    ord("]"): "T_ARR_END",
    ord(","): "T_COMMA",
    ord(":"): "T_COLON",
}
_WORDS = {b"true": ("T_BOOLEAN", True), b"false": ("T_BOOLEAN", False), b"null": ("T_NULL", None)}

_Token = tuple[str, Any, int]
"""Its kind, its value or what is wrong with it, and where it begins."""


class JsonLibrary:
    """``table`` makes a table of Lua out of a list or dict, and ``null`` is what scripts see of a null."""

    def __init__(self, *, table: Callable[[Any], Any], null: Any) -> None:
        self._table, self._null = table, null

    def encode(self, *words: Any) -> bytes:
        """Return a value as JSON."""
        if len(words) != 1:
            raise LuaFailure("bad argument #1 to 'encode' (expected 1 argument)")
        try:
            return self._written(words[0], 0)
        except RecursionError:
            raise LuaFailure(f"Cannot serialise, excessive nesting ({_DEPTH_MAX + 1})") from None

    def _written(self, value: Any, depth: int) -> bytes:
        if isinstance(value, bytes):
            return _quoted(value)
        if value is None or lua51.lua_type(value) == "userdata":
            return b"null"
        if isinstance(value, bool):
            return b"true" if value else b"false"
        if isinstance(value, int | float):
            return _number(value)
        if lua51.lua_type(value) != "table":
            raise LuaFailure(f"Cannot serialise {lua51.lua_type(value) or 'function'}: type not supported")
        if depth >= _DEPTH_MAX:
            raise LuaFailure(f"Cannot serialise, excessive nesting ({depth + 1})")
        items = list(value.items())
        length = _array_length(items)
        if length > 0:
            by_place = dict(items)
            return b"[%b]" % b",".join(self._written(by_place.get(at), depth + 1) for at in range(1, length + 1))
        return b"{%b}" % b",".join(b"%b:%b" % (_key(key), self._written(item, depth + 1)) for key, item in items)

    def decode(self, *words: Any) -> Any:
        """Return the value of a JSON text."""
        if len(words) != 1:
            raise LuaFailure("bad argument #1 to 'decode' (expected 1 argument)")
        text = words[0]
        if isinstance(text, int | float) and not isinstance(text, bool):
            text = b"%.14g" % text
        if not isinstance(text, bytes):
            raise LuaFailure(f"bad argument #1 to 'decode' (string expected, got {type_name(text)})")
        if len(text) >= 2 and (not text[0] or not text[1]):
            raise LuaFailure("JSON parser does not support UTF-16 or UTF-32")
        try:
            return _Parser(text, self._table, self._null).whole()
        except RecursionError:
            raise LuaFailure(f"Found too many nested data structures ({_DEPTH_MAX + 1})") from None


def _quoted(word: bytes) -> bytes:
    return b'"%b"' % b"".join(_ESCAPES.get(byte) or bytes((byte,)) for byte in word)


def _number(value: float) -> bytes:
    if math.isnan(value) or math.isinf(value):
        raise LuaFailure("Cannot serialise number: must not be NaN or Inf")
    return b"%.14g" % value


def _key(key: Any) -> bytes:
    if isinstance(key, bytes):
        return _quoted(key)
    if isinstance(key, int | float) and not isinstance(key, bool):
        return b'"%b"' % _number(key)
    raise LuaFailure(f"Cannot serialise {type_name(key)}: table key must be a number or string")


def _array_length(items: list[tuple[Any, Any]]) -> int:
    """Return the length of an array; 0 of an empty table, and -1 of one that is none."""
    largest = 0
    for key, _ in items:
        if isinstance(key, bool) or not isinstance(key, int | float) or key < 1 or key != int(key):
            return -1
        largest = max(largest, int(key))
    if largest > len(items) * _SPARSE_RATIO and largest > _SPARSE_SAFE:
        raise LuaFailure("Cannot serialise table: excessively sparse array")
    return largest


class _Parser:
    def __init__(self, text: bytes, table: Callable[[Any], Any], null: Any) -> None:
        self._text, self._table, self._null = text, table, null
        self._at = self._depth = 0

    def whole(self) -> Any:
        value = self._value(self._next())
        self._expect("the end", self._next(), "T_END")
        return value

    def _expect(self, wanted: str, token: _Token, *kinds: str) -> _Token:
        kind, value, at = token
        if kind not in kinds:
            found = value if kind == "T_ERROR" else kind
            raise LuaFailure(f"Expected {wanted} but found {found} at character {at + 1}")
        return token

    def _value(self, token: _Token) -> Any:
        kind, value, _ = self._expect(
            "value", token, "T_STRING", "T_NUMBER", "T_BOOLEAN", "T_NULL", "T_OBJ_BEGIN", "T_ARR_BEGIN"
        )
        if kind == "T_NULL":
            return self._null
        if kind not in ("T_OBJ_BEGIN", "T_ARR_BEGIN"):
            return value
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise LuaFailure(f"Found too many nested data structures ({self._depth}) at character {self._at}")
        made = self._object() if kind == "T_OBJ_BEGIN" else self._array()
        self._depth -= 1
        return made

    def _object(self) -> Any:
        fields: dict[bytes, Any] = {}
        token = self._next()
        if token[0] == "T_OBJ_END":
            return self._table(fields)
        while True:
            _, key, _ = self._expect("object key string", token, "T_STRING")
            self._expect("colon", self._next(), "T_COLON")
            fields[key] = self._value(self._next())
            token = self._expect("comma or object end", self._next(), "T_COMMA", "T_OBJ_END")
            if token[0] == "T_OBJ_END":
                return self._table(fields)
            token = self._next()

    def _array(self) -> Any:
        items: list[Any] = []
        token = self._next()
        if token[0] == "T_ARR_END":
            return self._table(items)
        while True:
            items.append(self._value(token))
            token = self._expect("comma or array end", self._next(), "T_COMMA", "T_ARR_END")
            if token[0] == "T_ARR_END":
                return self._table(items)
            token = self._next()

    def _next(self) -> _Token:
        text = self._text
        match = _SPACE.match(text, self._at)
        at = self._at = self._at if match is None else match.end()
        if at == len(text):
            return "T_END", None, at
        if (kind := _SIGNS.get(text[at])) is not None:
            self._at += 1
            return kind, None, at
        if text[at] == ord('"'):
            return self._string(at)
        for word, (kind, value) in _WORDS.items():
            if text.startswith(word, at):
                self._at += len(word)
                return kind, value, at
        number = _NUMBER.match(text, at)
        if number is None or text[at] == ord("+"):
            return "T_ERROR", "invalid token", at
        self._at = number.end()
        written = number[0].decode()
        return "T_NUMBER", float.fromhex(written) if "x" in written.lower() else float(written), at

    def _string(self, begin: int) -> _Token:
        text, at, parts = self._text, begin + 1, []
        while True:
            match = _PLAIN.match(text, at)
            assert match is not None
            parts.append(match[0])
            at = match.end()
            if at >= len(text) or text[at] == 0:
                return "T_ERROR", "unexpected end of string", at
            if text[at] == ord('"'):
                self._at = at + 1
                return "T_STRING", b"".join(parts), begin
            escaped = text[at + 1 : at + 2]
            if escaped == b"u":
                code, size = _unicode(text, at)
                if code is None:
                    return "T_ERROR", "invalid unicode escape code", at
                parts.append(code)
                at += size
            elif escaped and escaped[0] in _UNESCAPED:
                parts.append(bytes((_UNESCAPED[escaped[0]],)))
                at += 2
            else:
                return "T_ERROR", "invalid escape code", at


def _unicode(text: bytes, at: int) -> tuple[bytes | None, int]:
    """Return the character of an escape, or of a pair of them, and the bytes that it took."""
    first = _hexadecimal(text[at + 2 : at + 6])
    if first is None or 0xDC00 <= first < 0xE000:
        return None, 0
    if not 0xD800 <= first < 0xDC00:
        return chr(first).encode(), 6
    second = _hexadecimal(text[at + 8 : at + 12]) if text[at + 6 : at + 8] == b"\\u" else None
    if second is None or not 0xDC00 <= second < 0xE000:
        return None, 0
    return chr(0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF)).encode(), 12


def _hexadecimal(digits: bytes) -> int | None:
    return int(digits, 16) if re.fullmatch(rb"[0-9a-fA-F]{4}", digits) else None
