"""The server's glob patterns (``stringmatchlen`` in ``util.c``): ``*``, ``?``, ``[a-c]``, ``[^x]`` and ``\\``.

The bytes of a range are signed, as ``char`` is on x86-64: ``[\\x01-\\xff]`` is -1 to 1, and ``[\\x80-\\x7f]`` all.
"""

import re
from functools import lru_cache

_STARS_MAX = 1000
"""With more stars than this in front of something else, the server finds nothing (``nesting`` in its code)."""


def matches(pattern: bytes, text: bytes) -> bool:
    """The empty text matches the empty pattern and ``*``, but not ``**``."""
    if not text:
        return pattern in (b"", b"*")
    return _compiled(pattern).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    """Return what follows a star is taken where it is found first, and no later place is tried: the time is linear.

    A later place would serve nothing, as every part of a pattern but a star takes exactly one byte.
    """
    segments, at = [b""], 0
    while at < len(pattern):
        if pattern[at : at + 1] == b"*":
            segments.append(b"")
            at += 1
        else:
            part, at = _part(pattern, at)
            segments[-1] += part
    if len(segments) == 1:
        return re.compile(segments[0], re.DOTALL)
    begin, *middle, end = segments
    if sum(map(bool, (*middle, end))) > _STARS_MAX:
        return re.compile(b"(?!)")
    found = b"".join(b"(?>.*?%b)" % segment for segment in middle if segment)
    return re.compile(begin + found + b".*" + end, re.DOTALL)


def _part(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Return the regular expression for the element of ``pattern`` at ``at``, and the position of the next element."""
    character = pattern[at : at + 1]
    if character == b"?":
        return b".", at + 1
    if character == b"[":
        return _set(pattern, at + 1)
    if character == b"\\" and at + 1 < len(pattern):
        return re.escape(pattern[at + 1 : at + 2]), at + 2
    return re.escape(character), at + 1


def _set(pattern: bytes, at: int) -> tuple[bytes, int]:
    """A set without its end goes on to the end of the pattern."""
    negated = pattern[at : at + 1] == b"^"
    at += negated
    members: list[bytes] = []
    while at < len(pattern) and pattern[at : at + 1] != b"]":
        if pattern[at : at + 1] == b"\\" and at + 1 < len(pattern):
            members.append(re.escape(pattern[at + 1 : at + 2]))
            at += 2
        elif pattern[at + 1 : at + 2] == b"-" and at + 2 < len(pattern):
            members.append(_range(pattern[at], pattern[at + 2]))
            at += 3
        else:
            members.append(re.escape(pattern[at : at + 1]))
            at += 1
    inner = b"".join(members)
    if not inner:
        return (b"." if negated else b"(?!)"), at + 1
    return b"[" + (b"^" if negated else b"") + inner + b"]", at + 1


def _range(one: int, other: int) -> bytes:
    low, high = sorted(byte - 256 if byte > 127 else byte for byte in (one, other))
    return re.escape(bytes(value & 255 for value in range(low, high + 1)))
