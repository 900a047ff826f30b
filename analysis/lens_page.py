"""The page of one message: strips of what each zone held, leases, and every step, walked through by keys."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zonelab.analysis.pages import Script, environment
from zonelab.analysis.stories.lines import FAULT
from zonelab.analysis.whole_files import write_whole

_COLOURS = {
    "waiting": "waiting",
    "leased": "leased",
    "waiting and leased": "leased",
    "payload only": "payload",
    "no server": "down",
    "absent": "absent",
    "gone": "absent",
}
"""Class of a strip's part by its state; one that is not here is marked as odd."""

_NAMED = 6.0
"""Percent of a strip from which on a part has room for its name; a tip names the others."""


def write_lens_page(shown: Mapping[str, Any], path: Path) -> Path:
    """Write the page of what ``zonelab lens --json`` prints to ``path``. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    page = (
        environment()
        .get_template("lens.html")
        .render(
            title=f"{shown['message']}: {shown['scenario']} at {shown['level']}",
            script=Script.of_templates("lens.js", "copy.js"),
            **lens_parts(shown),
        )
    )
    return write_whole(path, page)


def lens_parts(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the macro ``lens`` of the templates draws: strips and leases by their places, and the steps."""
    times = [step["at_s"] for step in shown["steps"] if step["who"] != FAULT]
    first, last = min(times, default=0.0), max(times, default=1.0)
    margin = max(0.0005, 0.03 * (last - first))
    window = (first - margin, last + margin)
    return {
        "told": shown,
        "strips": {zone: list(_parts(shown["strips"].get(zone, ()), window)) for zone in shown["zones"]},
        "leases": list(_parts(shown["leases"], window)),
        "steps": [{**step, "percent": _percent(step["at_s"], window)} for step in shown["steps"]],
        "span_s": (max(0.0, window[0]), window[1]),
    }


def _percent(at_s: float, window: tuple[float, float]) -> float:
    begin, end = window
    return round(min(100.0, max(0.0, 100 * (at_s - begin) / (end - begin))), 3)


def _parts(spans: Any, window: tuple[float, float]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a strip that lie within ``window``, with their places in percent."""
    for one in spans:
        left, right = (_percent(one[name], window) for name in ("begin_s", "end_s"))
        if right > left:
            colour = _COLOURS.get(one.get("state", "leased"), "odd")
            yield {
                **one,
                "left": left,
                "width": round(right - left, 3),
                "colour": colour,
                "named": right - left > _NAMED,
            }
