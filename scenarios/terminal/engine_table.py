"""The table of ``zonelab engines``: every engine, its modes and what it promises."""

from collections.abc import Mapping

from rich.table import Table

from scenarios.spec.engines import Engine


def engine_table(engines: Mapping[str, Engine]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("engine", "modes", "counts in", "early by at most", "leases", "priorities", "about"):
        table.add_column(heading, overflow="fold")
    for name, engine in engines.items():
        promised = engine.features
        answers = ("yes" if each else "no" for each in (promised.leases, promised.priorities))
        times = f"{promised.time_unit_ms} ms", f"{promised.early_ms_max} ms"
        table.add_row(name, ", ".join(engine.modes), *times, *answers, engine.about)
    return table
