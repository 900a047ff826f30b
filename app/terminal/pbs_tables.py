"""Predictions of staleness as tables: figures, and their 95 % intervals below them."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TypeVar

from rich.text import Text

from zonelab.analysis.number_text import NONE, bounds, digits, percent
from zonelab.analysis.pbs.estimates import PbsEstimate
from zonelab.analysis.pbs.prediction import Prediction, RulePrediction
from zonelab.analysis.pbs.reproduction import ReproducedRow, Reproduction
from zonelab.analysis.pbs.rules import Quorum
from zonelab.analysis.proportions import Interval
from zonelab.studies.reporting.console import Cell
from zonelab.studies.reporting.report_table import Column, ReportTable

SHOWN = (0.5, 0.999)
"""Percentiles of the latencies that are shown."""

Row = TypeVar("Row")

_TIME = partial(digits, significant=4)


def prediction_table(prediction: Prediction) -> ReportTable[RulePrediction]:
    """Return a row a setting, those of other stores apart."""
    columns = [Column[RulePrediction]("", lambda row: row.rule.name)]
    columns += [_estimated(f"write p{100 * share:g}", _of("write_ms", share)) for share in SHOWN]
    columns += [_estimated(f"read p{100 * share:g}", _of("read_ms", share)) for share in SHOWN]
    columns += [_estimated(_when(at), _of("consistent", at), percent) for at in prediction.rows[0].consistent]
    columns += [_estimated("t", attrgetter("visible_after_ms"))]
    if any(row.first_passage_ms for row in prediction.rows):
        columns += [_estimated("first passage", attrgetter("first_passage_ms"))]
    return ReportTable(columns=columns, rows=prediction.rows, section=lambda row: isinstance(row.rule, Quorum))


def reproduction_table(reproduction: Reproduction) -> ReportTable[ReproducedRow]:
    """Return a row for each quorum of each model of the paper."""
    return ReportTable(columns=_REPRODUCED, rows=reproduction.rows, section=lambda row: row.model, names=2)


def _when(at_ms: float) -> str:
    return "sees it at once" if at_ms == 0 else f"{at_ms:g} ms later"


def _of(name: str, at: float) -> Callable[[RulePrediction], PbsEstimate]:
    return lambda row: getattr(row, name)[at]


def _estimated(
    heading: str, value: Callable[[Row], PbsEstimate | None], words: Callable[[float], str] = _TIME
) -> Column[Row]:
    return Column(heading, value, text=partial(_cell, words=words), number=True)


def _published(heading: str, name: str) -> Column[ReproducedRow]:
    return Column(heading, attrgetter(f"published.{name}"), text=_TIME, number=True)


def _cell(one: PbsEstimate | None, *, words: Callable[[float], str]) -> Cell:
    if one is None:
        return NONE
    value = words(one.value)
    if one.low is None or one.high is None:
        return Text.assemble(f"{value}\n", ("too few", "dim"))
    interval = "" if words(one.low) == words(one.high) else bounds(one.value, Interval(one.low, one.high), words)
    return Text.assemble(f"{value}\n", (interval, "dim"))


_REPRODUCED: tuple[Column[ReproducedRow], ...] = (
    Column("model", attrgetter("model")),
    Column("quorum", attrgetter("quorum.name")),
    _published("read: paper", "read_ms"),
    _estimated("ours", attrgetter("read_ms")),
    _published("write: paper", "write_ms"),
    _estimated("ours", attrgetter("write_ms")),
    _published("t: paper", "visible_ms"),
    _estimated("first passage", attrgetter("first_passage_ms")),
    _estimated("exact", attrgetter("visible_after_ms")),
    _estimated("stale at t: ‰", attrgetter("stale_per_1000")),
)
