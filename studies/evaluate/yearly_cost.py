"""Cost of a setting a year: commands, bytes between zones, its longest outage's backlog, programs; and the money."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zonelab.analysis.number_text import counted, digits, percent
from zonelab.analysis.rates.activity_parts import ActivityParts
from zonelab.analysis.rates.input_range import InputRange
from zonelab.analysis.rates.objectives import BYTES, COMMANDS, YEAR_S
from zonelab.analysis.rates.outcomes import Outcomes
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
    large a part ``busy`` of the time. ``bytes_a_message``: between zones; None if nobody counted them.
    ``command_parts`` and ``byte_parts``: of messages and of waiting, if these are known.
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
    command_parts: ActivityParts | None = None
    bytes_a_message: float | None = None
    byte_parts: ActivityParts | None = None

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        year: Year,
        commands: Estimate,
        *,
        prices: Prices | None,
        outcomes: Outcomes | None = None,
    ) -> "YearlyCost | None":
        """``commands``: a message; ``outcomes``: of runs, which show these and bytes in parts. None if the load of
        ``scenario`` has no rate, as nothing says what a year has.
        """
        rate_per_s = scenario.rate_per_s
        if not rate_per_s or scenario.load.operations is not None or scenario.load.arrivals is not None:
            return None
        longest = max(year.faults, key=lambda one: one.lasts_s, default=None)
        outage_s = 0.0 if longest is None else longest.lasts_s
        messages = rate_per_s * YEAR_S
        runs = Outcomes({}) if outcomes is None else outcomes
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
            bytes_a_message=runs.calm_mean(BYTES),
            command_parts=ActivityParts.of(runs, COMMANDS),
            byte_parts=ActivityParts.of(runs, BYTES),
        )

    @property
    def waited_s(self) -> float:
        """Return for how many seconds of a year programs wait for messages, all of them together."""
        return self.programs * (1 - self.busy) * YEAR_S

    @property
    def all_commands(self) -> float:
        """Return the commands of a year: of its messages and of its waiting where both are known.

        Runs have these in another proportion, as programs wait while the last messages are worked on.
        """
        if self.command_parts is None:
            return float(self.commands.value)
        return self.command_parts.total(self.messages, self.waited_s)

    @property
    def sent_bytes(self) -> float | None:
        """Return the bytes between zones, a year, in the same way; None if nobody counted them."""
        if self.byte_parts is not None:
            return self.byte_parts.total(self.messages, self.waited_s)
        return None if self.bytes_a_message is None else self.bytes_a_message * self.messages

    def sentences(self) -> Iterator[str]:
        """Yield each part of the cost, in the words of the report."""
        yield f"{self._told_commands} for {_many(self.messages)} messages"
        if self.sent_bytes is not None:
            parts = "" if self.byte_parts is None else f": {_in_parts(self.byte_parts, _size)}"
            yield f"{_size(self.sent_bytes)} between zones, requests and answers{parts}"
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
    def _told_commands(self) -> str:
        if self.command_parts is not None:
            return f"{_many(self.all_commands)} commands ({_in_parts(self.command_parts, digits)})"
        value, low, high = (float(end) for end in (self.commands.value, self.commands.low, self.commands.high))
        ends = "too few runs to bound it" if high == float("inf") else f"{_many(low)} to {_many(high)}"
        return f"{_many(value)} commands ({ends})"

    @property
    def price(self) -> InputRange | None:
        """Return what it costs in money, at the low ends of all prices and at their high ones; None without prices."""
        if self.prices is None:
            return None
        given = self.given_prices
        low, high = (
            sum(getattr(one, end) * self.amounts[name] for name, one in given.items()) for end in ("low", "high")
        )
        return InputRange(low=low, high=high)

    @property
    def amounts(self) -> Mapping[str, float]:
        """Return how much of each thing that can have a price a year takes."""
        return {
            "million_commands": self.all_commands / 1e6,
            "gb_between_zones": (self.sent_bytes or 0.0) / 1e9,
            "memory_gb": self.backlog_bytes / 1e9,
            "program": float(self.programs),
        }

    @property
    def given_prices(self) -> Mapping[str, InputRange]:
        """Return the prices of the file, by what they are of."""
        return {name: one for name in self.amounts if (one := getattr(self.prices, name, None)) is not None}

    def to_json(self) -> Mapping[str, Any]:
        price = self.price
        return {
            "messages": self.messages,
            "commands": self.commands.to_json(),
            "all_commands": self.all_commands,
            "command_parts": None if self.command_parts is None else self.command_parts.to_json(),
            "sent_bytes": self.sent_bytes,
            "byte_parts": None if self.byte_parts is None else self.byte_parts.to_json(),
            "backlog_messages": self.backlog,
            "backlog_bytes": self.backlog_bytes,
            "programs": self.programs,
            "busy": self.busy,
            "price": None if price is None else [price.low, price.high],
            "sentences": list(self.sentences()),
        }


def _in_parts(parts: ActivityParts, told: Callable[[float], str]) -> str:
    return f"{told(parts.a_message)} a message, {told(parts.a_waiting_s)} a second of each program that waits"


def _many(value: float) -> str:
    name, size = next((one for one in _MANY.items() if value >= one[1]), ("", 1.0))
    return f"{digits(value / size)} {name}".rstrip()


def _size(value: float) -> str:
    unit, size = next((one for one in _BYTES.items() if value >= one[1]), ("bytes", 1.0))
    return f"{digits(value / size)} {unit}"


def _money(price: InputRange) -> str:
    low, high = digits(price.low), digits(price.high)
    return low if low == high else f"{low} to {high}"
