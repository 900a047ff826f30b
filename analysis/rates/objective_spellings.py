"""Objectives as other tools and people spell them, turned into ours: for errors, which show the right one.

k6 writes ``http_req_duration: p(95)<500``, Prometheus ``histogram_quantile(0.99, …) < 0.02``. Nothing here is accepted
as an objective: what is meant is a guess, so it is shown and not taken.
"""

import re
from collections.abc import Iterator, Sequence

from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.rates.quantities import NUMBER, exact, number_of

_LABELS = re.compile(r"\{[^}]*\}")
_SIGNS = "<=|>=|==|[<>=≤≥]|under|below|less than|at most|within|over|above|more than|at least"
_CLAIM = re.compile(rf"(?P<left>.+?)\s*(?P<sign>{_SIGNS})\s*(?P<number>{NUMBER})\s*(?P<unit>\S.*)?", re.IGNORECASE)
_NONE = re.compile(r"(?:no|zero|0)\s+(?P<left>.+)", re.IGNORECASE)
_QUANTILES = (
    re.compile(r"histogram_quantile\(\s*(?P<part>0?\.\d+|1)"),
    re.compile(r"\bp\s*\(?\s*(?P<percent>\d+(?:\.\d+)?)"),
    re.compile(r"(?P<percent>\d+(?:\.\d+)?)\s*(?:st|nd|rd|th)?[\s-]*(?:percentile|%ile)"),
    re.compile(r"_p(?P<percent>\d+(?:\.\d+)?)"),
)
_OPERATIONS = {
    "end_to_end": ("end_to_end", "end-to-end", "end to end", "e2e"),
    "ack": ("ack", "complete", "delete"),
    "lease": ("lease", "pop", "dequeue", "receive", "poll", "fetch", "reserve"),
    "late": ("lateness", "(late)", "overdue"),
    "push": ("push", "enqueue", "send", "publish", "produce", "http_req", "request", "latency", "duration"),
}
_FIGURES = {
    "unavailable": ("unavail", "downtime", "outage"),
    "availability": ("availab", "uptime"),
    "error_rate": ("error", "fail", "success", "checks"),
    "losses": ("losses", "loss", "lost messages", "data loss", "lose"),
    "duplicates": ("duplicat", "twice"),
}
_UNITS = {
    "us": ("us", "µs", "microseconds", "micros"),
    "ms": ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "m", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "%": ("%", "percent", "pct"),
    "/million": ("/million", "ppm", "per million", "in a million"),
    "": ("", "of requests", "of messages", "times"),
}
_YEARLY = re.compile(r"\s*(?:/|per|a|each)\s*(?:year|yr|y|annum)$")
_ONE_IN = re.compile(rf"(?:in|of|out of|/)\s*(?P<of>{NUMBER})(?:\s*\w+)?$")


def meant(text: str) -> str | None:
    """Return the objective that ``text`` seems to mean, to be read as any other; None if there is no guess."""
    claim, _, condition = text.strip().partition(" with ")
    bare = _LABELS.sub("", claim)
    none, match = _NONE.fullmatch(bare), _CLAIM.fullmatch(bare)
    if none is not None and (figure := figure_meant(none["left"])) is not None:
        found: str | None = f"{figure} == 0"
    elif match is not None and (figure := figure_meant(match["left"])) is not None:
        found = _claim(match, figure)
    else:
        found = None
    return found if found is None or not condition else f"{found} with {condition}"


def figure_meant(text: str) -> str | None:
    """Return the name of the figure that ``text`` seems to mean, such as ``p95(push)``."""
    words = text.lower()
    operation = next(_named(words, _OPERATIONS), "push")
    for pattern in _QUANTILES:
        if quantile := pattern.search(words):
            given = quantile.groupdict()
            percent = float(given["percent"]) if "percent" in given else 100 * float(given["part"])
            return f"p{percent:.10g}({operation})"
    if re.search(r"\bmed(?:ian)?\b", words):
        return f"p50({operation})"
    if re.search(r"\b(?:avg|mean|average)\b", words) or ("_sum" in words and "_count" in words):
        return f"avg({operation})"
    if re.search(r"\bmax(?:imum)?\b", words):
        return f"p99.99({operation})"
    return f"p99({operation})" if words == operation else next(_named(words, _FIGURES), None)


def nearest(text: str, accepted: Sequence[str]) -> str:
    """Return the figure meant, or the one of ``accepted`` with the most similar name, in brackets after a space."""
    figure = figure_meant(text)
    return did_you_mean(text, accepted) if figure is None or figure == text else f" (did you mean {figure}?)"


def _named(words: str, names: dict[str, tuple[str, ...]]) -> Iterator[str]:
    return (name for name, spelled in names.items() if any(one in words for one in spelled))


def _claim(match: re.Match[str], figure: str) -> str | None:
    number, left = number_of(match["number"]), match["left"].lower()
    unit = _unit((match["unit"] or "").strip().lower(), timed="(" in figure, left=left)
    if unit is None:
        return None
    whole = 100 if unit == "%" else 1
    works = figure == "error_rate" and ("success" in left or "checks" in left)
    if works or (figure == "availability" and number < whole / 2):
        number = whole - number
    if match["sign"] in ("=", "==", "<=") and number == 0:
        return f"{figure} == 0"
    sign = ">" if figure == "availability" else "<"
    if unit.startswith("1/"):
        return f"{figure} {sign} {exact(number / number_of(unit[2:]))}"
    return f"{figure} {sign} {exact(float(f'{number:.9g}'))}{unit}"


def _unit(text: str, *, timed: bool, left: str) -> str | None:
    """Return our unit, or ``1/N`` for one in N; None if there is none that can be meant."""
    if timed and not text:
        return "s" if "quantile" in left or "_seconds" in left or "_sum" in left else "ms" if ":" in left else None
    if one_in := _ONE_IN.match(text):
        return f"1/{one_in['of']}"
    plain = _YEARLY.sub("", text)
    unit = next((ours for ours, spelled in _UNITS.items() if plain in spelled), None)
    return unit if unit is None or plain == text else f"{unit}/year"
