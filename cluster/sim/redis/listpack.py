"""Sizes in the server's compact list of words, which decide when a block of a stream is full.

Source: ``listpack.c`` of Valkey 9, https://github.com/valkey-io/valkey. Each word is followed by its own length, and
one that is the text of an integer is kept as a number.
"""

from zonelab.cluster.sim.redis.numbers import is_integer

LISTPACK_BYTES = 7
"""Bytes of a list without words."""

_INTEGERS = ((13, 3), (16, 4), (24, 5), (32, 6), (64, 10))
"""Size of an integer, by the bits that it needs with its sign."""

_INTEGER_DIGITS_MAX = 20


def integer_bytes(value: int) -> int:
    """Return the size of an integer, its length included."""
    if 0 <= value < 1 << 7:
        return 2
    return next(size for bits, size in _INTEGERS if -(1 << bits - 1) <= value < 1 << bits - 1)


def word_bytes(word: bytes) -> int:
    """Return the size of a word, its length included."""
    length = len(word)
    if 0 < length <= _INTEGER_DIGITS_MAX and is_integer(word):
        return integer_bytes(int(word))
    size = length + (1 if length < 1 << 6 else 2 if length < 1 << 12 else 5)
    backwards = 1 if size < 128 else 2 if size < 16_383 else 3 if size < 2_097_151 else 4 if size < 268_435_455 else 5
    return size + backwards
