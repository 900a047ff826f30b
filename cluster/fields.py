"""Fields of sections of files: numbers in bounds, flags, lags and links as text, and the problem of a wrong value."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.trace_text import DELAY_MS_MAX

NUMBER_MAX = 1e9
"""In seconds 31 years, which in nanoseconds fit an integer of 64 bits."""

COUNT_MAX = 1_000_000
CLIENTS_MAX = 10_000
"""Programs of one zone."""

MILLIS_MAX = DELAY_MS_MAX

Positive = Annotated[float, Field(strict=True, gt=0, le=NUMBER_MAX, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0, le=NUMBER_MAX, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1, le=COUNT_MAX)]
CountFrom0 = Annotated[int, Field(strict=True, ge=0, le=COUNT_MAX)]
Millis = Annotated[int, Field(strict=True, ge=1, le=MILLIS_MAX)]
MillisFrom0 = Annotated[int, Field(strict=True, ge=0, le=MILLIS_MAX)]
Flag = Annotated[bool, Field(strict=True)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False)


def _duration_text(value: Any) -> Any:
    """YAML reads a bare 0 as a number; it is the shortest way to write no delay."""
    return "0" if value == 0 and not isinstance(value, bool) else value


def _parsable(text: str) -> str:
    parse_lag(text)
    return text


DelayText = Annotated[str, BeforeValidator(_duration_text), AfterValidator(_parsable)]
"""A distribution of durations, written as ``zonelab.cluster.links.lag`` reads it: ``lognormal:2ms:15ms``."""


def _event_letters(text: str) -> str:
    EventFlags.read(text)
    return text


EventLetters = Annotated[str, Field(strict=True), AfterValidator(_event_letters)]
"""The events of keys that servers publish, in the letters of their ``notify-keyspace-events``."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem of one value of a scenario: where it is, the value, and what would be accepted."""

    path: str
    text: str

    @classmethod
    def of(cls, path: str, value: Any, accepted: str) -> "Problem":
        return cls(path, f"got {value!r}; accepted: {accepted}")


def parse_link(text: str) -> tuple[str, str]:
    """``a>b`` as a pair. Raises ``ValueError`` if it is not written so."""
    source, arrow, target = (part.strip() for part in text.partition(">"))
    if not (source and arrow and target):
        raise ValueError(f"got {text!r}; accepted: a link written FROM>TO, e.g. a>b")
    return source, target
