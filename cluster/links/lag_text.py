"""A lag as text, as it is written in scenario files and on the command line.

``str`` of a lag gives its text back. The forms::

    0                                       no delay, and no timer either
    constant:2ms, or just 2ms               uniform:1ms:5ms
    normal:2ms:0.5ms (mean, deviation; cut off at 0)
    exponential:2ms (mean)                  lognormal:2ms:15ms (median, 99th percentile)
    pareto:1ms:1.5 (scale, shape)           0.9*constant:1ms + 0.1*exponential:50ms
    trace:lags.csv (milliseconds, one a line, replayed in order from a drawn position)
    loopback (one machine's, measured: median 25 us)
    lnkd-ssd  lnkd-disk-w  ymmr-w  ymmr-ars (fits of Bailis et al., PBS, VLDB 2012, table 3)
"""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from cluster.links.lag import FITS, Constant, Lag, Mixture, Trace, exponential, lognormal, normal, pareto, uniform

_UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)")

ACCEPTED = (
    "0, 2ms, constant:2ms, uniform:1ms:5ms, normal:2ms:0.5ms, exponential:2ms, lognormal:2ms:15ms, pareto:1ms:1.5, "
    "trace:FILE, loopback, lnkd-ssd, lnkd-disk-w, ymmr-w, ymmr-ars, or a mixture such as "
    "0.9*constant:1ms + 0.1*exponential:50ms"
)

_FORMS: dict[str, tuple[str, Callable[..., Lag]]] = {
    "constant": ("d", Constant),
    "uniform": ("dd", uniform),
    "normal": ("dd", normal),
    "exponential": ("d", exponential),
    "lognormal": ("dd", lognormal),
    "pareto": ("dn", pareto),
}


def parse_lag(text: str) -> Lag:
    """The lag that ``text`` describes; the forms are listed at the head of this module.

    Raises ``ValueError`` with the text given and the forms accepted.
    """
    parts = [part.strip() for part in str(text).split("+")]
    if len(parts) == 1 and "*" not in parts[0]:
        return _parse_one(parts[0])
    weighted = []
    for part in parts:
        weight, star, lag = part.partition("*")
        if not star or not _is_delay(weight) or float(weight) == 0:
            raise ValueError(f"lag {text!r}: each part of a mixture is WEIGHT*LAG with WEIGHT > 0, got {part!r}")
        weighted.append((float(weight), _parse_one(lag.strip())))
    return Mixture(tuple(weighted))


def _parse_one(text: str) -> Lag:
    if text == "0":
        return Constant()
    if text in FITS:
        return FITS[text]
    if _DURATION.fullmatch(text):
        return Constant(*_numbers(text, "d", [text]))
    name, _, rest = text.partition(":")
    if name == "trace" and rest:
        return read_trace(rest)
    kinds, build = _FORMS.get(name, ("", None))
    arguments = rest.split(":")
    if build is None or len(arguments) != len(kinds):
        raise ValueError(f"unknown lag {text!r}; accepted: {ACCEPTED}")
    return build(*_numbers(text, kinds, arguments))


def _numbers(text: str, kinds: str, arguments: Sequence[str]) -> list[float]:
    numbers = []
    for kind, argument in zip(kinds, arguments, strict=True):
        match = _DURATION.fullmatch(argument)
        if kind == "d" and match:
            numbers.append(float(match[1]) * _UNITS_MS[match[2]])
        elif kind == "n" and _is_delay(argument):
            numbers.append(float(argument))
        else:
            wanted = "a duration such as 2ms, 500us or 1s" if kind == "d" else "a number >= 0"
            raise ValueError(f"lag {text!r}: expected {wanted}, got {argument!r}; accepted: {ACCEPTED}")
    return numbers


def read_trace(path: str) -> Trace:
    """A file of delays in milliseconds, one a line; a heading and empty lines are passed over."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read lag trace {path!r}: {error}") from None
    delays_ms = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (number == 1 and not _is_delay(line)):
            continue
        if not _is_delay(line):
            raise ValueError(f"lag trace {path!r}, line {number}: expected milliseconds >= 0, got {line.strip()!r}")
        delays_ms.append(float(line))
    if not delays_ms:
        raise ValueError(f"lag trace {path!r} holds no delays")
    return Trace(path, tuple(delays_ms))


def _is_delay(line: str) -> bool:
    try:
        delay_ms = float(line)
    except ValueError:
        return False
    return delay_ms >= 0 and math.isfinite(delay_ms)
