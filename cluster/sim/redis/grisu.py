"""Doubles to decimal digits by Grisu2, the way the server does it.

The digits always give the same double back, but in about one case of a thousand they are not the shortest that do, or
not the closest of those. Two replicas that answer a vote must not differ from real ones there, so the algorithm itself
is needed. Florian Loitsch, "Printing Floating-Point Numbers Quickly and Accurately with Integers", PLDI 2010; in the
form of https://github.com/night-shift/fpconv, which the server uses.
"""

import math
from functools import cache

_FRACTION_BITS = 52
_HIDDEN_BIT = 1 << _FRACTION_BITS
_MASK = (1 << 64) - 1
_LOW_MASK = (1 << 32) - 1
_FIRST_POWER, _POWER_STEP, _POWERS = -348, 8, 87
_LOG10_2 = 0.30102999566398114
_EXPONENT_MIN, _EXPONENT_MAX = -60, -32

_Float = tuple[int, int]
"""An unsigned significand of up to 64 bits, and the power of two that it is multiplied with."""


def digits(value: float) -> tuple[str, int]:
    """Digits of a finite ``value`` above 0, and the power of ten of the last one."""
    exact = _split(value)
    lower, upper = _boundaries(exact)
    power, power_of_ten = _cached_power(upper[1])
    scaled = _multiply(_normalized(exact), power)
    low = _multiply(lower, power)
    high = _multiply(upper, power)
    return _generate(scaled[0], low[0] + 1, (high[0] - 1, high[1]), -power_of_ten)


def _split(value: float) -> _Float:
    fraction, exponent = math.frexp(value)
    significand, exponent = int(fraction * (_HIDDEN_BIT << 1)), exponent - _FRACTION_BITS - 1
    subnormal = -1074 - exponent
    return (significand >> subnormal, -1074) if subnormal > 0 else (significand, exponent)


def _normalized(number: _Float) -> _Float:
    significand, exponent = number
    shift = 64 - significand.bit_length()
    return significand << shift, exponent - shift


def _boundaries(number: _Float) -> tuple[_Float, _Float]:
    """Half-way to the doubles next below and next above, with equal exponents."""
    significand, exponent = number
    upper = _normalized(((significand << 1) + 1, exponent - 1))
    shift = 2 if significand == _HIDDEN_BIT else 1
    lower = ((significand << shift) - 1) << (exponent - shift - upper[1])
    return (lower, upper[1]), upper


def _multiply(left: _Float, right: _Float) -> _Float:
    """The upper 64 bits of the product, rounded as fpconv rounds."""
    left_high, left_low = left[0] >> 32, left[0] & _LOW_MASK
    right_high, right_low = right[0] >> 32, right[0] & _LOW_MASK
    one, other = left_high * right_low, left_low * right_high
    middle = (one & _LOW_MASK) + (other & _LOW_MASK) + (left_low * right_low >> 32) + (1 << 31)
    return left_high * right_high + (one >> 32) + (other >> 32) + (middle >> 32), left[1] + right[1] + 64


@cache
def _power(index: int) -> _Float:
    """10 ** (-348 + 8 * index), rounded to 64 bits."""
    power = _FIRST_POWER + _POWER_STEP * index
    if power >= 0:
        return _rounded(10**power, 0)
    scale = 64 - power * 4
    return _rounded((1 << scale) // 10**-power, -scale)


def _rounded(number: int, exponent: int) -> _Float:
    excess = number.bit_length() - 64
    if excess <= 0:
        return number << -excess, exponent + excess
    return (number + (1 << (excess - 1))) >> excess, exponent + excess


def _cached_power(exponent: int) -> tuple[_Float, int]:
    index = (int(-(exponent + _POWERS) * _LOG10_2) - _FIRST_POWER) // _POWER_STEP
    while True:
        power = _power(index)
        reached = exponent + power[1] + 64
        if reached < _EXPONENT_MIN:
            index += 1
        elif reached > _EXPONENT_MAX:
            index -= 1
        else:
            return power, _FIRST_POWER + index * _POWER_STEP


def _generate(value: int, lower: int, upper: _Float, power_of_ten: int) -> tuple[str, int]:
    """Digits of ``upper``, cut off as early as the result stays above ``lower``, then moved towards ``value``."""
    high, exponent = upper
    shift = -exponent
    to_value, delta = high - value, high - lower
    whole, fraction = high >> shift, high & ((1 << shift) - 1)
    out: list[int] = []
    for remaining in range(9, -1, -1):
        unit = 10**remaining
        digit, whole = divmod(whole, unit)
        if digit or out:
            out.append(digit)
        rest = (whole << shift) + fraction
        if rest <= delta:
            _round(out, delta, rest, unit << shift, to_value)
            return "".join(map(str, out)), power_of_ten + remaining
    remaining, unit = 0, 1
    while True:
        fraction, delta, unit, remaining = fraction * 10, delta * 10 & _MASK, unit * 10, remaining - 1
        digit, fraction = fraction >> shift, fraction & ((1 << shift) - 1)
        if digit or out:
            out.append(digit)
        if fraction < delta:
            _round(out, delta, fraction, 1 << shift, to_value * unit & _MASK)
            return "".join(map(str, out)), power_of_ten + remaining


def _round(out: list[int], delta: int, rest: int, unit: int, to_value: int) -> None:
    while (
        rest < to_value
        and delta - rest >= unit
        and (rest + unit < to_value or to_value - rest > rest + unit - to_value)
    ):
        out[-1] -= 1
        rest += unit
