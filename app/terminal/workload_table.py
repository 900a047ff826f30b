"""A checked run of accesses as the command line shows it."""

from collections.abc import Iterator, Sequence
from functools import partial

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.number_text import NONE, share_interval, slashed
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import verdict_cell
from zonelab.studies.reporting.console import BAD, Cell, styled
from zonelab.studies.reporting.report_table import ReportTable
from zonelab.studies.reporting.side_by_side import FigureRow, side_by_side


def counterexamples(verdict: Verdict) -> Iterator[str]:
    """Yield every smallest counterexample as a picture."""
    for one in verdict.consistency.counterexamples:
        yield from ("", f"key {one.key}: no order of these operations is one that a register could have had")
        yield from one.timeline


def access_table(results: Sequence[Result], *, title: str) -> ReportTable[FigureRow[Result]]:
    """Return a column for each of ``results``, with the anomalies that any of them has or forbids."""
    return side_by_side([*_figures(results)], results, heading=lambda result: result.title, title=title)


def _figures(results: Sequence[Result]) -> Iterator[FigureRow[Result]]:
    found = [result.verdict.consistency for result in results]
    for f in dict.fromkeys(f for one in found for f in one.operations):
        yield FigureRow(f"{f}: ok / fail / info", partial(_outcomes, f), "operations")
        yield FigureRow("  p50 / p99, ms", partial(_latency, f), "operations")
    for name in Anomaly:
        if any(result.verdict.counts[name] or name in result.verdict.forbid for result in results):
            yield FigureRow(name.words, partial(_cases, name), "anomalies")
    for what in dict.fromkeys(what for one in found for what in one.shares):
        yield FigureRow(f"{what.replace('_', ' ')}, share (95 %)", partial(_share, what), "shares")
    if any(one.staleness for one in found):
        for unit in ("ms", "versions"):
            yield FigureRow(f"stale reads behind, {unit}, p50 / p99", partial(_behind, unit), "shares")
    yield FigureRow(styled("verdict", "bold"), lambda result: verdict_cell(result.words, result.allowed), "verdict")


def _outcomes(f: str, result: Result) -> str:
    return slashed(
        {"ok": 0, "fail": 0, "info": 0, **result.verdict.consistency.operations.get(f, {})}, "ok", "fail", "info"
    )


def _latency(f: str, result: Result) -> str:
    row = result.summary.operation(f)
    return slashed(row.service_ms if row is not None else {}, "p50", "p99")


def _cases(name: Anomaly, result: Result) -> Cell:
    count = result.verdict.counts[name]
    return styled(f"{count:,}", BAD) if count and name in result.verdict.forbid else f"{count:,}"


def _share(what: str, result: Result) -> str:
    share = result.verdict.consistency.shares.get(what, {}).get("all")
    if share is None or not share.trials:
        return NONE
    return f"{share.hits:,} of {share.trials:,}: {share_interval(share.hits, share.trials)}"


def _behind(unit: str, result: Result) -> str:
    return slashed(result.verdict.consistency.staleness.get("all", {}).get(unit, {}), "p50", "p99")
