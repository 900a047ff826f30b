"""Numbers as all tables, pages and sentences show them: counts, shares, times, and their intervals."""

from collections.abc import Callable, Sequence
from math import floor, log10

from zonelab.analysis.proportions import Interval, proportion_interval

NONE = "–"
"""Shown where there is no value."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 run`` or ``91,728 runs``; ``plural`` is ``noun`` with an s unless given."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str]) -> str:
    """Return ``names`` as part of a sentence: ``a, b and c``."""
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def digits(value: float | None, *, signed: bool = False) -> str:
    """Return three significant digits, as many as samples of a run carry, and whole numbers from 100 on."""
    if value is None:
        return NONE
    sign = "+" if signed and value else ""
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.3g}"


def percent(share: float, *, signed: bool = False) -> str:
    """Return ``share`` in percent with one decimal; below 1 % with two significant digits, above 99 % of what is left.

    So a share is 0.0% or 100.0% only where no run, or every run, has it.
    """
    near = min(abs(share), abs(1 - abs(share)))
    decimals = 1 - min(0, floor(log10(100 * near))) if 0 < near < 0.01 else 1
    return f"{share:{'+' if signed else ''}.{decimals}%}"


def span(interval: Interval | None, words: Callable[[float], str] = digits) -> str:
    """Return ``0.5 to 1.2``, each end as ``words`` writes it; a dash without an interval."""
    return NONE if interval is None else f"{words(interval.low)} to {words(interval.high)}"


def share_interval(hits: int, trials: int) -> str:
    """Return the 95 % interval of Clopper and Pearson, ``0.3% to 12.1%``; a dash without trials."""
    return span(proportion_interval(hits, trials) if trials else None, percent)
