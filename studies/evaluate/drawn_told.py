"""Settings under draws of the inputs that a rollout gives as intervals, as a table and in words."""

from collections.abc import Iterator
from typing import Any

from zonelab.analysis.number_text import percent
from zonelab.analysis.rates.drawn_inputs import DrawnInputs, SettingShare
from zonelab.analysis.rates.objectives import Figure
from zonelab.studies.reporting.report_table import Column, ReportTable
from zonelab.studies.sweep.settings import lines_of


def drawn_table(drawn: DrawnInputs, figure: Figure) -> ReportTable[SettingShare]:
    """Return a table with a row a setting; ``figure``: the one preferred first."""
    return ReportTable(
        columns=[
            Column("setting", lambda row: lines_of(row.setting)),
            Column("meets all in", lambda row: percent(row.meets)),
            Column("does not, but another does", lambda row: percent(row.regretted)),
            Column(f"{figure} above the best", lambda row: percent(row.excess) if row.meets else "–"),
        ],
        rows=drawn.shares,
    )


def drawn_sentences(drawn: DrawnInputs) -> Iterator[str]:
    """Yield what was drawn, and which setting is regretted least."""
    inputs = "; ".join(drawn.inputs)
    yield f"Intervals of the file, in {drawn.draws:,} draws of the same runs, the estimates taken as true: {inputs}."
    if drawn.least_regret is None:
        yield "No setting meets all objectives in any of them."
        return
    share = next(one for one in drawn.shares if one.setting == drawn.least_regret)
    none = f" In {percent(drawn.none)} of them no setting does." if drawn.none else ""
    yield (
        f"Least regret: {share.setting}, which meets all objectives in {percent(share.meets)} of them, and does not in "
        f"{percent(share.regretted)} where another setting does.{none}"
    )


def drawn_json(drawn: DrawnInputs) -> dict[str, Any]:
    """Return the draws and their sentences as ``evaluate.json`` has them."""
    return {**drawn.to_json(), "sentences": list(drawn_sentences(drawn))}
