"""Objectives as a rollout states them: ``p99(push) < 20ms``, ``lost == 0 with any one zone down``."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from zonelab.analysis.message_classes import DUPLICATE_CAUSES, MessageClass
from zonelab.analysis.number_text import percent, plain
from zonelab.analysis.rates.input_range import DOTS, InputRange
from zonelab.analysis.rates.objective_spellings import meant, nearest
from zonelab.analysis.rates.quantities import NUMBER, SHARES, TIMES_S, YEARLY, exact, in_share, in_time, quantity

YEAR_S = 365 * 86_400.0

DUPLICATES = "duplicates"
"""Deliveries again, of any cause."""

LOSSES = "losses"
"""Losses of messages that were acknowledged: gone, or left where nobody takes them."""

UNAVAILABLE = "unavailable"
AVAILABILITY = "availability"
"""The share of a year's time that is not ``UNAVAILABLE``."""

ERROR_RATE = "error_rate"
"""Pushes that were not confirmed, a push."""

COMMANDS = "commands"

BYTES = "bytes"
"""Bytes that links between zones carry; no objective is on them."""

PREFER_DEFAULT = ("p99(push)", COMMANDS, "p99(lease)")
"""Figures by which one of the settings that meet all objectives is chosen: least of the first, then of the next."""


class TimedOperation(StrEnum):
    """An operation that has times. ``lease``: the part of a pop that takes the message, without the wait for one."""

    PUSH = "push"
    LEASE = "lease"
    ACK = "ack"
    LATE = "late"
    """From when a message is due to its first delivery."""
    END_TO_END = "end_to_end"
    """From the begin of a push that was confirmed to the first confirmed ack of its message."""


CASES = {
    LOSSES: ("lost", "stuck", "unserved", "abandoned"),
    DUPLICATES: tuple(map(str, DUPLICATE_CAUSES)),
    **{str(one): (str(one),) for one in MessageClass},
}
"""By name, the classes whose cases are counted."""

_COUNTED = (*CASES, ERROR_RATE)
_PLAIN = (UNAVAILABLE, AVAILABILITY, COMMANDS, *_COUNTED)
_TEXT = re.compile(r"(?P<figure>\S+?)\s*(?P<sign><=|<|>=|>|==)\s*(?P<bound>.+?)(?:\s+tolerance\s+(?P<tolerance>\S+))?")
_NO_LONGEST = "as the longest of the simulated times bounds no year"
_OF = re.compile(r"(?P<of>avg|max|p(?P<percent>\d+(?:\.\d+)?))\((?P<operation>\w+)\)")


