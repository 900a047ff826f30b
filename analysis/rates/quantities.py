"""Quantities with their units, as objectives have them: read from text and written back, never with a power of ten."""

import re
from collections.abc import Callable
from decimal import Decimal

from zonelab.analysis.near_names import did_you_mean

NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?"
TIMES_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
SHARES = {"": 1.0, "%": 0.01, "/million": 1e-6, "/billion": 1e-9}

YEARLY = "/year"

_QUANTITY = re.compile(rf"(?P<number>{NUMBER})\s*(?P<unit>[^\s\d.]\S*)?")
_PERCENT_LEAST, _MILLION_LEAST = 1e-3, 1e-7


def quantity(text: str, units: dict[str, float]) -> float:
    """Return ``text`` in the unit whose size is 1. Raises ``ValueError`` with what is accepted, if it is none."""
    match = _QUANTITY.fullmatch(text)
    unit = "" if match is None else match["unit"] or ""
    if match is None or unit not in units:
        near = did_you_mean(unit, [one for one in units if one]) if unit else ""
        raise ValueError(f"got {text!r}{near}; accepted: {_accepted(units)}")
    return float(f"{number_of(match['number']) * units[unit]:.12g}")


def number_of(text: str) -> float:
    """Return a number that may have commas between thousands."""
    return float(text.replace(",", ""))


def exact(value: float) -> str:
    """Return up to nine significant digits, without a power of ten and without commas."""
    return f"{Decimal(f'{value:.9g}'):f}"


def in_time(value_s: float, number: Callable[[float], str]) -> str:
    """Return a time in the largest of the units that makes it at least 1."""
    unit, size = next((one for one in reversed(TIMES_S.items()) if value_s >= one[1]), ("s", 1.0))
    return f"{number(value_s / size)}{unit}"


def in_share(value: float, number: Callable[[float], str]) -> str:
    """Return a share in percent, or in cases a million or a billion where it is small."""
    if not value:
        return "0"
    if value >= _PERCENT_LEAST:
        return f"{number(value * 100)}%"
    unit, size = ("/million", 1e6) if value >= _MILLION_LEAST else ("/billion", 1e9)
    return f"{number(value * size)}{unit}"


def _accepted(units: dict[str, float]) -> str:
    if units is SHARES:
        return "a number of cases a message, or one with %, /million or /billion, e.g. 0.1%, 50/million"
    return f"a number with its unit ({', '.join(units)}), e.g. 20ms"
