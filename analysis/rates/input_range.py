"""Inputs of which only the ends are known, such as one to six outages a year: ``1..6``."""

import re
from dataclasses import dataclass
from math import sqrt
from typing import Self

from zonelab.analysis.rates.quantities import NUMBER, exact, number_of

DOTS = ".."

_RANGE = re.compile(rf"\s*(?P<low>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*\.\.\s*(?P<high>{NUMBER})\s*")


@dataclass(frozen=True, slots=True)
class InputRange:
    """Ends of an interval; of a known number both are that number.

    Between two ends above 0 a value is as likely as others by the same factor apart, so the middle is their geometric
    mean; from 0 on, as likely as others by the same distance apart.
    """

    low: float
    high: float

    @classmethod
    def parsed(cls, value: object) -> Self:
        """Return the range of a number, or of a text such as ``1..6``. Raises ``ValueError``."""
        if isinstance(value, cls):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return cls(float(value), float(value))
        match = _RANGE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError(f"got {value!r}; accepted: a number from 0 on, or an interval LOW..HIGH, e.g. 1..6")
        return cls.of_ends(number_of(match["low"]), number_of(match["high"]), text=str(value))

    @classmethod
    def of_ends(cls, low: float, high: float, *, text: str) -> Self:
        """``text``: what the file says. Raises ``ValueError`` if the ends are reversed."""
        if low > high:
            raise ValueError(f"got {text!r}; accepted: LOW..HIGH, the lower end first, e.g. 1..6")
        return cls(low, high)

    @property
    def is_known(self) -> bool:
        return self.low == self.high

    @property
    def middle(self) -> float:
        return self.low if self.is_known else self.at(0.5)

    def at(self, part: float) -> float:
        """Return the value below which ``part`` of those in the range are; a part is from 0 to 1."""
        if self.low <= 0:
            return self.low + (self.high - self.low) * part
        return sqrt(self.low * self.high) if part == 0.5 else float(self.low * (self.high / self.low) ** part)

    def __str__(self) -> str:
        return exact(self.low) if self.is_known else f"{exact(self.low)}{DOTS}{exact(self.high)}"
