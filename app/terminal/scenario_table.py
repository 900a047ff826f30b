"""The scenarios that come with zonelab, as a table."""

from collections.abc import Sequence

from rich.table import Table

from zonelab.scenarios.spec.scenario import Scenario


def scenario_table(library: Sequence[Scenario]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("scenario", "load", "faults", "about"):
        table.add_column(heading, overflow="fold", max_width=18 if heading == "faults" else None)
    for item in library:
        faults = "\n".join(f"{fault.kind} {fault.at_s:g}–{fault.at_s + fault.for_s:g} s" for fault in item.faults)
        table.add_row(item.name, f"{item.load.duration_s:g} s", faults or "none", " ".join(item.about.split()))
    return table
