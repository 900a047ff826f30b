"""Duplicates and losses against any setting in which runs differ: how many a run had, and how many runs had any.

Messages of one run share its faults, so the run is the unit: a point is the median of its runs with the
distribution-free interval of a median, beside the share of runs with at least one case, with Clopper and Pearson's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeGuard

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.figures.kinds.curves import INTERVAL, Curve, bounds
from zonelab.analysis.figures.kinds.lines import LINES_MAX, OF_FILE, labels_of, setting_named, shortened, too_many
from zonelab.analysis.figures.kinds.names import NotDrawable, PlotKind
from zonelab.analysis.figures.kinds.outcomes import RunCounts
from zonelab.analysis.figures.text_layout import POINTS_PER_INCH, width_points
from zonelab.analysis.message_classes import DUPLICATE_CAUSES
from zonelab.analysis.proportions import Interval, proportion_interval
from zonelab.analysis.runs.settings import differing, value_text
from zonelab.analysis.statistics import quantile_interval, rate_interval
from zonelab.analysis.summary.run_summary import LOSSES

PER = 1_000
_DODGE_POINTS = 5.0
_LOGARITHMIC_FROM = 20  # the ratio of the largest to the smallest value
_TICK_POINTS = 9.0
_GAP_INCHES = 0.08
_MARGIN = 0.12  # of the axis, on either side of the first and the last value
VALUES_MAX = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Swept:
    """The setting along the axis: its values in order, as texts, and where each stands."""

    name: str
    texts: tuple[str, ...]
    places: tuple[float, ...]
    numeric: bool = False
    logarithmic: bool = False

    @property
    def short(self) -> str:
        return self.name.removeprefix(OF_FILE)

    @property
    def labels(self) -> list[str]:
        return [shortened(text, self.texts) for text in self.texts]


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeSeries:
    """Outcomes drawn as one line: by the text of the value that was swept."""

    label: str
    groups: dict[str, list[RunCounts]]


def plot_outcomes_against(
    outcomes: Sequence[RunCounts], kind: PlotKind, *, by: str | None, width: float, of: str | None = None
) -> tuple[Figure, list[str]]:
    """``kind``, duplicates or loss, against ``by`` or the first setting in which ``outcomes`` differ; and its notes.

    ``of``: which messages were counted, if not those delivered or acknowledged. The figure has no title yet.
    Raises ``NotDrawable``.
    """
    names = tuple(map(str, DUPLICATE_CAUSES if kind is PlotKind.DUPLICATES else LOSSES))
    of = of or ("delivered" if kind is PlotKind.DUPLICATES else "acknowledged")
    swept = swept_of(outcomes, by)
    series = series_of(outcomes, swept)
    several = max(len(group) for one in series for group in one.groups.values()) > 1
    inches = width / style.columns_of(len(names), width=width) - style.BESIDE_PANELS
    upright = max(map(_inches, swept.labels)) if _crowded(swept, inches) else 0.0
    figure, axes = style.side_by_side(len(names), height=2.7, width=width, rows=2 if several else 1, labels=upright)
    rates = {name: [rate_curve(one, swept, name, kind, several=several) for one in series] for name in names}
    shares = {name: [share_curve(one, swept, name) for one in series] for name in names}
    for name, axis in zip(names, axes, strict=False):
        _draw(axis, rates[name], swept, upright=upright > 0)
        style.label(axis, x=swept.short, y=f"per 1,000 {of}", panel=f"{name}, {_sizes(series)}")
        axis.set_ylim(0, 1.08 * max(1.0, *(_top(curve) for curves in rates.values() for curve in curves)))
    for name, axis in zip(names, axes[len(names) :], strict=False):
        _draw(axis, shares[name], swept, upright=upright > 0)
        style.label(axis, x=swept.short, y="runs with any", panel=f"{name}, {_sizes(series)}")
        axis.set_ylim(-0.02, 1.02)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    style.legend_above(figure, axes[0])
    return figure, list(_notes(kind, several=several))


def swept_of(outcomes: Sequence[RunCounts], by: str | None) -> Swept:
    """Return what stands along the axis: ``by``, or the first setting in which ``outcomes`` differ, or else the
    scenario.
    """
    settings = [one.settings for one in outcomes]
    unlike = differing(settings)
    name = setting_named(by, settings) if by is not None else next(iter(unlike), "scenario")
    values = {value_text(one.get(name)): one.get(name) for one in settings}
    if len(values) > VALUES_MAX:
        raise NotDrawable(f"{len(values)} values of {name.removeprefix(OF_FILE)}: at most {VALUES_MAX} have room")
    numbers = {text: float(value) for text, value in values.items() if _is_number(value)}
    if len(numbers) == len(values) > 1:
        ordered = sorted(numbers, key=numbers.__getitem__)
        places = tuple(numbers[text] for text in ordered)
        logarithmic = places[0] > 0 and places[-1] / places[0] >= _LOGARITHMIC_FROM
        return Swept(name=name, texts=tuple(ordered), places=places, numeric=True, logarithmic=logarithmic)
    return Swept(name=name, texts=tuple(values), places=tuple(map(float, range(len(values)))))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def series_of(outcomes: Sequence[RunCounts], swept: Swept) -> list[OutcomeSeries]:
    """A line for each combination of what the runs differ in beside the axis."""
    names = [name for name in differing([one.settings for one in outcomes]) if name != swept.name]
    groups: dict[tuple[str, ...], dict[str, list[RunCounts]]] = {}
    for one in outcomes:
        key = tuple(value_text(one.settings.get(name)) for name in names)
        groups.setdefault(key, {}).setdefault(value_text(one.settings.get(swept.name)), []).append(one)
    if len(groups) > LINES_MAX:
        raise too_many(len(groups))
    labels = labels_of(names, list(groups))
    return [
        OutcomeSeries(label=label, groups=of_value) for label, of_value in zip(labels, groups.values(), strict=True)
    ]


def rate_curve(series: OutcomeSeries, swept: Swept, name: str, kind: PlotKind, *, several: bool) -> Curve:
    """Cases of class ``name`` per 1,000 messages: the median of the runs of each value.

    Where no value has ``several`` runs: the rate of the one run, with the interval of a rate of messages.
    """
    found = [_rate(series.groups.get(text, []), name, kind, several=several) for text in swept.texts]
    return _curve(series, swept, found)


def _rate(group: Sequence[RunCounts], name: str, kind: PlotKind, *, several: bool) -> tuple[float, Interval | None]:
    totals = [(one.counts[name], one.delivered if kind is PlotKind.DUPLICATES else one.acknowledged) for one in group]
    rates = np.array([PER * cases / of for cases, of in totals if of])
    if not rates.size:
        return np.nan, None
    if several:
        return float(np.median(rates)), quantile_interval(rates, 0.5)
    ((cases, of),) = totals
    one = rate_interval(cases, of) if kind is PlotKind.DUPLICATES else proportion_interval(cases, of)
    return float(rates[0]), Interval(PER * one.low, PER * one.high)


def share_curve(series: OutcomeSeries, swept: Swept, name: str) -> Curve:
    """The share of the runs of each value that have at least one case of class ``name``."""
    found: list[tuple[float, Interval | None]] = []
    for text in swept.texts:
        group = series.groups.get(text, [])
        hits = sum(one.counts[name] > 0 for one in group)
        found.append((hits / len(group), proportion_interval(hits, len(group))) if group else (np.nan, None))
    return _curve(series, swept, found)


def _curve(series: OutcomeSeries, swept: Swept, found: Sequence[tuple[float, Interval | None]]) -> Curve:
    low, high = bounds([interval for _, interval in found])
    y = np.array([value for value, _ in found])
    count = sum(map(len, series.groups.values()))
    return Curve(name=series.label, x=np.array(swept.places), y=y, low=low, high=high, n=count)


def _draw(axis: Axes, curves: Sequence[Curve], swept: Swept, *, upright: bool) -> None:
    """Points with whiskers, joined where the axis has numbers, moved aside by points of the page, not by values."""
    for position, curve in enumerate(curves):
        aside = _DODGE_POINTS * (position - (len(curves) - 1) / 2) / POINTS_PER_INCH
        moved = axis.transData + ScaledTranslation(aside, 0, axis.figure.dpi_scale_trans)
        colour = style.colour_of_level(curve.name, position)
        axis.plot(
            curve.x,
            curve.y,
            color=colour,
            linestyle=style.line_of(position) if swept.numeric else "none",
            marker=style.marker_of(position),
            markersize=5,
            linewidth=1.1,
            label=curve.name,
            transform=moved,
            zorder=3,
        )
        known = ~np.isnan(curve.low)
        if known.any():
            ends = curve.x[known], curve.low[known], curve.high[known]
            whiskers = axis.vlines(*ends, color=colour, linewidth=1.3, transform=moved, zorder=2)
            whiskers.set_label(f"{INTERVAL}{curve.name}")
    _ticks(axis, swept, upright=upright)


def _top(curve: Curve) -> float:
    """The highest that is drawn of ``curve``."""
    known = np.concatenate([curve.y, curve.high])
    return float(np.nanmax(known)) if not np.isnan(known).all() else 0.0


def _sizes(series: Sequence[OutcomeSeries]) -> str:
    """Return how many runs a point was made of: one number, or from the fewest to the most."""
    counts = [len(group) for one in series for group in one.groups.values()]
    fewest, most = min(counts), max(counts)
    return f"n = {fewest} run{'s' * (fewest > 1)}" if fewest == most else f"n = {fewest} to {most} runs"


def _ticks(axis: Axes, swept: Swept, *, upright: bool) -> None:
    """A tick at every value; upright where one would run into its neighbour."""
    first, last = swept.places[0], swept.places[-1]
    if swept.logarithmic:
        axis.set_xscale("log")
        beside = (last / first) ** _MARGIN
        axis.set_xlim(first / beside, last * beside)
    else:
        beside = _MARGIN * (last - first) or 1.0
        axis.set_xlim(first - beside, last + beside)
    axis.xaxis.set_major_locator(FixedLocator(list(swept.places)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticklabels(swept.labels)
    if upright:
        axis.tick_params(axis="x", labelrotation=90)


def _inches(label: str) -> float:
    return width_points(label, size=_TICK_POINTS) / POINTS_PER_INCH


def _crowded(swept: Swept, inches: float) -> bool:
    places = np.log(swept.places) if swept.logarithmic else np.array(swept.places)
    span = (1 + 2 * _MARGIN) * float(places[-1] - places[0]) or 1.0
    halves = [(_inches(text) + _GAP_INCHES) / 2 for text in swept.labels]
    gaps = np.diff(places) / span * inches
    return any(gap < one + two for gap, (one, two) in zip(gaps, pairwise(halves), strict=True))


def _notes(kind: PlotKind, *, several: bool) -> Iterator[str]:
    if several:
        yield (
            "Points: medians of runs, each counted once. Whiskers: distribution-free 95 % interval of the median, "
            "which takes six runs; for the share of runs with any, Clopper and Pearson's."
        )
        return
    name = "Poisson" if kind is PlotKind.DUPLICATES else "Clopper and Pearson"
    yield (
        f"Whiskers: 95 % interval of {name}, as if messages were independent; those of one run share its faults, which "
        "makes it too narrow. Several runs that differ in their seed alone have intervals by run."
    )
