"""The server's glob patterns (``stringmatchlen`` in ``util.c``): ``*``, ``?``, ``[a-c]``, ``[^x]`` and ``\\``."""

import re
from functools import lru_cache


def matches(pattern: bytes, text: bytes) -> bool:
    """The empty text matches the empty pattern and ``*``, but not ``**``."""
    if not text:
        return pattern in (b"", b"*")
    return _compiled(pattern).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    parts: list[bytes] = []
    at = 0
    while at < len(pattern):
        part, at = _part(pattern, at)
        parts.append(part)
    return re.compile(b"".join(parts), re.DOTALL)


def _part(pattern: bytes, at: int) -> tuple[bytes, int]:
    """The expression for what begins at ``at``, and where the next begins."""
    character = pattern[at : at + 1]
    if character == b"*":
        return b".*", at + 1
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
            low, high = sorted((pattern[at], pattern[at + 2]))
            members.append(re.escape(bytes([low])) + b"-" + re.escape(bytes([high])))
            at += 3
        else:
            members.append(re.escape(pattern[at : at + 1]))
            at += 1
    inner = b"".join(members)
    if not inner:
        return (b"." if negated else b"(?!)"), at + 1
    return b"[" + (b"^" if negated else b"") + inner + b"]", at + 1
