"""The state of a cluster as tables."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from zonelab.analysis.number_text import digits
from zonelab.studies.reporting.console import BAD, Cell, print_table, styled

_GOOD = "running"
_NAMES = ("dc", "node", "zone", "link")
"""Columns that are shown whole, whatever the width."""
_NAMED_MAX = 7
_MISSING_MAX = 2
DEVIATIONS_SHOWN = 12
_LINKS_MAX = 42
"""Those of seven zones."""


def print_endpoints(status: dict[str, Any]) -> None:
    """Print the endpoints of a cluster that is up."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in (*_place_headings(status), "clients connect to", "server", "administration"):
        table.add_column(heading)
    for zone in status["zones"]:
        coordinator = zone["coordinator"]
        table.add_row(*_place(zone), coordinator["address"], zone["server"]["address"], coordinator["admin"])
    print_table(table)


def print_status(status: dict[str, Any]) -> None:
    for table in status_tables(status):
        print_table(table)


def recent_line(status: dict[str, Any]) -> str:
    """The last seconds of every zone and the faults in force, in one line."""
    zones = [
        f"{zone['zone']} {recent['operations_per_s']:,.0f}/s, {recent['errors_per_s']:,.0f} errors/s, "
        f"p99 {digits(recent['p99_ms'])} ms"
        if (recent := (zone["statistics"] or {}).get("recent"))
        else f"{zone['zone']} coordinator {zone['coordinator']['state']}"
        for zone in status["zones"]
    ]
    faults = ", ".join(fault["fault"] for fault in status["faults"]) or "no fault"
    return f"{status['up_s']:,.0f} s: {'; '.join(zones)}; {faults}"


def status_tables(status: dict[str, Any]) -> Iterator[Table]:
    yield _zones(status)
    yield _recent(status)
    if any(zone["statistics"] and zone["statistics"]["levels"] for zone in status["zones"]):
        yield _levels(status)
    if any(zone["statistics"] and zone["statistics"]["remote"] for zone in status["zones"]):
        yield _remote(status)
    if any(zone["statistics"] and zone["statistics"]["options"] for zone in status["zones"]):
        yield _options(status)
    if status["notices"]:
        yield _notices(status)
    if status["deviations"]:
        yield _deviations(status["deviations"])
    if shown := _shown_links(status):
        yield _links(shown, of=len(status["links"]))
    if status["faults"]:
        yield _faults(status)


def _place_headings(status: dict[str, Any]) -> tuple[str, ...]:
    return ("dc", "node") if status["data_centres"] else ("zone",)


def _place(zone: dict[str, Any]) -> tuple[str, ...]:
    return (zone["data_centre"], zone["zone"]) if "data_centre" in zone else (zone["zone"],)


def _table(title: str, *headings: str, numbers: int = 0) -> Table:
    """The last ``numbers`` columns are numbers."""
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for position, heading in enumerate(headings):
        number = position >= len(headings) - numbers
        table.add_column(heading, justify="right" if number else "left", no_wrap=heading in _NAMES)
    return table


def _zones(status: dict[str, Any]) -> Table:
    lag = status["lag"] if status["dc_lag"] is None else f"{status['lag']}, between data centres {status['dc_lag']}"
    title = f"{status['level']}, lag {lag}, {status['kind']} zones, up for {status['up_s']:,.0f} s: totals since then"
    headings = (*_place_headings(status), "port", "coordinator", "server", "reaches")
    numbers = ("clients", "commands", "errors", "divergent", "p50 ms", "p99 ms")
    table = _table(title, *headings, *numbers, numbers=len(numbers))
    for zone in status["zones"]:
        coordinator, counted = zone["coordinator"], zone["statistics"]
        troubles = ", ".join((counted or {}).get("server_troubles", ()))
        states = _state(coordinator["state"]), _server(zone["server"]["state"], troubles)
        port = coordinator["address"].rpartition(":")[2]
        table.add_row(*_place(zone), port, *states, *_figures(counted))
    return table


def _recent(status: dict[str, Any]) -> Table:
    statistics = [zone["statistics"]["recent"] for zone in status["zones"] if zone["statistics"]]
    title = f"The last {max(one['seconds'] for one in statistics):g} s" if statistics else "The last seconds"
    numbers = ("commands/s", "errors/s", "divergent/s", "p50 ms", "p99 ms")
    table = _table(title, *_place_headings(status), *numbers, numbers=len(numbers))
    for zone in status["zones"]:
        recent = zone["statistics"] and zone["statistics"]["recent"]
        figures = ["–"] * len(numbers)
        if recent:
            rates = (recent[name] for name in ("operations_per_s", "errors_per_s", "divergent_per_s"))
            figures = [
                *(f"{rate:,.1f}" for rate in rates),
                *(digits(recent[name]) for name in ("p50_ms", "p99_ms")),
            ]
        table.add_row(*_place(zone), *figures)
    return table


