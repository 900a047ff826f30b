"""Numbers as the server reads and writes them.

The rules are those of Valkey 9, https://github.com/valkey-io/valkey: ``string2ll``, ``double2ll``, ``d2string`` and
``ld2string`` in ``util.c``, and ``fpconv_dtoa``.
"""

import math
import re
import warnings
from functools import lru_cache

import numpy as np

from zonelab.cluster.sim.redis.grisu import digits
from zonelab.cluster.sim.redis.reply import NOT_A_FLOAT, NOT_AN_INTEGER, fail

INTEGER_MIN = -(1 << 63)
INTEGER_MAX = (1 << 63) - 1

_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_UNSIGNED = re.compile(rb"[ \t\n\v\f\r]*([+-]?)0*([0-9]{1,20})")
"""Texts that C's ``strtoull`` takes for a number."""

_UNSIGNED_MAX = (1 << 64) - 1
_NEGATIVE = re.compile(rb"-[1-9][0-9]{0,18}")
_FLOAT = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
_NOT_ZERO = re.compile(rb"[+-]?(?:0x[0.]*[1-9a-f]|[0.]*[1-9])", re.IGNORECASE)
_HEXADECIMAL = rb"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?"
_LONG_DOUBLE = re.compile(_FLOAT.pattern + rb"|" + _HEXADECIMAL, re.IGNORECASE)
PLAIN_MAX = 300
"""Decimals of fewer digits are neither too large for a double nor too small."""

_EXACT = float(INTEGER_MAX // 2)
"""Doubles up to here that are whole are written as integers."""


@lru_cache(maxsize=1 << 12)  # mostly the same few: limits and numbers of keys
def integer(text: bytes, error: str = NOT_AN_INTEGER) -> int:
    """A signed 64-bit integer in its only accepted spelling: no plus sign, no leading zeros, no spaces."""
    if not _INTEGER.fullmatch(text):
        fail(error)
    value = int(text)
    return value if INTEGER_MIN <= value <= INTEGER_MAX else fail(error)


def is_integer(text: bytes) -> bool:
    """Return whether ``integer`` accepts this text."""
    return _INTEGER.fullmatch(text) is not None and INTEGER_MIN <= int(text) <= INTEGER_MAX


def unsigned(text: bytes, error: str) -> int:
    """An unsigned 64-bit integer, which ends at a zero byte.

    A negative one wraps around, unless it is written as 64 signed bits are.
    """
    written = text.partition(b"\0")[0]
    match = _UNSIGNED.fullmatch(written)
    if match is None or (value := int(match[2])) > _UNSIGNED_MAX:
        fail(error)
    if _NEGATIVE.fullmatch(written) and -value >= INTEGER_MIN:
        fail(error)
    return -value & _UNSIGNED_MAX if match[1] == b"-" else value


def wrapped(value: int) -> int:
    """Return ``value`` as a signed 64-bit integer, which begins again at the smallest one."""
    return ((value + (1 << 63)) & _UNSIGNED_MAX) - (1 << 63)


def positive(text: bytes, error: str) -> int:
    """An integer of 0 or more; ``error`` also when it is no integer."""
    value = integer(text, error)
    return value if value >= 0 else fail(error)


@lru_cache(maxsize=1 << 12)  # several servers read the same score, and one is read again and again
def double(text: bytes, error: str = NOT_A_FLOAT) -> float:
    """A double, infinities included. A number too large or too small for a double is refused."""
    if len(text) < PLAIN_MAX and text.replace(b".", b"", 1).isdigit():
        return float(text)
    if not _FLOAT.fullmatch(text):
        fail(error)
    value = float(text)
    if value == 0 and _NOT_ZERO.match(text):
        fail(error)
    if math.isinf(value) and b"n" not in text.lower():
        fail(error)
    return value


def format_double(value: float) -> bytes:
    """Digits that give the same double back; whole numbers as integers up to 2**62."""
    if value != value:
        return b"-nan" if math.copysign(1, value) < 0 else b"nan"
    if value == 0:
        return b"-0" if math.copysign(1, value) < 0 else b"0"
    if -_EXACT <= value <= _EXACT and value == int(value):
        return b"%d" % int(value)
    if math.isinf(value):
        return b"inf" if value > 0 else b"-inf"
    sign = b"-" if value < 0 else b""
    return sign + _layout(*digits(abs(value)))


def format_17_digits(value: float) -> bytes:
    """Return ``value`` as ZSCAN writes the scores of a skip list."""
    return b"%.17g" % value


def _layout(text: str, exponent: int) -> bytes:
    """Return the digits ``text`` with point and exponent where ``fpconv_dtoa`` puts them."""
    count = len(text)
    scientific = abs(exponent + count - 1)
    if exponent >= 0 and scientific < count + 7:
        return (text + "0" * exponent).encode()
    if exponent < 0 and (exponent > -7 or scientific < 4):
        point = count + exponent
        if point <= 0:
            return f"0.{'0' * -point}{text}".encode()
        return f"{text[:point]}.{text[point:]}".encode()
    fraction = f".{text[1:]}" if count > 1 else ""
    return f"{text[0]}{fraction}e{'+' if exponent + count - 1 >= 0 else '-'}{scientific}".encode()


def long_double(text: bytes, error: str) -> np.longdouble:
    """A number for INCRBYFLOAT and HINCRBYFLOAT, which calculate with the machine's long double."""
    if not _LONG_DOUBLE.fullmatch(text):
        fail(error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy warns of an overflow in a text by this way only
        value = np.longdouble(text.decode())
    if value == 0 and _NOT_ZERO.match(text):
        fail(error)
    if np.isinf(value) and b"n" not in text.lower():
        fail(error)
    return value


def format_long_double(value: np.longdouble) -> bytes:
    """Up to 17 decimals, without trailing zeros."""
    text = np.format_float_positional(value, precision=17, unique=False, trim="-")
    return b"0" if text in ("-0", "-0.") else text.encode()
