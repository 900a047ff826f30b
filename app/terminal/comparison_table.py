"""Two runs side by side on a terminal: every figure of both, their difference, and how sure it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from zonelab.analysis.comparison.compare import METHOD, Comparison, ShareDifference, ZoneMedians
from zonelab.analysis.comparison.metrics import PERMUTATIONS, WITHIN, MetricComparison, check_within
from zonelab.analysis.number_text import NONE, digits, percent, span
from zonelab.studies.reporting.report_table import Column, ReportTable

P_LEAST = 1 / (PERMUTATIONS + 1)

_change = partial(digits, signed=True)
_change_of_share = partial(percent, signed=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonRow:
    """One line; rows of one ``section`` belong together. ``agree`` is set for medians and for the whole."""

    section: str
    label: str
    first: object = ""
    second: object = ""
    difference: str = ""
    interval: str = ""
    relative_interval: str = ""
    agree: str = ""


def comparison_table(comparison: Comparison, *, within: float = WITHIN) -> ReportTable[ComparisonRow]:
    """Return every metric with its quantiles and distance, then duplicates and losses, then whether the runs agree."""
    columns = [
        Column[ComparisonRow]("", lambda row: row.label),
        Column[ComparisonRow]("first", lambda row: row.first, number=True),
        Column[ComparisonRow]("second", lambda row: row.second, number=True),
        Column[ComparisonRow]("difference", lambda row: row.difference, number=True),
        Column[ComparisonRow]("95 % interval", lambda row: row.interval, number=True),
        Column[ComparisonRow]("relative", lambda row: row.relative_interval, number=True),
        Column[ComparisonRow](f"within {percent(within)}", lambda row: row.agree, number=True),
    ]
    rows = [*_rows(comparison, within)]
    return ReportTable(columns=columns, rows=rows, caption=METHOD, section=lambda row: row.section)


def _rows(comparison: Comparison, within: float) -> Iterator[ComparisonRow]:
    check_within(within)
    for metric in comparison.metrics:
        yield from _metric_rows(metric, within)
    yield from map(_zone_row, comparison.zones)
    yield from (_share_row("duplicates", share) for share in comparison.duplicates)
    yield from (_share_row("losses", share) for share in comparison.losses)
    yield ComparisonRow(section="verdict", label="all medians", agree=comparison.agree(within))


def _metric_rows(metric: MetricComparison, within: float) -> Iterator[ComparisonRow]:
    name = metric.metric.replace("_", " ")
    yield ComparisonRow(section=name, label=f"{name}, n", first=metric.first.count, second=metric.second.count)
    if not metric.quantiles:
        yield ComparisonRow(section=name, label=f"{name} p50, ms", first=NONE, second=NONE)
    for row in metric.quantiles:
        relative = "" if row.relative is None else f" ({_change_of_share(row.relative)})"
        yield ComparisonRow(
            section=name,
            label=f"{name} {row.name}, ms",
            first=row.first_ms,
            second=row.second_ms,
            difference=_change(row.difference_ms) + relative,
            interval=span(row.interval_ms, _change),
            relative_interval=span(row.relative_interval, _change_of_share),
            agree=metric.agree(within) if row.name == "p50" else "",
        )
    if metric.ks_distance is not None:
        yield ComparisonRow(
            section=name,
            label=f"{name} KS distance",
            difference=digits(metric.ks_distance),
            interval=_p_value(metric.ks_p_value),
        )


def _zone_row(row: ZoneMedians) -> ComparisonRow:
    first, second = row.first_ms, row.second_ms
    return ComparisonRow(
        section="zones",
        label=f"{row.metric.replace('_', ' ')} p50 in zone {row.zone}, ms",
        first=first,
        second=second,
        difference=_change(None if first is None or second is None else second - first),
    )


def _p_value(value: float | None) -> str:
    if value is None:
        return NONE
    return f"p {'≤' if value <= P_LEAST else '='} {digits(value)}"


def _share_row(section: str, share: ShareDifference) -> ComparisonRow:
    relative = f" ({_change_of_share(share.share_difference)})" if share.share_difference else ""
    return ComparisonRow(
        section=section,
        label=f"{share.name}, of {share.of}",
        first=f"{share.first:,} of {share.first_of:,}",
        second=f"{share.second:,} of {share.second_of:,}",
        difference=_change(share.difference) + relative,
        interval=span(None if share.share_difference is None else share.share_interval, _change_of_share),
    )
