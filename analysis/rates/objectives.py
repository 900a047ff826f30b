"""Objectives as a rollout states them: ``p99(push) < 20ms``, ``lost == 0 with any one zone down``."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from zonelab.analysis.message_classes import DUPLICATE_CAUSES, MessageClass
from zonelab.analysis.number_text import digits

YEAR_S = 365 * 86_400.0

DUPLICATES = "duplicates"
"""Deliveries again, of any cause."""

LOSSES = "losses"
"""Losses of messages that were acknowledged: gone, or left where nobody takes them."""

UNAVAILABLE = "unavailable"
COMMANDS = "commands"

PREFER_DEFAULT = ("p99(push)", COMMANDS, "p99(lease)")
"""Figures by which one of the settings that meet all objectives is chosen: least of the first, then of the next."""


class TimedOperation(StrEnum):
    """An operation that has times. ``lease``: the part of a pop that takes the message, without the wait for one."""

    PUSH = "push"
    LEASE = "lease"
    ACK = "ack"
    LATE = "late"
    """From when a message is due to its first delivery."""


PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
CASES = {
    LOSSES: ("lost", "stuck", "unserved", "abandoned"),
    DUPLICATES: tuple(map(str, DUPLICATE_CAUSES)),
    **{str(one): (str(one),) for one in MessageClass},
}
"""By name, the classes whose cases are counted."""

_TIMES_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_SHARES = {"": 1.0, "%": 0.01, "/million": 1e-6}
_NUMBER = r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_QUANTITY = re.compile(rf"(?P<number>{_NUMBER})\s*(?P<unit>[^\s\d.]\S*)?")
_TEXT = re.compile(r"(?P<figure>\S+?)\s*(?P<sign><|==)\s*(?P<bound>.+?)(?:\s+tolerance\s+(?P<tolerance>\S+))?")
_OF = re.compile(r"(?P<percentile>p[\d.]+)\((?P<operation>\w+)\)")


@dataclass(frozen=True, slots=True)
class Figure:
    """``percentile`` of the times of ``operation``; or without them cases a message, or time without service."""

    name: str
    percentile: float | None = None
    operation: TimedOperation | None = None

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Raises ``ValueError``."""
        match = _OF.fullmatch(text)
        if match and match["percentile"] in PERCENTILES and match["operation"] in set(TimedOperation):
            return cls(text, PERCENTILES[match["percentile"]], TimedOperation(match["operation"]))
        if text in (*CASES, UNAVAILABLE, COMMANDS):
            return cls(text)
        times = f"{', '.join(PERCENTILES)} of ({', '.join(TimedOperation)}), e.g. p99(push)"
        raise ValueError(f"got the figure {text!r}; accepted: {times}; {', '.join((UNAVAILABLE, COMMANDS, *CASES))}")

    @property
    def counts_cases(self) -> bool:
        return self.name in CASES

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Objective:
    """``bound``: in seconds, or cases a message; 0: there must be none, up to ``tolerance`` if the file gives one.

    ``condition``: the fault that is there, None for the year as a whole.
    """

    figure: Figure
    bound: float
    condition: str | None = None
    tolerance: float | None = None

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Raises ``ValueError``, which has the value and what is accepted."""
        claim, _, condition = (part.strip() for part in text.partition(" with "))
        match = _TEXT.fullmatch(claim)
        if match is None:
            raise ValueError(f"got {text!r}; accepted: FIGURE < BOUND or FIGURE == 0, then nothing or: with FAULT")
        figure = Figure.parsed(match["figure"])
        if match["sign"] == "==":
            return cls(figure, 0.0, condition or None, _none_of(figure, match["bound"], match["tolerance"], text))
        if match["tolerance"]:
            raise ValueError(f"got {text!r}; accepted: a tolerance with == 0 only")
        return cls(figure, _bound(figure, match["bound"], of_year=not condition), condition or None)

    @property
    def is_zero(self) -> bool:
        """No number of runs proves it."""
        return self.bound == 0 and self.tolerance is None

    @property
    def limit(self) -> float:
        """Return what an estimate is compared with."""
        return self.bound if self.tolerance is None else self.tolerance

    def told(self, value: float) -> str:
        """``value`` of the figure, with its unit."""
        return told(self.figure, value, of_year=self.condition is None)

    def __str__(self) -> str:
        bound = told(self.figure, self.bound, of_year=self.condition is None, number="{:.9g}".format)
        claim = f"{self.figure} == 0" if self.bound == 0 else f"{self.figure} < {bound}"
        if self.tolerance is not None:
            claim += f" tolerance {self.tolerance:.9g}"
        return claim if self.condition is None else f"{claim} with {self.condition}"


def told(figure: Figure, value: float, *, of_year: bool = True, number: Callable[[float], str] = digits) -> str:
    """Return a value of ``figure`` with its unit as text; "endless" for the time of an operation never confirmed."""
    if value == float("inf"):
        return "endless" if figure.percentile is not None else "unbounded"
    if figure.percentile is not None:
        return f"{number(value * 1e3)}ms" if value < 1 else f"{number(value)}s"
    if figure.name == UNAVAILABLE:
        unit, size = next((one for one in reversed(_TIMES_S.items()) if value >= one[1]), ("s", 1.0))
        return f"{number(value / size)}{unit if value else 's'}{'/year' if of_year else ''}"
    return number(value)


def _none_of(figure: Figure, bound: str, tolerance: str | None, text: str) -> float | None:
    if not figure.counts_cases or float(bound if re.fullmatch(_NUMBER, bound) else "nan") != 0:
        raise ValueError(f"got {text!r}; accepted: == 0, of {', '.join(CASES)}")
    return None if tolerance is None else _bound(figure, tolerance, of_year=True)


def _bound(figure: Figure, text: str, *, of_year: bool) -> float:
    """In seconds, or as a share."""
    timed = not figure.counts_cases and figure.name != COMMANDS
    yearly = figure.name == UNAVAILABLE and of_year
    units = _TIMES_S if timed else _SHARES
    match = _QUANTITY.fullmatch(text.removesuffix("/year") if yearly else text)
    unit = "" if match is None else match["unit"] or ""
    if match is None or unit not in units or (yearly and not text.endswith("/year")):
        raise ValueError(f"{figure} < {text}: got {text!r}; accepted: {_accepted(units, yearly=yearly)}")
    bound = float(f"{float(match['number']) * units[unit]:.12g}")
    if bound <= 0:
        none = f", or {figure} == 0" if figure.counts_cases else ""
        raise ValueError(f"{figure} < {text}: got {text!r}, which nothing is below; accepted: more than 0{none}")
    return bound


def _accepted(units: dict[str, float], *, yearly: bool) -> str:
    if units is _SHARES:
        return "a number of cases a message, or one with % or /million, e.g. 1e-3, 0.1%, 50/million"
    return f"a number with its unit ({', '.join(units)}){' and /year, e.g. 5min/year' if yearly else ', e.g. 20ms'}"


def contradictions(objectives: Sequence[Objective]) -> list[str]:
    """Figures that are bounded twice under one condition: nobody can say which bound holds."""
    seen: dict[tuple[str, str | None], Objective] = {}
    found = []
    for objective in objectives:
        other = seen.setdefault((objective.figure.name, objective.condition), objective)
        if other is not objective:
            found.append(f"got {objective} beside {other}; accepted: one bound of a figure under one condition")
    return found
