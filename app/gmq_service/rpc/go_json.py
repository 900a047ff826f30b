"""JSON as Go's encoding/json reads and writes it, where that differs from Python's
(https://pkg.go.dev/encoding/json).
"""

import codecs
import json
import re
from collections.abc import Callable
from typing import Any

WHITESPACE = " \t\n\r"

_ESCAPED = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029]')
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_SURROGATES = re.compile("[\ud800-\udfff]")
_IN_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)

INT_MAX = 2**63 - 1
INT_MIN = -(2**63)


def _each_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("gmq-each-byte", _each_byte)


def decoded(data: bytes | bytearray) -> str:
    """Return ``data`` as text, with U+FFFD for each byte that is not UTF-8."""
    return data.decode("utf-8", "gmq-each-byte")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


scan_value: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_constant=_no_constant).scan_once  # type: ignore[attr-defined]
"""The value that begins at a place, and where it ends. Strings keep lone surrogates, which ``whole`` takes out."""


def whole(text: str) -> str:
    """A surrogate without its other half becomes U+FFFD."""
    return text if _SURROGATES.search(text) is None else _SURROGATES.sub("\ufffd", text)


def quoted(text: str) -> str:
    """Return ``text`` as a JSON string; ``<``, ``>``, ``&``, U+2028 and U+2029 are escaped."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def compacted(raw: str) -> str:
    """A JSON value as it was written, without the white space between its parts, escaped as ``quoted`` escapes."""
    parts, end = [], 0
    for match in _IN_STRING.finditer(raw):
        parts += [_without_blanks(raw[end : match.start()]), match[0]]
        end = match.end()
    parts.append(_without_blanks(raw[end:]))
    return re.sub("[<>&\u2028\u2029]", _escape, "".join(parts))


def int_of(text: str) -> int:
    """Return what ``strconv.Atoi`` does where its error is ignored: 0 for no number, else the nearest that 64 bits
    hold.
    """
    if _NUMBER.fullmatch(text) is None:
        return 0
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > 19:
        return INT_MIN if text[0] == "-" else INT_MAX
    return max(INT_MIN, min(INT_MAX, int(text)))


def encoded(value: Any) -> str:
    """Encode like ``json.Marshal``: texts, whole numbers, truth, null, lists and objects."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case int():
            return str(value)
        case list():
            return f"[{','.join(map(encoded, value))}]"
        case dict():
            members = (f"{quoted(name)}:{encoded(item)}" for name, item in value.items())
            return f"{{{','.join(members)}}}"
    raise TypeError(f"{type(value).__name__} has no JSON here")


_VERB = re.compile(r"%(?:[+\-# 0]*(?:\*|[0-9]+)?(?:\.(?:\*|[0-9]+)?)?)(.?)", re.DOTALL)


def printed(text: str) -> str:
    """``text`` as a format of Go's ``fmt`` that is given no values, which its ``Errorf`` then says in place of them."""

    def missing(match: "re.Match[str]") -> str:
        verb = match[1]
        return "%" if verb == "%" else f"%!{verb}(MISSING)" if verb else "%!(NOVERB)"

    return _VERB.sub(missing, text) if "%" in text else text


def _without_blanks(text: str) -> str:
    return "".join(text.split(None)) if text else text


def _escape(match: "re.Match[str]") -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
