"""The state of a cluster as tables."""

from typing import Any

from rich.table import Table

from scenarios.table import milliseconds, print_table

_GOOD = "running"


def print_endpoints(status: dict[str, Any]) -> None:
    """What a user needs to know when the cluster is up."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("zone", "clients connect to", "server", "administration"):
        table.add_column(heading)
    for zone in status["zones"]:
        coordinator = zone["coordinator"]
        table.add_row(zone["zone"], coordinator["address"], zone["server"]["address"], coordinator["admin"])
    print_table(table)


def print_status(status: dict[str, Any]) -> None:
    print_table(_zones(status))
    if any(zone["statistics"] and zone["statistics"]["levels"] for zone in status["zones"]):
        print_table(_levels(status))
    if status["links"]:
        print_table(_links(status))
    if status["faults"]:
        print_table(_faults(status))


def _table(title: str, *headings: str, numbers: int = 0) -> Table:
    """The last ``numbers`` columns are numbers."""
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="right" if position >= len(headings) - numbers else "left")
    return table


def _zones(status: dict[str, Any]) -> Table:
    title = f"{status['level']}, lag {status['lag']}, {status['kind']} zones, up for {status['up_s']:,.0f} s"
    headings = ("zone", "port", "coordinator", "server", "reaches")
    numbers = ("clients", "commands", "errors", "divergent", "p50 ms", "p99 ms")
    table = _table(title, *headings, *numbers, numbers=len(numbers))
    for zone in status["zones"]:
        coordinator, counted = zone["coordinator"], zone["statistics"]
        states = _state(coordinator["state"]), _state(zone["server"]["state"])
        table.add_row(zone["zone"], coordinator["address"], *states, *_figures(counted))
    return table


def _figures(counted: dict[str, Any] | None) -> list[str]:
    if counted is None:
        return ["–"] * 7
    reached = [name for name, connected in counted["connected"].items() if connected]
    latency = counted["latency_ms"]
    return [
        " ".join(sorted(reached)) or "[bold red]none[/]",
        *(f"{counted[name]:,}" for name in ("clients", "commands", "errors", "divergence")),
        *(milliseconds(latency[name]) for name in ("p50", "p99")),
    ]


def _levels(status: dict[str, Any]) -> Table:
    table = _table("Votes", "zone", "level", "how they ended", "commands", "errors", "late", numbers=3)
    for zone in status["zones"]:
        for level, counts in (zone["statistics"] or {"levels": {}})["levels"].items():
            ended = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counts["decisions"].items() if n)
            figures = (f"{counts[name]:,}" for name in ("commands", "error_answers", "late_disagreements"))
            table.add_row(zone["zone"], level, ended, *figures)
    return table


def _links(status: dict[str, Any]) -> Table:
    table = _table("Links", "link", "lag", "cut", "loss", "duplicated", "in flight", numbers=3)
    for link in status["links"]:
        cut = f"[bold red]{link['cut']}[/]" if link["cut"] else "–"
        shares = (f"{link[name]:.1%}" if link[name] else "–" for name in ("loss", "duplicate"))
        table.add_row(link["link"], link["lag"], cut, *shares, f"{link['in_flight']:,}")
    return table


def _faults(status: dict[str, Any]) -> Table:
    table = _table("Faults in force", "fault", "for s", "ends in s", numbers=2)
    for fault in status["faults"]:
        rest = "–" if fault["ends_in_s"] is None else f"{max(0.0, fault['ends_in_s']):.1f}"
        table.add_row(fault["fault"], f"{fault['since_s']:.1f}", rest)
    return table


def _state(state: str) -> str:
    return state if state == _GOOD else f"[bold red]{state}[/]"
