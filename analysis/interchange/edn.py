"""EDN (https://github.com/edn-format/edn): what histories of Jepsen need of it, read and written.

Tagged values lose their tags, and symbols and characters are text: in a history they say nothing more.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TOKEN = re.compile(
    r"""[\s,]*(?:;[^\n]*[\s,]*)*(?:(?P<open>\#\{|[\[({])|(?P<close>[\])}])|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<discard>\#_)
    |(?P<word>\\.[^\s,\[\](){}"]*|[^\s,\[\](){}";]+)|(?P<end>$)|(?P<bad>.))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_INTEGER, _FLOAT = re.compile(r"[+-]?\d+N?"), re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?")
_CLOSE = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_CONSTANTS: Mapping[str, Any] = {"nil": None, "true": True, "false": False}
DEPTH_MAX = 100
"""Collections within collections: a history has four."""


class EdnError(ValueError):
    """The text is no EDN; ``offset``: where."""

    def __init__(self, words: str, *, offset: int) -> None:
        super().__init__(words)
        self.offset = offset


class Keyword(str):
    """A keyword, without its colon."""

    __slots__ = ()


def read_all(text: str) -> Iterator[Any]:
    """Yield the values in ``text``. Vectors and lists are lists, sets frozen sets, maps dictionaries; tags are dropped.

    Raises ``EdnError``.
    """
    reader = _EdnReader(text)
    while (value := reader.value()) is not _NOTHING:
        yield value


_NOTHING = object()


class _EdnReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def value(self, closing: str = "") -> Any:
        """Return the next value; ``_NOTHING`` at the end of the text, or at ``closing``."""
        while True:
            found = _TOKEN.match(self._text, self._at)
            assert found is not None, "the last alternatives match anything"
            begin, self._at = found.start(found.lastgroup or 0), found.end()
            kind, token = found.lastgroup, found[found.lastgroup or 0]
            if kind == "discard":
                self.value()
            elif kind == "word" and token.startswith("#"):
                continue  # a tag, as of a record of Jepsen: what it is on says enough
            elif kind == "end" or (kind == "close" and token == closing):
                if kind == "end" and closing:
                    raise EdnError(f"{closing} is missing at the end", offset=begin)
                return _NOTHING
            elif kind in ("close", "bad"):
                raise EdnError(f"got {token!r}", offset=begin)
            else:
                return self._made(kind or "", token, begin)

    def _made(self, kind: str, token: str, begin: int) -> Any:
        if kind == "text":
            return _ESCAPE.sub(_unescaped, token)
        if kind == "word":
            return _word(token)
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise EdnError(f"more than {DEPTH_MAX} collections within each other", offset=begin)
        inner = []
        while (value := self.value(_CLOSE[token])) is not _NOTHING:
            inner.append(value)
        self._depth -= 1
        try:
            if token == "#{":
                return frozenset(map(_hashable, inner))
            return inner if token in "[(" else dict(zip(map(_hashable, inner[::2]), inner[1::2], strict=True))
        except ValueError as error:
            raise EdnError("a map has a key without a value", offset=begin) from error


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return tuple(sorted((k, _hashable(v)) for k, v in value.items())) if isinstance(value, dict) else value


def _unescaped(found: re.Match[str]) -> str:
    name = found[1]
    return chr(int(name[1:], 16)) if len(name) > 1 else _ESCAPES.get(name, name)


def _word(token: str) -> Any:
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    if token.startswith(":"):
        return Keyword(token[1:])
    if _INTEGER.fullmatch(token):
        return int(token.rstrip("N"))
    if _FLOAT.fullmatch(token):
        return float(token.rstrip("M"))
    return token


def written(value: Any) -> str:
    """Return ``value`` as EDN: dictionaries as maps, lists as vectors, frozen sets as sets."""
    if isinstance(value, Keyword):
        return f":{value}"
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{written(key)} {written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, frozenset):
        return "#{" + " ".join(sorted(map(written, value))) + "}"
    return "[" + " ".join(map(written, value)) + "]" if isinstance(value, list | tuple) else str(value)
