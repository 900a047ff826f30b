"""Goal: a pattern matches what the server's search matches. Method: a search that tries every place, on drawn texts.

It reads a pattern byte by byte, as the server's manual tells; the model makes an expression of it.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zonelab.cluster.glob import matches

PATTERNS = st.lists(st.sampled_from([*map(bytes, zip(b"*?[]^-\\abc\x80\xff.")), b"[a-", b"[^", b"\\"]), max_size=9)
TEXTS = st.lists(st.sampled_from(b"abc]^-\\\x80\xff*[.\n"), min_size=1, max_size=6).map(bytes)


def found(pattern, text):
    """``text`` is not empty, or the rest of one that was not."""
    if not text:
        return not pattern.strip(b"*")
    if not pattern:
        return False
    if pattern[:1] == b"*":
        return any(found(pattern[1:], text[begin:]) for begin in range(len(text) + 1))
    if pattern[:1] == b"[":
        inside, rest = in_set(pattern[1:], text[0])
        return inside and found(rest, text[1:])
    if pattern[:1] == b"\\" and len(pattern) > 1:
        pattern = pattern[1:]
        return pattern[0] == text[0] and found(pattern[1:], text[1:])
    return (pattern[:1] == b"?" or pattern[0] == text[0]) and found(pattern[1:], text[1:])


def in_set(pattern, byte):
    """Return whether ``byte`` is in the set that ``pattern`` is inside of, and the rest behind the set."""
    negated, hit = pattern[:1] == b"^", False
    pattern = pattern[negated:]
    while pattern and pattern[:1] != b"]":
        if pattern[:1] == b"\\" and len(pattern) > 1:
            hit |= pattern[1] == byte
            pattern = pattern[2:]
        elif len(pattern) > 2 and pattern[1:2] == b"-":
            low, high = sorted(map(signed, (pattern[0], pattern[2])))
            hit |= low <= signed(byte) <= high
            pattern = pattern[3:]
        else:
            hit |= pattern[0] == byte
            pattern = pattern[1:]
    return hit is not negated, pattern[1:]


def signed(byte):
    return byte - 256 if byte > 127 else byte


@settings(max_examples=400)
@given(PATTERNS.map(b"".join), TEXTS)
def test_a_pattern_matches_what_a_search_of_every_place_finds(pattern, text):
    assert matches(pattern, text) is found(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (b"[]x", []),
        (b"[^]x", [b"ax", b"xx", b"]x"]),
        (b"[", []),
        (b"[^", [b"a", b"b", b"x", b"]", b"-", b"\\", b"*"]),
        (b"[a", [b"a"]),
        (b"[]]", []),
        (b"[\\]]", [b"]"]),
        (b"[a-", [b"a", b"-"]),
        (b"[c-a]", [b"a", b"b"]),
        (b"\\", [b"\\"]),
        (b"a\\", [b"a\\"]),
        (b"\\*", [b"*"]),
        (b"*]", [b"]", b"]]", b"]x]"]),
        (b"[a-b]?", [b"ax", b"a\\"]),
    ],
)
def test_sets_without_a_beginning_an_end_or_anything_inside(pattern, texts):
    every = [b"a", b"b", b"x", b"]", b"-", b"\\", b"*", b"ax", b"xx", b"]x", b"a\\", b"]]", b"]x]"]
    assert [text for text in every if matches(pattern, text)] == sorted(texts, key=every.index)
    assert [text for text in every if found(pattern, text)] == sorted(texts, key=every.index)


@pytest.mark.parametrize(
    ("pattern", "whole"), [(b"", True), (b"*", True), (b"**", False), (b"?", False), (b"[^]", False)]
)
def test_of_nothing_the_patterns_of_nothing_and_of_everything_are_found(pattern, whole):
    assert matches(pattern, b"") is whole
