"""Durations as users write them."""

import re

from zonelab.scenarios.errors import NotAccepted

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "": 1.0}

DURATION_S_MAX = 366 * 86_400


def parse_duration_s(text: str) -> float:
    """``10s``, ``500ms``, ``2m``, ``1h``, or a number of seconds. Raises ``NotAccepted``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|min|m|h|)", text.strip())
    duration_s = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    if not 0 < duration_s <= DURATION_S_MAX:
        accepted = f"more than 0 and at most {DURATION_S_MAX} s, such as 500ms, 10s, 2m, 1h"
        raise NotAccepted(f"duration: got {text!r}; accepted: {accepted}")
    return duration_s
