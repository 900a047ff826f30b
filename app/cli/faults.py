"""The verbs that break something in a cluster that is up: ``zonelab fault …``."""

from typing import Annotated, Any

import typer

from zonelab.app.cli.options import AsJson
from zonelab.app.cli.session import control, show_done
from zonelab.app.terminal.json_output import print_json
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted

For = Annotated[
    str | None,
    typer.Option(
        "--for", metavar="TIME", help="End the fault after this time, e.g. 10s; without it zonelab heal does."
    ),
]
Links = Annotated[
    str, typer.Argument(metavar="LINKS", help="b: all from and to b; a:b: both ways; 'a>b': one way; all: every link.")
]
Zone = Annotated[str, typer.Argument(metavar="ZONE", help="The name of a zone: a, b, …")]
Wipe = Annotated[bool, typer.Option("--wipe", help="Come back without data.")]
Warm = Annotated[bool, typer.Option("--warm", help="Come back with a copy of a running zone's data.")]

app = typer.Typer(
    help="Break something: links, servers or coordinators. Faults may be combined.", rich_markup_mode=None
)
coordinator_app = typer.Typer(
    help="Break the coordinator of a zone; the others do not reach that zone's server either.", rich_markup_mode=None
)
port_app = typer.Typer(
    help="Break the port of a zone alone; the others still reach that zone's server.", rich_markup_mode=None
)
app.add_typer(coordinator_app, name="coordinator")
app.add_typer(port_app, name="port")


@app.command()
def cut(links: Links, *, for_: For = None, as_json: AsJson = False) -> None:
    """Cut links: their connections are reset, and what is sent fails at once."""
    _fault("cut", links, for_, as_json=as_json)


@app.command()
def hold(links: Links, *, for_: For = None, as_json: AsJson = False) -> None:
    """Make links black holes: nothing arrives, without any notice, and all of it arrives when they are mended."""
    _fault("hold", links, for_, as_json=as_json)


@app.command()
def lag(
    links: Links,
    lag: Annotated[str, typer.Argument(metavar="LAG", help="E.g. constant:50ms, lognormal:20ms:200ms.")],
    *,
    for_: For = None,
    as_json: AsJson = False,
) -> None:
    """Change the lag of links."""
    _fault("lag", links, for_, as_json=as_json, lag=lag)


@app.command()
def loss(
    links: Links,
    share: Annotated[
        float,
        typer.Argument(help="Share of transmissions that are lost, e.g. 0.1; TCP repeats each after 200 ms or more."),
    ],
    *,
    for_: For = None,
    as_json: AsJson = False,
) -> None:
    """Make links lose transmissions."""
    _fault("loss", links, for_, as_json=as_json, share=share)


@app.command()
def duplicate(
    links: Links,
    share: Annotated[float, typer.Argument(help="Share of messages that arrive twice, e.g. 0.1.")],
    *,
    after: Annotated[str, typer.Option(metavar="TIME", help="How long after a message its copy is sent.")] = "1ms",
    for_: For = None,
    as_json: AsJson = False,
) -> None:
    """Make messages arrive twice, as behind a proxy that tries again."""
    _fault("duplicate", links, for_, as_json=as_json, share=share, after_ms=1e3 * parse_duration_s(after))


@app.command()
def slow(
    zone: Zone,
    factor: Annotated[
        float, typer.Argument(help="With 4 the server runs for 25 ms of every 100 ms, with 10 for 10 ms.")
    ] = 4.0,
    *,
    for_: For = None,
    as_json: AsJson = False,
) -> None:
    """Make a zone's server run for only a part of every 100 ms."""
    _fault("slow", zone, for_, as_json=as_json, factor=factor)


@app.command()
def pause(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Freeze a zone's server (SIGSTOP): it keeps its connections and answers nobody."""
    _fault("pause", zone, for_, as_json=as_json)


@app.command()
def memory(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Let a zone's server refuse what needs more memory (OOM); it carries out the rest."""
    _fault("memory", zone, for_, as_json=as_json)


@app.command()
def kill(zone: Zone, *, wipe: Wipe = False, warm: Warm = False, for_: For = None, as_json: AsJson = False) -> None:
    """Kill a zone's server (SIGKILL). When the fault ends it comes back, by default with its data."""
    _fault("kill", zone, for_, as_json=as_json, restart=_mode(wipe=wipe, warm=warm))


@app.command()
def restart(zone: Zone, *, wipe: Wipe = False, warm: Warm = False, as_json: AsJson = False) -> None:
    """Restart a zone's server, whether it was killed before or not; by default it keeps its data."""
    _restart("zone", zone, as_json=as_json, mode=_mode(wipe=wipe, warm=warm))


@app.command()
def end(
    number: Annotated[int, typer.Argument(help="The number that zonelab status shows before the colon.")],
    *,
    as_json: AsJson = False,
) -> None:
    """End one fault."""
    show_done([f"ended {name}" for name in control().post("/faults/end", {"number": number})["done"]], as_json=as_json)


@coordinator_app.command("kill")
def coordinator_kill(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Kill a coordinator (SIGKILL), as the death of a Dynomite: others get errors of its zone at once."""
    _fault("coordinator kill", zone, for_, as_json=as_json)


@coordinator_app.command("pause")
def coordinator_pause(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Freeze a coordinator (SIGSTOP), as a Dynomite that stands still: others wait for its zone until a time-out."""
    _fault("coordinator pause", zone, for_, as_json=as_json)


@coordinator_app.command("restart")
def coordinator_restart(zone: Zone, *, as_json: AsJson = False) -> None:
    """Restart a coordinator, whether it, or its port, was killed before or not."""
    _restart("coordinator", zone, as_json=as_json)


@port_app.command("kill")
def port_kill(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Kill a coordinator's process (SIGKILL): its clients are disconnected and nobody listens at its port."""
    _fault("port kill", zone, for_, as_json=as_json)


@port_app.command("pause")
def port_pause(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Freeze a coordinator's process (SIGSTOP): its clients are not answered."""
    _fault("port pause", zone, for_, as_json=as_json)


def _fault(kind: str, target: str, for_: str | None, *, as_json: bool, **amounts: Any) -> None:
    for_s = None if for_ is None else parse_duration_s(for_)
    body = {"kind": kind, "target": target, "for_s": for_s, **amounts}
    begun = control().post("/faults", body)["done"]
    if as_json:
        print_json(begun)
        return
    until = "until zonelab heal" if for_s is None else f"for {for_s:g} s"
    typer.echo(f"{begun['fault']}, {until}")


def _restart(what: str, target: str, *, as_json: bool, **how: Any) -> None:
    show_done(control().post("/restart", {"what": what, "target": target, **how})["done"], as_json=as_json)


def _mode(*, wipe: bool, warm: bool) -> str:
    if wipe and warm:
        raise NotAccepted("--wipe and --warm exclude each other")
    return "wipe" if wipe else "warm" if warm else "keep"
