"""The page of an evaluation: the answer, why, and figures; made of nothing but ``evaluate.json``."""

from collections.abc import Mapping
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zonelab.analysis.figures.evaluation_plot import plot_flips, plot_push
from zonelab.analysis.pages import environment
from zonelab.analysis.report import image_of
from zonelab.analysis.whole_files import write_whole

PAGE_NAME = "report.html"

_WORDS = {0: "valid", 1: "invalid", 2: "unknown"}
_TONES = {
    **dict.fromkeys(("met", "confirmed"), "valid"),
    **dict.fromkeys(("not met", "not confirmed"), "invalid"),
    **dict.fromkeys(("open", "not decided", "not confirmable"), "unknown"),
}

_LEAST, _MOST = 0.01, 100.0
"""Ratios to the bound between which a bar is logarithmic: from 0 to the first it is even, the second is its end."""


def write_evaluation_page(shown: Mapping[str, Any], folder: Path) -> Path:
    """Write ``report.html`` of what ``evaluate.json`` has into ``folder``. Raises ``OSError``."""
    with TemporaryDirectory(prefix="zonelab-evaluate-") as made:
        push = image_of(plot_push(shown, Path(made) / "push.png"), "Percentiles of pushes of every setting")
        alt = "Values of single inputs at which the answer becomes another one"
        flips = image_of(plot_flips(shown, Path(made) / "flips.png"), alt) if shown["flips"] else None
    template = environment().get_template("evaluation.html")
    made_of = {"told": shown, "word": _WORDS[shown["exit_code"]], "tones": _TONES, "push": push, "flips": flips}
    return write_whole(
        folder / PAGE_NAME, template.render(title=f"{shown['scenario']}: which setting", bar=objective_bar, **made_of)
    )


def objective_bar(judged: Mapping[str, Any]) -> dict[str, float | None]:
    """Return where the ends of an objective's bar are, from 0, where the value is 0, to 100; its bound is at ``bound``.

    ``value`` and ``upper`` are None where they are endless; of a claim that there is none, any case is beyond its end.
    """
    bound = judged["bound"]
    if not bound:
        possible = judged["cases"] or judged["lacking"] or not judged["runs"]
        beyond = None if possible else 0.0
        return {"low": 0.0, "high": 100.0 if possible else 0.0, "value": beyond, "upper": beyond, "bound": 0.0}
    value, high = (_place(judged[name], bound) for name in ("value", "high"))
    upper = _place(judged["upper"], bound) if judged["status"] == "open" else high
    low = _place(judged["low"], bound)
    return {
        "low": 100.0 if low is None else low,
        "high": 100.0 if high is None else high,
        "value": value,
        "upper": upper,
        "bound": _place(bound, bound),
    }


def _place(value: float | None, bound: float) -> float | None:
    """Return the place of a value; None if it is endless or beyond the bar."""
    if value is None or value > _MOST * bound:
        return None
    return round(100 * log(1 + value / bound / _LEAST) / log(1 + _MOST / _LEAST), 2)
