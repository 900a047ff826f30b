"""The state of a cluster as tables."""

from collections.abc import Callable, Iterator
from typing import Any

from rich.text import Text

from zonelab.analysis.number_text import NONE, digits, percent
from zonelab.studies.reporting.console import BAD, Cell, print_table, styled
from zonelab.studies.reporting.report_table import Column, ReportTable, plain

_GOOD = "running"
_NAMED_MAX = 7
_MISSING_MAX = 2
DEVIATIONS_SHOWN = 12
_LINKS_MAX = 42
"""Those of seven zones."""

Status = dict[str, Any]
"""A row too: of a zone, a link, a fault."""


def print_endpoints(status: Status) -> None:
    """Print the endpoints of a cluster that is up."""
    places = _places(status)
    columns = [
        *places,
        Column[Status]("clients connect to", lambda zone: zone["coordinator"]["address"]),
        Column[Status]("server", lambda zone: zone["server"]["address"]),
        Column[Status]("administration", lambda zone: zone["coordinator"]["admin"]),
    ]
    print_table(ReportTable(columns=columns, rows=status["zones"], names=len(places)))


def print_status(status: Status) -> None:
    for table in status_tables(status):
        print_table(table)


def recent_line(status: Status) -> str:
    """The last seconds of every zone and the faults in force, in one line."""
    zones = [
        f"{zone['zone']} {digits(recent['operations_per_s'])}/s, {digits(recent['errors_per_s'])} errors/s, "
        f"p99 {digits(recent['p99_ms'])} ms"
        if (recent := (zone["statistics"] or {}).get("recent"))
        else f"{zone['zone']} coordinator {zone['coordinator']['state']}"
        for zone in status["zones"]
    ]
    faults = ", ".join(fault["fault"] for fault in status["faults"]) or "no fault"
    return f"{status['up_s']:,.0f} s: {'; '.join(zones)}; {faults}"


def status_tables(status: Status) -> Iterator[ReportTable[Any]]:
    """Yield the tables that have rows; those of zones and of their last seconds always."""
    zones = status["zones"]
    known = [zone["statistics"] for zone in zones if zone["statistics"]]
    yield _zones(status)
    yield _recent(status, known)
    if any(one["levels"] for one in known):
        yield ReportTable(title="Votes", columns=_VOTES, rows=[*_votes(zones)], names=2)
    if any(one["remote"] for one in known):
        yield ReportTable(title="Batches of writes for other data centres", columns=_REMOTE, rows=zones)
    if any(one["options"] for one in known):
        yield ReportTable(title="What the options have done", columns=_OPTIONS, rows=zones)
    if status["notices"]:
        yield ReportTable(
            title="What clients are not told", columns=[Column[str]("notice", str)], rows=status["notices"]
        )
    if rows := status["deviations"]:
        further = f", the first {DEVIATIONS_SHOWN} of {len(rows):,}" if len(rows) > DEVIATIONS_SHOWN else ""
        title = f"Errors and differing replies, by server{further}"
        yield ReportTable(title=title, columns=_DEVIATIONS, rows=rows[:DEVIATIONS_SHOWN])
    if shown := _shown_links(status):
        of = len(status["links"])
        title = "Links" if len(shown) == of else f"Links under a fault, {len(shown)} of {of}"
        yield ReportTable(title=title, columns=_LINKS, rows=shown)
    if status["faults"]:
        yield ReportTable(title="Faults in force", columns=_FAULTS, rows=status["faults"])


def _places(status: Status) -> list[Column[Status]]:
    """Return the columns that name a row's zone."""
    if not status["data_centres"]:
        return [_ZONE]
    return [Column("dc", lambda zone: zone["data_centre"]), Column("node", lambda zone: zone["zone"])]


def _number(heading: str, name: str, text: Callable[[Any], Cell] = plain) -> Column[Status]:
    """Return a column of the row's own number ``name``."""
    return Column(heading, lambda row: row[name], text=text, number=True)


def _counted(heading: str, *names: str) -> Column[Status]:
    """Return a column of a number in a zone's statistics; a dash for a coordinator that does not answer."""

    def value(zone: Status) -> Any:
        found = zone["statistics"]
        for name in names:
            found = found and found[name]
        return found

    return Column(heading, value, number=True)


def _zones(status: Status) -> ReportTable[Status]:
    lag = status["lag"] if status["dc_lag"] is None else f"{status['lag']}, between data centres {status['dc_lag']}"
    title = f"{status['level']}, lag {lag}, {status['kind']} zones, up for {status['up_s']:,.0f} s: totals since then"
    places = _places(status)
    return ReportTable(title=title, columns=[*places, *_TOTALS], rows=status["zones"], names=len(places))


