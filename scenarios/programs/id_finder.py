"""Finder of ids of messages in what servers store: as it is, and through zlib, base64 and JSON."""

import base64
import binascii
import contextlib
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator

import numpy as np

_DEPTH_MAX = 4
"""Encodings inside encodings: kombu's are three, JSON in base64 in JSON."""

_BYTES_MAX = 16 * 1024 * 1024
"""Bytes that one compressed value may become."""

_TOKENS_MAX = 1_000
_ANY_FORMAT = 47
"""``wbits`` for zlib and gzip."""

_COMPRESSED = (b"\x78", b"\x1f\x8b")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{8,}={0,2}")
_WORD = re.compile(rb"[^\s\"',:;|/{}\[\]()<>=\\\x00-\x1f\x7f-\xff]+")
_ALPHANUMERIC = re.compile(rb"[0-9A-Za-z]+")
_ANCHOR = 8
_DISTINCT = 16
"""An id of so many bytes is found among letters too; a shorter one is not part of a longer word."""

_FEW = 64


class IdFinder:
    """Finder of any of ``ids``."""

    def __init__(self, ids: Collection[str]) -> None:
        raw = {one.encode("utf-8", "surrogatepass"): one for one in ids}
        self._short = {one: name for one, name in raw.items() if len(one) < _ANCHOR}
        self._long = {one: name for one, name in raw.items() if len(one) >= _ANCHOR}
        self._by_end: dict[bytes, list[bytes]] = defaultdict(list)
        for one in self._long:
            self._by_end[one[-_ANCHOR:]].append(one)
        self._ends = np.sort(np.array(list(self._by_end), dtype=f"S{_ANCHOR}").view(np.uint64))

    def found(self, data: bytes) -> dict[str, str]:
        """Return the ids in ``data``, each with how it is encoded there; the plainest if in several ways."""
        found: dict[str, str] = {}
        for encoding, view in _views(data, "", 0):
            for name in self._in(view):
                found.setdefault(name, encoding or "plain")
        return found

    def _in(self, view: bytes) -> Iterator[str]:
        if self._short:
            words = {*_WORD.findall(view), *_ALPHANUMERIC.findall(view)}
            yield from (self._short[one] for one in words & self._short.keys())
        for one in self._candidates(view):
            if _stands_alone(view, one):
                yield self._long[one]

    def _candidates(self, view: bytes) -> Iterator[bytes]:
        if len(self._long) <= _FEW:
            yield from (one for one in self._long if one in view)
        elif len(view) >= _ANCHOR:
            octets = np.frombuffer(view, np.uint8)
            windows = np.lib.stride_tricks.sliding_window_view(octets, _ANCHOR)
            numbers = np.ascontiguousarray(windows).view(np.uint64).ravel()
            near = np.searchsorted(self._ends, numbers).clip(max=len(self._ends) - 1)
            for at in np.flatnonzero(self._ends[near] == numbers).tolist():
                end = at + _ANCHOR
                yield from (one for one in self._by_end[view[at:end]] if view[max(0, end - len(one)) : end] == one)


def _stands_alone(view: bytes, one: bytes) -> bool:
    """Return whether ``one`` is somewhere in ``view`` and not as a part of a longer number, or word if it is short."""
    at = view.find(one)
    while at >= 0:
        before, after = view[max(0, at - 1) : at], view[at + len(one) : at + len(one) + 1]
        if not (
            _joined(before, one[:1], short=len(one) < _DISTINCT) or _joined(after, one[-1:], short=len(one) < _DISTINCT)
        ):
            return True
        at = view.find(one, at + 1)
    return False


def _joined(beside: bytes, edge: bytes, *, short: bool) -> bool:
    if short:
        return beside.isalnum() and edge.isalnum()
    return beside.isdigit() and edge.isdigit()


def _views(data: bytes, encoding: str, depth: int) -> Iterator[tuple[str, bytes]]:
    """``data`` itself, and what it is when it is decoded, each with the names of the encodings."""
    yield encoding, data
    if depth == _DEPTH_MAX:
        return
    for name, inner in _decoded(data):
        yield from _views(inner, f"{encoding}, {name}" if encoding else name, depth + 1)


def _decoded(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.startswith(_COMPRESSED):
        with contextlib.suppress(zlib.error):
            yield "zlib", zlib.decompressobj(_ANY_FORMAT).decompress(data, _BYTES_MAX)
    if b"\\" in data and data.lstrip()[:1] in (b"{", b"[", b'"'):
        with contextlib.suppress(ValueError, RecursionError):
            yield from (("JSON", text.encode("utf-8", "surrogatepass")) for text in _texts(json.loads(data)))
    for token in _BASE64.findall(data)[:_TOKENS_MAX]:
        if (decoded := _from_base64(token)) is not None:
            yield "base64", decoded


def _from_base64(token: bytes) -> bytes | None:
    text = token.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    if len(text) % 4 == 1:
        return None
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4))
    except binascii.Error:
        return None


def _texts(value: object) -> Iterator[str]:
    """The texts in a value of JSON, in which something is escaped."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _texts(one)
