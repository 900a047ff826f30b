"""Recorded delays as files have them: ``trace:FILE`` of a lag.

Read are, one delay a line:

* numbers, which are milliseconds, or have a unit: ``1.2``, ``0,45``, ``300us``, ``300 µs``, ``0.5 s``;
* the same in the last of two columns, whose first is a time stamp or counts;
* what ``ping`` prints, and ``redis-cli --latency-history``: half of each round trip is one way.

A first line that is none of these is the header of a table; if it ends in a unit, such as ``delay_us``, the numbers
have it.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from zonelab.cluster.links.lag import TraceLag
from zonelab.cluster.regular_file import read_regular

BYTES_MAX = 64 << 20

UNITS_MS = {"ns": 1e-6, "us": 0.001, "µs": 0.001, "μs": 0.001, "ms": 1.0, "s": 1000.0}
"""By unit; of the two letters for micro one is Latin and one is Greek."""

DELAY_MS_MAX = 36_525 * 86_400_000
"""A hundred years; in nanoseconds an integer of 64 bits."""

TIME_STAMP_MIN = 1_000_000
"""Numbers from here on before a comma are time stamps, and no delays with decimals."""

COUNTS_MIN = 10
"""Lines from which on numbers before commas that go up by one are a count of lines."""

_UNIT = "|".join(UNITS_MS)
_VALUE = re.compile(rf"([-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?)\s*({_UNIT})?")
_LIKE_A_NUMBER = re.compile(rf"[-+]?(?:[\d.,]+(?:[eE][-+]?\d+)?|nan|inf|infinity)\s*(?:{_UNIT})?", re.IGNORECASE)
_COLUMNS = re.compile(r"(?P<time>[-+\d:.TZ/]+(?: \d\d:[\d:.]+)?)\s*[;,\t ]\s*(?P<value>\S.*)")
_HEADER_UNIT = re.compile(rf"(?:.*[_\s(\[])?({_UNIT})[)\]]?")
_COMMA = re.compile(rf"(\d+),(\d+)\s*(?:{_UNIT})?")
_BETWEEN_COLUMNS = re.compile(rf"\d+,(?:\s+\d+(?:[.,]\d+)?|\d*[.,]\d+)\s*(?:{_UNIT})?")
_LEADING_ZERO = re.compile(r"0\d+")
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|.*\r(?!$)")

_PING = re.compile(rf".*\btime\s?[=<]\s?([\d.,]+)\s*({_UNIT})\b.*")
_PING_BESIDE = re.compile(
    r"(?:PING|Pinging|Ping statistics|Packets:|Approximate|Minimum|---|rtt|round-trip|\d+ packets).*"
    r"|.*(?:timeout|timed out|nreachable).*"
)
_HISTORY = re.compile(
    r"(?:min: )?\d+,? (?:max: )?\d+,? (?:avg: )?(\d+\.\d+)(?: \(\d+ samples\)| \d+)(?: -- [\d.]+ seconds range)?"
)

_LOG = logging.getLogger(__name__)


def read_trace(path: str) -> TraceLag:
    """Read a file of delays; what had to be guessed is logged once. Raises ``ValueError``."""
    try:
        text = read_regular(Path(path), bytes_max=BYTES_MAX).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read lag trace {path!r}: {error}") from None
    delays_ms = _Reader(path=path).read([_TERMINAL.sub("", line).strip() for line in text.split("\n")])
    if not delays_ms:
        raise ValueError(f"lag trace {path!r} holds no delays")
    return TraceLag(path, tuple(delays_ms))


@cache
def _say(words: str) -> None:
    _LOG.warning("%s", words)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    path: str

    def read(self, lines: Sequence[str]) -> list[float]:
        first = next((line for line in lines if line), "")
        if any(_PING.fullmatch(line) for line in lines[:20]):
            self._note("output of ping: one way is taken to be half of each round trip")
            return self._halves(lines, _PING, beside=_PING_BESIDE)
        if _HISTORY.fullmatch(first):
            self._note("output of redis-cli: one way is taken to be half of each average, and there is no tail")
            return self._halves(lines, _HISTORY, beside=re.compile("(?!)"))
        return self._numbers(lines)

    def _halves(self, lines: Sequence[str], form: "re.Pattern[str]", *, beside: "re.Pattern[str]") -> list[float]:
        delays_ms = []
        for number, line in enumerate(lines, start=1):
            match = form.fullmatch(line)
            if match is not None:
                unit = match[2] if form.groups > 1 else "ms"
                delays_ms.append(self._delay_ms(match[1], unit, number, line) / 2)
            elif line and not beside.fullmatch(line):
                raise self._refused(number, line)
        return delays_ms

    def _numbers(self, lines: Sequence[str]) -> list[float]:
        delays_ms: list[float] = []
        unit, columns = "ms", _comma_separates(lines)
        if columns is None:
            raise self._ambiguous(lines)
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            value = None if columns else _VALUE.fullmatch(line)
            if value is None and (found := _COLUMNS.fullmatch(line)) and (value := _VALUE.fullmatch(found["value"])):
                self._note("two columns: the delays are taken from the second")
            if value is not None:
                delays_ms.append(self._delay_ms(value[1], value[2] or unit, number, line))
            elif number == 1 and not _LIKE_A_NUMBER.fullmatch(line):
                of_header = _HEADER_UNIT.fullmatch(line)
                unit = of_header[1] if of_header else unit
                self._note(f"line 1 taken as header; numbers without a unit are taken as {unit}")
            else:
                raise self._refused(number, line)
        return delays_ms

    def _delay_ms(self, text: str, unit: str, number: int, line: str) -> float:
        delay_ms = float(text.replace(",", ".")) * UNITS_MS[unit]
        if not 0 <= delay_ms <= DELAY_MS_MAX:
            raise self._refused(number, line)
        return delay_ms

    def _refused(self, number: int, line: str) -> ValueError:
        """Not with the line itself, unless it is a number: the file may hold what its reader is not to see."""
        got = f", got {line!r}" if len(line) < 40 and _LIKE_A_NUMBER.fullmatch(line) else ""
        accepted = f"milliseconds from 0 to {DELAY_MS_MAX}, or a number with a unit ({', '.join(UNITS_MS)})"
        return ValueError(f"lag trace {self.path!r}, line {number}: expected {accepted}{got}")

    def _ambiguous(self, lines: Sequence[str]) -> ValueError:
        number, line = next((number, line) for number, line in enumerate(lines, start=1) if _COMMA.fullmatch(line))
        return ValueError(
            f"lag trace {self.path!r}, line {number}: got {line[:40]!r}, where the comma can stand before decimals or "
            "between two columns; accepted: a point before decimals (1.25), a semicolon or tab between columns, "
            "or a first line that names the columns"
        )

    def _note(self, words: str) -> None:
        _say(f"lag trace {self.path!r}: {words}")


def _comma_separates(lines: Sequence[str]) -> bool | None:
    """True if commas stand between two columns, False if before decimals; None if both can be meant."""
    found = [match for line in lines if (match := _COMMA.fullmatch(line))]
    if not found:
        return False
    left = [int(match[1]) for match in found]
    title, comma, second = lines[0].partition(",")
    headed = not _LIKE_A_NUMBER.fullmatch(lines[0]) and not _COLUMNS.fullmatch(lines[0])
    if headed and title:
        return bool(comma) and second.strip(" ()[]") not in UNITS_MS
    if min(left) >= TIME_STAMP_MIN or any(map(_BETWEEN_COLUMNS.fullmatch, lines)):
        return True
    if any(one >= other for one, other in pairwise(left)) or any(_LEADING_ZERO.fullmatch(match[2]) for match in found):
        return False
    if len(left) >= COUNTS_MIN and left[-1] - left[0] == len(left) - 1:
        return True
    return None if len(left) > 1 else False