@dataclass(frozen=True, slots=True)
class Figure:
    """``percentile`` of the times of ``operation``, or their mean; or cases a message; or time without service.

    ``as_share``: time without service is written as the share of a year with it. ``a_year``: cases are those that the
    faults of a year cost, whatever the number of messages.
    """

    name: str
    percentile: float | None = None
    operation: TimedOperation | None = None
    as_share: bool = False
    a_year: bool = False

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Raises ``ValueError``, which offers the nearest figure."""
        match = _OF.fullmatch(text)
        if match and match["operation"] in set(TimedOperation):
            operation = TimedOperation(match["operation"])
            part = round(float(match["percent"] or 0) / 100, 12)
            if match["of"] == "avg":
                return cls(text, None, operation)
            if match["of"] != "max" and 0 < part < 1:
                return cls(f"p{part * 100:.10g}({operation})", part, operation)
            if match["of"] == "max" or part == 1:
                accepted = f"a percentile such as p99.99({operation}), {_NO_LONGEST}"
                raise ValueError(f"got the figure {text!r}; accepted: {accepted}")
        if text == AVAILABILITY:
            return cls(UNAVAILABLE, as_share=True)
        if text in _PLAIN:
            return cls(text)
        times = f"avg and percentiles of ({', '.join(TimedOperation)}), e.g. p99(push)"
        near = nearest(text, [*_PLAIN, *(f"p99({one})" for one in TimedOperation)])
        raise ValueError(f"got the figure {text!r}{near}; accepted: {times}; {', '.join(_PLAIN)}")

    @property
    def counts_cases(self) -> bool:
        return self.name in _COUNTED

    @property
    def is_part_of_messages(self) -> bool:
        """Return whether it is a share of the messages, of which it counts each once at most."""
        return not self.a_year and self.name in (LOSSES, *CASES[LOSSES])

    @property
    def survives_thinning(self) -> bool:
        """Return whether runs with a part of the arrivals and of the consumers show it as all of them would."""
        median = self.percentile == 0.5 and self.operation in (
            TimedOperation.PUSH,
            TimedOperation.LEASE,
            TimedOperation.ACK,
        )
        return median or self.name == MessageClass.REDELIVERED

    @property
    def is_mean(self) -> bool:
        """Return whether it is the mean of the times that were confirmed."""
        return self.operation is not None and self.percentile is None

    def __str__(self) -> str:
        return AVAILABILITY if self.as_share else self.name


@dataclass(frozen=True, slots=True)
class Objective:
    """``bound``: in seconds, cases a message or cases a year; 0: there must be none, up to ``tolerance`` if given.

    ``condition``: the fault that is there, None for the year as a whole. ``span``: where the bound is known to be, if
    only its ends are; ``bound`` is its middle then.
    """

    figure: Figure
    bound: float
    condition: str | None = None
    tolerance: float | None = None
    span: InputRange | None = None

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Raises ``ValueError``, which has the value and what is accepted: what is meant, if that can be guessed."""
        try:
            return cls._read(text)
        except ValueError as error:
            guess = meant(text)
            if guess is None:
                raise
            try:
                right = cls._read(guess)
            except ValueError:
                raise error from None
            why = f", {_NO_LONGEST}" if "max" in text.lower() else ""
            raise ValueError(f"got {text!r}; accepted: {right}{why}") from None

    @classmethod
    def _read(cls, text: str) -> Self:
        claim, _, condition = (part.strip() for part in text.partition(" with "))
        match = _TEXT.fullmatch(claim)
        if match is None:
            raise ValueError(f"got {text!r}; accepted: FIGURE < BOUND or FIGURE == 0, then nothing or: with FAULT")
        figure, bound = Figure.parsed(match["figure"]), match["bound"]
        if match["sign"].startswith(">") != figure.as_share:
            raise ValueError(f"got {text!r}; accepted: {figure} {'>' if figure.as_share else '<'} {bound}")
        if figure.as_share and condition:
            raise ValueError(f"got {text!r}; accepted: {UNAVAILABLE} < TIME with FAULT, as availability is of the year")
        if match["sign"] == "==" or (match["sign"] == "<=" and figure.counts_cases and _is_nought(bound)):
            return cls(figure, 0.0, condition or None, _none_of(figure, bound, match["tolerance"], text))
        if match["tolerance"]:
            raise ValueError(f"got {text!r}; accepted: a tolerance with == 0 only")
        if figure.counts_cases and bound.endswith(YEARLY) and not condition:
            figure, bound = replace(figure, a_year=True), bound.replace(YEARLY, "")
        if DOTS in bound:
            span = _span(figure, bound, of_year=not condition)
            return cls(figure, span.middle, condition or None, span=span)
        return cls(figure, _bound(figure, bound, of_year=not condition), condition or None)

    @property
    def is_zero(self) -> bool:
        """No number of runs proves it."""
        return self.bound == 0 and self.tolerance is None

    @property
    def ends(self) -> tuple[Self, ...]:
        """Return the objective with either end of its bound, or itself if the bound is known."""
        if self.span is None:
            return (self,)
        return tuple(replace(self, bound=end, span=None) for end in (self.span.low, self.span.high))

    @property
    def per_year(self) -> bool:
        """Return whether it bounds the cases that the faults of a year cost."""
        return self.figure.a_year

    @property
    def limit(self) -> float:
        """Return what an estimate is compared with."""
        return self.bound if self.tolerance is None else self.tolerance

    def told(self, value: float) -> str:
        """``value`` of the figure, with its unit."""
        return told(self.figure, value, of_year=self.condition is None)

    @property
    def told_limit(self) -> str:
        """Return what an estimate is compared with, as text: both ends of a bound of which only these are known."""
        if self.span is None or self.tolerance is not None:
            return self.told(self.limit)
        return self._bound_text

    @property
    def _bound_text(self) -> str:
        ends = (self.bound,) if self.span is None else (self.span.low, self.span.high)
        named = [told(self.figure, end, of_year=self.condition is None, number=exact) for end in ends]
        return DOTS.join(reversed(named) if self.figure.as_share else named)

    def __str__(self) -> str:
        sign = ">" if self.figure.as_share else "<"
        claim = f"{self.figure} == 0" if self.bound == 0 else f"{self.figure} {sign} {self._bound_text}"
        if self.tolerance is not None:
            claim += f" tolerance {in_share(self.tolerance, exact)}"
        return claim if self.condition is None else f"{claim} with {self.condition}"


