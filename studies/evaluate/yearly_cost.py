"""Cost of a setting a year: commands, the backlog of its longest outage, programs; and in money, given prices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zonelab.analysis.number_text import counted, digits, percent
from zonelab.analysis.rates.input_range import InputRange
from zonelab.analysis.rates.objectives import YEAR_S
from zonelab.analysis.rates.quantities import in_time
from zonelab.analysis.rates.samples import Estimate
from zonelab.analysis.rates.year import Year
from zonelab.scenarios.spec.evaluate import Prices
from zonelab.scenarios.spec.load_times import load_times
from zonelab.scenarios.spec.scenario import Scenario

_BYTES = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "bytes": 1.0}
_MANY = {"billion": 1e9, "million": 1e6, "thousand": 1e3, "": 1.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class YearlyCost:
    """``messages``: pushed a year. ``commands``: of clients, all of them. ``backlog``: messages that the longest outage
    leaves if nobody takes one meanwhile, and ``backlog_bytes`` of payloads. ``programs`` take messages, and work so
    large a part ``busy`` of the time.
    """

    messages: float
    commands: Estimate
    outage: str
    outage_s: float
    backlog: float
    backlog_bytes: float
    programs: int
    busy: float
    prices: Prices | None = None

    @classmethod
    def of(cls, scenario: Scenario, year: Year, commands: Estimate, *, prices: Prices | None) -> "YearlyCost | None":
        """``commands``: a message. None if the load of ``scenario`` has no rate, as nothing says what a year has."""
        rate_per_s = sum(map(scenario.load.rate_of, scenario.zones))
        if not rate_per_s or scenario.load.operations is not None or scenario.load.arrivals is not None:
            return None
        longest = max(year.faults, key=lambda one: one.lasts_s, default=None)
        outage_s = 0.0 if longest is None else longest.lasts_s
        messages = rate_per_s * YEAR_S
        return cls(
            messages=messages,
            commands=Estimate(commands.value * messages, commands.low * messages, commands.high * messages),
            outage="" if longest is None else longest.name,
            outage_s=outage_s,
            backlog=rate_per_s * outage_s,
            backlog_bytes=rate_per_s * outage_s * scenario.load.payload_bytes,
            programs=scenario.consumers.per_zone * len(scenario.zones),
            busy=min(1.0, load_times(scenario).busy),
            prices=prices,
        )

    def sentences(self) -> Iterator[str]:
        """Yield each part of the cost, in the words of the report."""
        value, low, high = (float(end) for end in (self.commands.value, self.commands.low, self.commands.high))
        ends = "too few runs to bound it" if high == float("inf") else f"{_many(low)} to {_many(high)}"
        yield f"{_many(value)} commands ({ends}) for {_many(self.messages)} messages"
        if self.outage:
            yield (
                f"memory in each zone for up to {counted(round(self.backlog), 'message')}, "
                f"{_size(self.backlog_bytes)} of payloads and what the server needs beside them: the backlog of "
                f"'{self.outage}' ({in_time(self.outage_s, digits)}), if nobody takes a message meanwhile"
            )
        yield f"{counted(self.programs, 'program')} that take messages, at work {percent(self.busy)} of the time"
        if (price := self.price) is not None:
            yield f"{_money(price)} by the prices of the file"

    @property
    def price(self) -> InputRange | None:
        """Return what it costs in money, at the low ends of all prices and at their high ones; None without prices."""
        if self.prices is None:
            return None
        parts = {
            "million_commands": float(self.commands.value) / 1e6,
            "memory_gb": self.backlog_bytes / 1e9,
            "program": float(self.programs),
        }
        given = {name: one for name in parts if (one := getattr(self.prices, name)) is not None}
        low, high = (sum(getattr(one, end) * parts[name] for name, one in given.items()) for end in ("low", "high"))
        return InputRange(low=low, high=high)

    def to_json(self) -> Mapping[str, Any]:
        price = self.price
        return {
            "messages": self.messages,
            "commands": self.commands.to_json(),
            "backlog_messages": self.backlog,
            "backlog_bytes": self.backlog_bytes,
            "programs": self.programs,
            "busy": self.busy,
            "price": None if price is None else [price.low, price.high],
            "sentences": list(self.sentences()),
        }


def _many(value: float) -> str:
    name, size = next((one for one in _MANY.items() if value >= one[1]), ("", 1.0))
    return f"{digits(value / size)} {name}".rstrip()


def _size(value: float) -> str:
    unit, size = next((one for one in _BYTES.items() if value >= one[1]), ("bytes", 1.0))
    return f"{digits(value / size)} {unit}"


def _money(price: InputRange) -> str:
    low, high = digits(price.low), digits(price.high)
    return low if low == high else f"{low} to {high}"