def _figures(counted: dict[str, Any] | None) -> list[Cell]:
    if counted is None:
        return ["–"] * 7
    latency = counted["latency_ms"]
    return [
        _reached(counted["connected"]),
        *(f"{counted[name]:,}" for name in ("clients", "commands", "errors", "divergence")),
        *(digits(latency[name]) for name in ("p50", "p99")),
    ]


def _reached(connected: dict[str, bool]) -> Cell:
    """By name while they are few, or all but a few."""
    reached = sorted(name for name, up in connected.items() if up)
    if len(connected) <= _NAMED_MAX or not reached:
        return " ".join(reached) or styled("none", BAD)
    missing = sorted(name for name, up in connected.items() if not up)
    if len(missing) > _MISSING_MAX:
        return styled(f"{len(reached)} of {len(connected)}", BAD)
    return Text.assemble("all but ", (" ".join(missing), BAD)) if missing else f"all {len(connected)}"


def _levels(status: dict[str, Any]) -> Table:
    table = _table("Votes", "zone", "level", "how they ended", "commands", "errors", "late", numbers=3)
    for zone in status["zones"]:
        for level, counts in (zone["statistics"] or {"levels": {}})["levels"].items():
            ended = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counts["decisions"].items() if n)
            figures = (f"{counts[name]:,}" for name in ("commands", "error_answers", "late_disagreements"))
            table.add_row(zone["zone"], level, ended, *figures)
    return table


def _options(status: dict[str, Any]) -> Table:
    table = _table("What the options have done", "zone", "done")
    for zone in status["zones"]:
        done = (zone["statistics"] or {"options": {}})["options"]
        table.add_row(zone["zone"], ", ".join(f"{name} {count:,}" for name, count in done.items()))
    return table


def _notices(status: dict[str, Any]) -> Table:
    table = _table("What clients are not told", "notice")
    for sentence in status["notices"]:
        table.add_row(sentence)
    return table


def _deviations(rows: list[dict[str, Any]]) -> Table:
    shown = rows[:DEVIATIONS_SHOWN]
    further = f", the first {len(shown)} of {len(rows)}" if len(rows) > len(shown) else ""
    table = _table(f"Errors and differing replies, by server{further}", "command", "zone", "reply", "times", numbers=1)
    for row in shown:
        table.add_row(Text(row["command"]), row["zone"], Text(row["reply"]), f"{row['times']:,}")
    return table


def _remote(status: dict[str, Any]) -> Table:
    """Dashes for a coordinator that does not answer."""
    what = ("sent", "failed over", "dropped", "failed")
    table = _table("Batches of writes for other data centres", "node", "reaches coordinators", *what, numbers=len(what))
    for zone in status["zones"]:
        counted = zone["statistics"]
        figures = ["–"] * len(what)
        if counted is not None:
            figures = [f"{counted['remote'][name.replace(' ', '_')]:,}" for name in what]
        table.add_row(zone["zone"], "–" if counted is None else _reached(counted["peers"]), *figures)
    return table


def _shown_links(status: dict[str, Any]) -> list[dict[str, Any]]:
    """Return where there are many, those under a fault, if these are not many."""
    if len(status["links"]) <= _LINKS_MAX:
        return list(status["links"])
    at_fault = {name for fault in status["faults"] for name in fault["links"]}
    shown = [link for link in status["links"] if link["link"] in at_fault]
    return shown if len(shown) <= _LINKS_MAX else []


def _links(links: list[dict[str, Any]], *, of: int) -> Table:
    title = "Links" if len(links) == of else f"Links under a fault, {len(links)} of {of}"
    table = _table(title, "link", "lag", "cut", "loss", "duplicated", "in flight", numbers=3)
    for link in links:
        cut = styled(str(link["cut"]), BAD) if link["cut"] else "–"
        shares = (f"{link[name]:.1%}" if link[name] else "–" for name in ("loss", "duplicate"))
        table.add_row(link["link"], link["lag"], cut, *shares, f"{link['in_flight']:,}")
    return table


def _faults(status: dict[str, Any]) -> Table:
    table = _table("Faults in force", "fault", "links", "for s", "ends in s", numbers=3)
    for fault in status["faults"]:
        rest = "–" if fault["ends_in_s"] is None else f"{max(0.0, fault['ends_in_s']):.1f}"
        table.add_row(fault["fault"], str(len(fault["links"]) or "–"), f"{fault['since_s']:.1f}", rest)
    return table


def _state(state: str) -> Cell:
    return state if state == _GOOD else styled(state, BAD)


def _server(state: str, troubles: str) -> Cell:
    return Text.assemble(_state(state), ", ", (troubles, BAD)) if troubles and state == _GOOD else _state(state)
