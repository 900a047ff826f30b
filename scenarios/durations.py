"""Durations as users write them."""

import re

from scenarios.errors import NotAccepted

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "": 1.0}


def parse_duration_s(text: str) -> float:
    """``10s``, ``500ms``, ``2m``, ``1h``, or a number of seconds. Raises ``NotAccepted``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|min|m|h|)", text.strip())
    duration_s = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    if duration_s <= 0:
        raise NotAccepted(f"duration {text!r} is not accepted; accepted: more than 0, such as 500ms, 10s, 2m, 1h")
    return duration_s
