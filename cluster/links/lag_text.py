"""A lag as text, as it is written in scenario files and on the command line.

``str`` of a lag gives its text back. The forms::

    0                                       no delay, and no timer either
    constant:2ms, or just 2ms               uniform:1ms:5ms
    normal:2ms:0.5ms (mean, deviation; cut off at 0)
    exponential:2ms (mean)                  lognormal:2ms:15ms (median, 99th percentile)
    pareto:1ms:1.5 (scale, shape)           0.9*constant:1ms + 0.1*exponential:50ms
    trace:lags.csv (a file of delays as of ``zonelab.cluster.links.trace_text``, replayed in order from a drawn
    position) loopback (one machine's, measured: median 25 us)
    lnkd-ssd  lnkd-disk-w  ymmr-w  ymmr-ars (fits of Bailis et al., PBS, VLDB 2012, table 3)
"""

import math
import re
from collections.abc import Callable, Sequence

from zonelab.cluster.links.lag import (
    FITS,
    ConstantLag,
    Lag,
    MixtureLag,
    exponential,
    lognormal,
    normal,
    pareto,
    uniform,
)
from zonelab.cluster.links.trace_text import DELAY_MS_MAX, UNITS_MS, read_trace

NUMBER_MAX = 1e9
"""The largest shape or weight."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|µs|μs|ms|s)")

ACCEPTED = (
    "0, 2ms, constant:2ms, uniform:1ms:5ms, normal:2ms:0.5ms, exponential:2ms, lognormal:2ms:15ms, pareto:1ms:1.5, "
    "trace:FILE, loopback, lnkd-ssd, lnkd-disk-w, ymmr-w, ymmr-ars, or a mixture such as "
    "0.9*constant:1ms + 0.1*exponential:50ms"
)

_FORMS: dict[str, tuple[str, Callable[..., Lag]]] = {
    "constant": ("d", ConstantLag),
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
        if not star or not _is_number(weight) or float(weight) == 0:
            raise ValueError(f"lag {text!r}: each part of a mixture is WEIGHT*LAG with WEIGHT > 0, got {part!r}")
        weighted.append((float(weight), _parse_one(lag.strip())))
    return MixtureLag(tuple(weighted))


def _parse_one(text: str) -> Lag:
    if text == "0":
        return ConstantLag()
    if text in FITS:
        return FITS[text]
    if _DURATION.fullmatch(text):
        return ConstantLag(*_numbers(text, "d", [text]))
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
        delay_ms = _duration_ms(argument) if kind == "d" else None
        if delay_ms is not None:
            numbers.append(delay_ms)
        elif kind == "n" and _is_number(argument):
            numbers.append(float(argument))
        else:
            number = f"a number from 0 to {NUMBER_MAX:g}"
            wanted = "a duration such as 2ms, 500us or 1s, at most 36525 days" if kind == "d" else number
            raise ValueError(f"lag {text!r}: expected {wanted}, got {argument!r}; accepted: {ACCEPTED}")
    return numbers


def _duration_ms(text: str) -> float | None:
    if text == "0":
        return 0.0
    match = _DURATION.fullmatch(text)
    delay_ms = float(match[1]) * UNITS_MS[match[2]] if match else math.inf
    return delay_ms if delay_ms <= DELAY_MS_MAX else None


def _is_number(text: str) -> bool:
    """True if ``text`` is a weight or a shape."""
    try:
        return 0 <= float(text) <= NUMBER_MAX
    except ValueError:
        return False