def _recent(status: Status, known: list[Status]) -> ReportTable[Status]:
    lasted_s = [one["recent"]["seconds"] for one in known if one["recent"]]
    title = f"The last {max(lasted_s):g} s" if lasted_s else "The last seconds"
    places = _places(status)
    return ReportTable(title=title, columns=[*places, *_RECENT], rows=status["zones"], names=len(places))


def _votes(zones: list[Status]) -> Iterator[Status]:
    for zone in zones:
        for level, counts in (zone["statistics"] or {"levels": {}})["levels"].items():
            yield {"zone": zone["zone"], "level": level, **counts}


def _decisions(row: Status) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in row["decisions"].items() if n)


def _done(zone: Status) -> str:
    done = (zone["statistics"] or {"options": {}})["options"]
    return ", ".join(f"{name} {count:,}" for name, count in done.items())


def _reached(connected: dict[str, bool] | None) -> Cell:
    """By name while they are few, or all but a few."""
    if connected is None:
        return NONE
    reached = sorted(name for name, up in connected.items() if up)
    if len(connected) <= _NAMED_MAX or not reached:
        return " ".join(reached) or styled("none", BAD)
    missing = sorted(name for name, up in connected.items() if not up)
    if len(missing) > _MISSING_MAX:
        return styled(f"{len(reached)} of {len(connected)}", BAD)
    return Text.assemble("all but ", (" ".join(missing), BAD)) if missing else f"all {len(connected)}"


def _shown_links(status: Status) -> list[Status]:
    """Return where there are many, those under a fault, if these are not many."""
    if len(status["links"]) <= _LINKS_MAX:
        return list(status["links"])
    at_fault = {name for fault in status["faults"] for name in fault["links"]}
    shown = [link for link in status["links"] if link["link"] in at_fault]
    return shown if len(shown) <= _LINKS_MAX else []


def _state(state: str) -> Cell:
    return state if state == _GOOD else styled(state, BAD)


def _server(zone: Status) -> Cell:
    state, troubles = zone["server"]["state"], ", ".join((zone["statistics"] or {}).get("server_troubles", ()))
    return Text.assemble(_state(state), ", ", (troubles, BAD)) if troubles and state == _GOOD else _state(state)


def _share(share: float) -> str:
    return percent(share) if share else NONE


_ZONE = Column[Status]("zone", lambda row: row["zone"])
_TOTALS = (
    Column[Status]("port", lambda zone: zone["coordinator"]["address"].rpartition(":")[2]),
    Column[Status]("coordinator", lambda zone: _state(zone["coordinator"]["state"])),
    Column[Status]("server", _server),
    Column[Status]("reaches", lambda zone: _reached(zone["statistics"] and zone["statistics"]["connected"])),
    _counted("clients", "clients"),
    _counted("commands", "commands"),
    _counted("errors", "errors"),
    _counted("divergent", "divergence"),
    _counted("p50 ms", "latency_ms", "p50"),
    _counted("p99 ms", "latency_ms", "p99"),
)
_RECENT = (
    _counted("commands/s", "recent", "operations_per_s"),
    _counted("errors/s", "recent", "errors_per_s"),
    _counted("divergent/s", "recent", "divergent_per_s"),
    _counted("p50 ms", "recent", "p50_ms"),
    _counted("p99 ms", "recent", "p99_ms"),
)
_VOTES = (
    _ZONE,
    Column[Status]("level", lambda row: row["level"]),
    Column("how they ended", _decisions),
    _number("commands", "commands"),
    _number("errors", "error_answers"),
    _number("late", "late_disagreements"),
)
_REMOTE = (
    Column[Status]("node", lambda zone: zone["zone"]),
    Column[Status]("reaches coordinators", lambda zone: _reached(zone["statistics"] and zone["statistics"]["peers"])),
    *(_counted(name.replace("_", " "), "remote", name) for name in ("sent", "failed_over", "dropped", "failed")),
)
_OPTIONS = (_ZONE, Column("done", _done))
_DEVIATIONS = (
    Column[Status]("command", lambda row: Text(row["command"])),
    _ZONE,
    Column[Status]("reply", lambda row: Text(row["reply"])),
    _number("times", "times"),
)
_LINKS = (
    Column[Status]("link", lambda link: link["link"]),
    Column[Status]("lag", lambda link: link["lag"]),
    Column[Status]("cut", lambda link: styled(str(link["cut"]), BAD) if link["cut"] else None),
    _number("loss", "loss", _share),
    _number("duplicated", "duplicate", _share),
    _number("in flight", "in_flight"),
)
_FAULTS = (
    Column[Status]("fault", lambda fault: fault["fault"]),
    Column[Status]("links", lambda fault: len(fault["links"]) or None, number=True),
    _number("for s", "since_s"),
    Column[Status](
        "ends in s", lambda fault: None if fault["ends_in_s"] is None else max(0.0, fault["ends_in_s"]), number=True
    ),
)
