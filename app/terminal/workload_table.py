"""A checked run of accesses as the command line shows it."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.section import Share
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.number_text import digits, percent, span
from zonelab.analysis.proportions import Interval
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import verdict_cell
from zonelab.studies.reporting.console import BAD, Cell, styled


def counterexamples(verdict: Verdict) -> Iterator[str]:
    """Yield every smallest counterexample as a picture."""
    for one in verdict.consistency.counterexamples:
        yield from ("", f"key {one.key}: no order of these operations is one that a register could have had")
        yield from one.timeline


def access_table(results: Sequence[Result], *, title: str) -> Table:
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    for result in results:
        table.add_column(result.title, justify="right")
    for f in dict.fromkeys(f for result in results for f in result.verdict.consistency.operations):
        table.add_row(f"{f}: ok / fail / info", *(_outcomes(result, f) for result in results))
        table.add_row("  p50 / p99, ms", *(_latency(result, f) for result in results))
    table.add_section()
    for name in Anomaly:
        if any(result.verdict.counts[name] or name in result.verdict.forbid for result in results):
            table.add_row(name.replace("_", " "), *(_cases(result, name) for result in results))
    table.add_section()
    for what in dict.fromkeys(what for result in results for what in result.verdict.consistency.shares):
        shares = [result.verdict.consistency.shares.get(what, {}).get("all") for result in results]
        table.add_row(f"{what.replace('_', ' ')}, share (95 %)", *map(_share, shares))
    for unit in ("ms", "versions"):
        if any(result.verdict.consistency.staleness for result in results):
            label = f"stale reads behind, {unit}, p50 / p99"
            table.add_row(label, *(_behind(result, unit) for result in results))
    table.add_section()
    verdicts = (verdict_cell(one.words, one.allowed) for one in results)
    table.add_row(styled("verdict", "bold"), *verdicts)
    return table


def _outcomes(result: Result, f: str) -> str:
    counts = result.verdict.consistency.operations.get(f, {})
    return " / ".join(f"{counts.get(kind, 0):,}" for kind in ("ok", "fail", "info"))


def _latency(result: Result, f: str) -> str:
    row = result.summary.operation(f)
    service_ms = row.service_ms if row is not None else {}
    return " / ".join(digits(service_ms.get(name)) for name in ("p50", "p99"))


def _cases(result: Result, name: Anomaly) -> Cell:
    count = result.verdict.counts[name]
    return styled(f"{count:,}", BAD) if count and name in result.verdict.forbid else f"{count:,}"


def _share(share: Share | None) -> str:
    if share is None or not share.trials:
        return "–"
    return f"{share.hits:,} of {share.trials:,}: {span(Interval(share.low, share.high), percent)}"


def _behind(result: Result, unit: str) -> str:
    row = result.verdict.consistency.staleness.get("all", {}).get(unit, {})
    return " / ".join(digits(row.get(name)) for name in ("p50", "p99"))