def told(figure: Figure, value: float, *, of_year: bool = True, number: Callable[[float], str] = plain) -> str:
    """Return a value of ``figure`` with its unit as text; "endless" for the time of an operation never confirmed."""
    if figure.as_share:
        up = max(0.0, 1 - value / YEAR_S)
        return percent(up) if number is plain else f"{number(up * 100)}%"
    if value == float("inf"):
        return "endless" if figure.percentile is not None else "unbounded"
    if figure.operation is not None:
        return f"{number(value * 1e3)}ms" if value < 1 else f"{number(value)}s"
    if figure.name == UNAVAILABLE:
        return f"{in_time(value, number)}{YEARLY if of_year else ''}"
    if figure.a_year:
        return f"{number(value)}{YEARLY}"
    return in_share(value, number) if figure.counts_cases else number(value)


def _is_nought(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None and float(text.replace(",", "")) == 0


def _none_of(figure: Figure, bound: str, tolerance: str | None, text: str) -> float | None:
    if not figure.counts_cases or not _is_nought(bound):
        raise ValueError(f"got {text!r}; accepted: == 0, of {', '.join(_COUNTED)}")
    return None if tolerance is None else _bound(figure, tolerance, of_year=True)


def _bound(figure: Figure, text: str, *, of_year: bool) -> float:
    """In seconds, a year for time without service; as a share; or cases a year."""
    if figure.as_share:
        return _most_unavailable_s(text)
    yearly = figure.name == UNAVAILABLE and of_year
    units: dict[str, float] = TIMES_S if figure.operation is not None or figure.name == UNAVAILABLE else SHARES
    try:
        if yearly and not text.endswith(YEARLY):
            raise ValueError(f"got {text!r}; accepted: a time ({', '.join(TIMES_S)}) with {YEARLY}, e.g. 5min/year")
        bound = quantity(text.removesuffix(YEARLY) if yearly else text, {"": 1.0} if figure.a_year else units)
    except ValueError as error:
        raise ValueError(f"{figure} < {text}: {error}") from None
    if bound <= 0:
        none = f", or {figure} == 0" if figure.counts_cases else ""
        raise ValueError(f"{figure} < {text}: got {text!r}, which nothing is below; accepted: more than 0{none}")
    if figure.counts_cases and not figure.a_year and bound >= 1:
        accepted = f"a share of the messages, e.g. 0.1%, or cases a year, e.g. {figure} < 1/year"
        raise ValueError(f"{figure} < {text}: got {text!r}, which is every message; accepted: {accepted}")
    return bound


def _span(figure: Figure, text: str, *, of_year: bool) -> InputRange:
    """Return both ends of a bound; the first may leave its unit to the second."""
    first, _, last = (one.strip() for one in text.partition(DOTS))
    unit = re.sub(rf"^{NUMBER}", "", last)
    low_text = first + unit if re.fullmatch(NUMBER, first) else first
    ends = [_bound(figure, one, of_year=of_year) for one in (low_text, last)]
    low, high = reversed(ends) if figure.as_share else ends
    return InputRange.of_ends(low, high, text=text)


def _most_unavailable_s(text: str) -> float:
    """Return the seconds of a year that may be without service, of the share that must be with it."""
    share = quantity(text, {"": 1.0, "%": 0.01})
    if not 0 < share < 1:
        raise ValueError(f"{AVAILABILITY} > {text}: got {text!r}; accepted: above 0% and below 100%, e.g. 99.95%")
    return float(f"{(1 - share) * YEAR_S:.9g}")


def contradictions(objectives: Iterable[Objective]) -> list[str]:
    """Figures that are bounded twice under one condition: nobody can say which bound holds."""
    seen: dict[tuple[str, str | None], Objective] = {}
    found = []
    for objective in objectives:
        other = seen.setdefault((objective.figure.name, objective.condition), objective)
        if other is not objective:
            found.append(f"got {objective} beside {other}; accepted: one bound of a figure under one condition")
    return found
