"""The scenarios that come with zonelab, as a table."""

from collections.abc import Sequence

from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.reporting.report_table import Column, ReportTable


def scenario_table(library: Sequence[Scenario]) -> ReportTable[Scenario]:
    """Return a row a scenario."""
    return ReportTable(columns=_COLUMNS, rows=library)


def _faults(scenario: Scenario) -> str:
    return "\n".join(f"{one.kind} {one.at_s:g}–{one.at_s + one.for_s:g} s" for one in scenario.faults) or "none"


_COLUMNS = (
    Column[Scenario]("scenario", lambda one: one.name),
    Column[Scenario]("load", lambda one: f"{one.load.duration_s:g} s"),
    Column("faults", _faults),
    Column[Scenario]("about", lambda one: " ".join(one.about.split())),
)
