"""Predictions of staleness as tables: figures, and their 95 % intervals below them."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from zonelab.analysis.pbs.estimates import PbsEstimate
from zonelab.analysis.pbs.prediction import Prediction, RulePrediction
from zonelab.analysis.pbs.reproduction import ReproducedRow, Reproduction
from zonelab.analysis.pbs.rules import Quorum
from zonelab.studies.reporting.console import Cell

NONE = "–"

SHOWN = (0.5, 0.999)
"""Percentiles of the latencies that are shown."""


def prediction_table(prediction: Prediction) -> Table:
    rows = prediction.rows
    latencies = [f"{kind} p{100 * share:g}" for kind in ("write", "read") for share in SHOWN]
    consistent = ["sees it at once" if at == 0 else f"{at:g} ms later" for at in rows[0].consistent]
    passage = any(row.first_passage_ms for row in rows)
    table = _table("", [*latencies, *consistent, "t", *(["first passage"] if passage else [])])
    others = [row for row in rows if not isinstance(row.rule, Quorum)]
    for row in rows:
        if row is others[0]:
            table.add_section()
        table.add_row(row.rule.name, *_cells(row), *([_cell(row.first_passage_ms)] if passage else []))
    return table


def _cells(row: RulePrediction) -> list[Cell]:
    latencies = [_cell(found[share]) for found in (row.write_ms, row.read_ms) for share in SHOWN]
    return [*latencies, *(_cell(one, decimals=4) for one in row.consistent.values()), _cell(row.visible_after_ms)]


def reproduction_table(reproduction: Reproduction) -> Table:
    headings = ["R W", "read: paper", "ours", "write: paper", "ours", "t: paper", "first passage", "exact"]
    table = _table("model", [*headings, "stale at t: ‰"])
    model = ""
    for row in reproduction.rows:
        if model and row.model != model:
            table.add_section()
        table.add_row(row.model if row.model != model else "", *_reproduced(row))
        model = row.model
    return table


def _reproduced(row: ReproducedRow) -> Sequence[Cell]:
    paper = row.published
    return (
        f"{row.quorum.r} {row.quorum.w}",
        *(f"{paper.read_ms:g}", _cell(row.read_ms)),
        *(f"{paper.write_ms:g}", _cell(row.write_ms)),
        *(f"{paper.visible_ms:g}", _cell(row.first_passage_ms), _cell(row.visible_after_ms)),
        _cell(row.stale_per_1000, decimals=2),
    )


def _table(first: str, headings: Sequence[str]) -> Table:
    table = Table(show_edge=False, pad_edge=False, box=None, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def _cell(one: PbsEstimate | None, *, decimals: int | None = None) -> Cell:
    """With ``decimals`` a share; otherwise a time, with four significant digits."""
    if one is None:
        return NONE
    value, low, high = (None if each is None else _number(each, decimals) for each in (one.value, one.low, one.high))
    if low is None or high is None:
        return Text.assemble(f"{value}\n", ("too few", "dim"))
    return f"{value}\n" if low == high else Text.assemble(f"{value}\n", (f"{low}–{high}", "dim"))


def _number(value: float, decimals: int | None) -> str:
    if decimals is not None:
        return f"{value:.{decimals}f}"
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"
