"""Numbers as all tables, pages and sentences show them: counts, shares, times, and their intervals."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
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


def digits(value: float | None, *, signed: bool = False, significant: int = 3) -> str:
    """Return ``significant`` digits, three being what samples of a run carry, but no fewer than the whole number has.

    Below 0.01 a power of ten shows how small it is: ``1.2e-3``.
    """
    if value is None:
        return NONE
    sign = "+" if signed and value else ""
    if 0 < abs(value) < 0.01:
        mantissa, _, power = f"{value:{sign}.{significant - 1}e}".partition("e")
        return f"{float(mantissa):{sign}g}e{int(power)}"
    return f"{value:{sign},.0f}" if abs(value) >= 10 ** (significant - 1) else f"{value:{sign},.{significant}g}"


def plain(value: float) -> str:
    """Return three digits as ``digits`` does, but ``0.00012`` where that has a power of ten."""
    return f"{Decimal(f'{value:.3g}'):f}" if 0 < abs(value) < 0.01 else digits(value)


def slashed(values: Mapping[str, float], *names: str) -> str:
    """Return the values of ``names`` as ``7.5 / 250 / 1,000``, with a dash for one that is not there."""
    return " / ".join(digits(values.get(name)) for name in names)


def percent(share: float, *, signed: bool = False) -> str:
    """Return ``share`` in percent with one decimal; below 1 % with two significant digits, above 99 % of what is left.

    So a share is 0.0% or 100.0% only where no run, or every run, has it.
    """
    near = min(abs(share), abs(1 - abs(share)))
    decimals = 1 - min(0, floor(log10(100 * near))) if 0 < near < 0.01 else 1
    return f"{share:{'+' if signed and share else ''},.{decimals}%}"


def span(interval: Interval | None, words: Callable[[float], str] = digits) -> str:
    """Return ``0.5 to 1.2``, each end as ``words`` writes it; a dash without an interval."""
    return NONE if interval is None else f"{words(interval.low)} to {words(interval.high)}"


def bounds(value: float, interval: Interval, words: Callable[[float], str] = digits) -> str:
    """Return the interval around ``value``: ``0.5 to 1.2``, or ``below 1.2`` where nothing was seen."""
    return span(interval, words) if value or interval.low else f"below {words(interval.high)}"


def estimate(
    value: float | None, interval: Interval | None, words: Callable[[float], str] = digits, form: str = " ({})"
) -> str:
    """Return ``0.7 (0.5 to 1.2)``, or ``0 (below 1.2)`` where nothing was seen; ``form`` has a place for the interval.

    Without an interval the value stands alone, and without a value a dash.
    """
    if value is None:
        return NONE
    if interval is None:
        return words(value)
    return words(value) + form.format(bounds(value, interval, words))


def share_interval(hits: int, trials: int) -> str:
    """Return the 95 % interval of Clopper and Pearson, ``0.3% to 12.1%`` or ``below 2.9%``; a dash without trials."""
    return bounds(hits, proportion_interval(hits, trials), percent) if trials else NONE
