"""An evaluation as figures: how long pushes take in a year, and what would change the answer."""

from collections.abc import Mapping, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from zonelab.analysis.figures import plot_style as style

Evaluated = Mapping[str, Any]
"""Content of ``evaluate.json``."""

_PERCENTILES = ("p50(push)", "p99(push)", "p99.9(push)")
_ROW = 0.42
_FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_LEAST, _MOST = 1e-4, 1e4
_BESIDE = 1.6
"""Width of the plot of flips, in that of its longest bar: the answers stand beside the bars."""


def plot_push(evaluation: Evaluated, path: Path) -> Path:
    """Percentiles of pushes of a year, of every setting, with their intervals. Raises ``OSError``."""
    settings = evaluation["settings"]
    figure, (axis,) = style.new_figure(height=max(1.6, _ROW * 1.5 * len(settings) + 1.0))
    for number, name in enumerate(_PERCENTILES):
        for place, row in enumerate(settings):
            _bar(axis, row["year"][name], bound=1e-3, place=place + (number - 1) / 4, number=number, name=name)
    style.log_ms(axis, "x")
    _name_rows(axis, settings)
    style.label(axis, x="milliseconds")
    style.legend_above(figure, axis)
    notes = ["Lines are 95 % intervals. An arrow: endless, as so many pushes are not confirmed or runs are too few."]
    style.frame(figure, "Pushes of a year", _about(evaluation), notes=notes)
    return style.save(figure, path)


def plot_flips(evaluation: Evaluated, path: Path) -> Path:
    """Plot for every input the factors between which the answer stays, the nearest change first. Raises ``OSError``."""
    sides: dict[str, list[Mapping[str, Any]]] = {}
    for flip in sorted(evaluation["flips"], key=lambda one: abs(log(one["factor"]))):
        sides.setdefault(flip["what"], []).append(flip)
    figure, (axis,) = style.new_figure(height=max(1.2, _ROW * (len(sides) + 1)))
    farthest = max((abs(log(flip["factor"])) for flip in evaluation["flips"]), default=log(2))
    for place, flips in enumerate(sides.values()):
        for flip in flips:
            _flip(axis, flip, place=place)
        low, high = flips[0]["low"], flips[0]["high"]
        if low < high:
            axis.plot([max(low, exp(-farthest)), high], [place, place], color=style.INK, linewidth=2.5)
    axis.axvline(1.0, color=style.INK, linewidth=1.2)
    axis.set_xscale("log")
    axis.set_xlim(exp(-farthest * _BESIDE), exp(farthest * _BESIDE))
    near = [factor for factor in _FACTORS if abs(log(factor)) <= farthest * _BESIDE]
    axis.set_xticks(near, [f"{factor:g} ×" for factor in near])
    axis.set_xticks([], minor=True)
    axis.set_yticks(range(len(sides)), [f"{what}\n{flips[0]['now']}" for what, flips in sides.items()])
    axis.set_ylim(len(sides) - 0.4, -0.6)
    style.label(axis, x="input, divided by the value in the file")
    notes = ["Bars end where the answer becomes another one, the estimates taken as true; the shortest is nearest."]
    if any(flip["low"] < flip["high"] for flip in evaluation["flips"]):
        notes.append("A dark line is the interval that the file gives.")
    style.frame(figure, "What would change the answer", _about(evaluation), notes=notes)
    return style.save(figure, path)


def _flip(axis: Axes, flip: Mapping[str, Any], *, place: int) -> None:
    """Draw a bar from the value of the file to the one that flips, and beside it that value and the answer then."""
    up, answer = flip["factor"] > 1, flip["answer"]
    if "=" in answer:  # a setting, which may be long
        answer = answer.replace(" ", "\n")
    axis.barh(place, flip["factor"] - 1, left=1.0, height=0.5, color=style.colour_of_zone(0 if up else 1), alpha=0.55)
    axis.annotate(
        f"{flip['then']}: {answer}",
        (flip["factor"], place),
        xytext=(4 if up else -4, 0),
        textcoords="offset points",
        ha="left" if up else "right",
        va="center",
        fontsize=8,
        color=style.INK,
    )


def _bar(axis: Axes, value: Mapping[str, Any], *, bound: float, place: float, number: int, name: str) -> None:
    """A mark at the value, a line from end to end; an arrow for what is endless. All in units of ``bound``."""
    seen, low, high = (value[end] if value[end] is None else value[end] / bound for end in ("value", "low", "high"))
    colour = style.colour_of_zone(number)
    known = [end for end in (seen, low, high) if end]
    if seen is None:  # at the right edge, whatever the scale
        axis.plot([0.99], [place], color=colour, marker=">", markersize=6, transform=axis.get_yaxis_transform())
    if not known:
        axis.plot([], [], color=colour, marker=style.marker_of(number), label=name, linestyle="none")
        return
    left = max(low or 0.0, min(known) if low else _LEAST)
    right = high if high is not None else min(max(known) * 3, _MOST)
    axis.plot([left, right], [place, place], color=colour, linewidth=1.4)
    if high is None:
        axis.plot([right], [place], color=colour, marker=">", markersize=5)
    if seen:
        axis.plot([seen], [place], color=colour, marker=style.marker_of(number), markersize=5, label=name)
    else:
        axis.plot([], [], color=colour, marker=style.marker_of(number), label=name, linestyle="none")


def _name_rows(axis: Axes, settings: Sequence[Evaluated]) -> None:
    axis.set_yticks(range(len(settings)), [row["setting"].replace(" ", "\n") for row in settings])
    axis.set_ylim(len(settings) - 0.4, -0.6)


def _about(evaluation: Evaluated) -> str:
    program = evaluation["environment"]
    runs = sum(evaluation["runs"].values())
    seeds = f"seeds from {evaluation['seeds']['first']}"
    return f"{evaluation['scenario']} · {runs:,} runs of each setting · {seeds} · zonelab {program['zonelab']}"
