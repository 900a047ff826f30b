"""Two runs side by side on a terminal: every figure of both, their difference, and how sure it is."""

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

from rich.table import Table

from zonelab.analysis.comparison.compare import METHOD, Comparison, ShareDifference, ZoneMedians
from zonelab.analysis.comparison.metrics import PERMUTATIONS, WITHIN, MetricComparison, check_within
from zonelab.analysis.proportions import Interval

NONE = "–"
P_LEAST = 1 / (PERMUTATIONS + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonRow:
    """One line; rows of one ``section`` belong together. ``agree`` is set for medians and for the whole."""

    section: str
    label: str
    first: str = ""
    second: str = ""
    difference: str = ""
    interval: str = ""
    relative_interval: str = ""
    agree: str = ""


def comparison_table(comparison: Comparison, *, within: float) -> Table:
    table = Table(show_edge=False, pad_edge=False, caption=METHOD, caption_justify="left")
    for position, heading in enumerate(comparison_headings(within=within)):
        table.add_column(heading, justify="left" if position == 0 else "right")
    section = None
    for row in comparison_rows(comparison, within=within):
        if section is not None and row.section != section:
            table.add_section()
        section, *cells = astuple(row)
        table.add_row(*cells)
    return table


def comparison_headings(*, within: float = WITHIN) -> tuple[str, ...]:
    """Headings of the columns, in the order of the fields of ``ComparisonRow`` without ``section``."""
    return ("", "first", "second", "difference", "95 % interval", "relative", f"within {within:.0%}".replace("%", " %"))


def comparison_rows(comparison: Comparison, *, within: float = WITHIN) -> list[ComparisonRow]:
    """Every metric with its quantiles and distance, then duplicates and losses, then whether the runs agree."""
    check_within(within)
    rows = [row for metric in comparison.metrics for row in _metric_rows(metric, within)]
    rows += [_zone_row(zone) for zone in comparison.zones]
    rows += [_share_row("duplicates", share) for share in comparison.duplicates]
    rows += [_share_row("losses", share) for share in comparison.losses]
    return [*rows, ComparisonRow(section="verdict", label="all medians", agree=comparison.agree(within))]


def _metric_rows(metric: MetricComparison, within: float) -> Iterator[ComparisonRow]:
    name = metric.metric.replace("_", " ")
    counts = f"{metric.first.count:,}", f"{metric.second.count:,}"
    yield ComparisonRow(section=name, label=f"{name}, n", first=counts[0], second=counts[1])
    for row in metric.quantiles:
        yield ComparisonRow(
            section=name,
            label=f"{name} {row.name}, ms",
            first=_ms(row.first_ms),
            second=_ms(row.second_ms),
            difference=_with_percent(_signed_ms(row.difference_ms), row.relative),
            interval=NONE if row.interval_ms is None else _span(row.interval_ms, _signed_ms),
            relative_interval=NONE if row.relative_interval is None else _span(row.relative_interval, _percent),
            agree=metric.agree(within) if row.name == "p50" else "",
        )
    if metric.ks_distance is not None:
        yield ComparisonRow(
            section=name,
            label=f"{name} KS distance",
            difference=f"{metric.ks_distance:.3f}",
            interval=_p_value(metric.ks_p_value),
        )


def _zone_row(row: ZoneMedians) -> ComparisonRow:
    first, second = row.first_ms, row.second_ms
    difference = NONE if first is None or second is None else _signed_ms(second - first)
    return ComparisonRow(
        section="zones",
        label=f"{row.metric.replace('_', ' ')} p50 in zone {row.zone}, ms",
        first=NONE if first is None else _ms(first),
        second=NONE if second is None else _ms(second),
        difference=difference,
    )


def _p_value(value: float | None) -> str:
    if value is None:
        return NONE
    return f"p ≤ {value:.3f}" if value <= P_LEAST else f"p = {value:.3f}"


def _span(interval: Interval, words: Callable[[float], str]) -> str:
    return f"{words(interval.low)} … {words(interval.high)}"


def _share_row(section: str, share: ShareDifference) -> ComparisonRow:
    count = f"{share.difference:+,}" if share.difference else "0"
    known = share.share_difference is not None
    return ComparisonRow(
        section=section,
        label=f"{share.name}, of {share.of}",
        first=f"{share.first:,} of {share.first_of:,}",
        second=f"{share.second:,} of {share.second_of:,}",
        difference=f"{count} ({_per_mille(share.share_difference)})" if share.share_difference else count,
        interval=_span(share.share_interval, _per_mille) if known else NONE,
    )


def _per_mille(share: float) -> str:
    return f"{1_000 * share:+,.1f} ‰"


def _ms(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"


def _signed_ms(value: float) -> str:
    return f"{value:+,.2f}" if abs(value) < 100 else f"{value:+,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:+,.1f} %" if abs(share) < 0.1 else f"{100 * share:+,.0f} %"


def _with_percent(text: str, share: float | None) -> str:
    return text if share is None else f"{text} ({_percent(share)})"
