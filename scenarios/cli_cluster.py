"""The verbs of a cluster that stays up: ``zonelab up``, ``status``, ``fault …``, ``heal`` and ``down``.

Exit codes: 0 done, 2 interrupted, 3 it failed or no cluster is up, 64 bad usage, such as a zone that is not there.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from cluster.options.versions.clock import Votes
from cluster.resp.commands.busy_poll import BUSY_POLL_US
from cluster.votes.vote import ZONES_MAX, Level
from cluster.zone import Persistence
from scenarios.output import print_json
from scenarios.session.fault_requests import FaultKind, parse_duration_s
from scenarios.spec.scenario import ZoneKind

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout, and nothing else there.")]
For = Annotated[
    str | None,
    typer.Option("--for", metavar="TIME", help="End by itself after 500ms, 10s, 2m, …; else zonelab heal ends it."),
]
Links = Annotated[
    str, typer.Argument(metavar="LINKS", help="b: all from and to b; a:b: both ways; 'a>b': one way; all.")
]
Zone = Annotated[str, typer.Argument(metavar="ZONE", help="a, b, …")]
Wipe = Annotated[bool, typer.Option("--wipe", help="Come back without data.")]
Warm = Annotated[bool, typer.Option("--warm", help="Come back with a copy of a running zone's data.")]

fault_app = typer.Typer(
    help="Break something: links, servers or coordinators. Faults may be combined.", rich_markup_mode=None
)
coordinator_app = typer.Typer(help="Break the coordinator of a zone.", rich_markup_mode=None)
fault_app.add_typer(coordinator_app, name="coordinator")


def register(app: typer.Typer) -> None:
    """Add the verbs to ``app``."""
    for verb in (up, status, heal, down):
        app.command()(verb)
    app.add_typer(fault_app, name="fault")


def up(
    *,
    zones: Annotated[
        int | None, typer.Option(min=1, max=ZONES_MAX, help="How many in each data centre.", show_default="3")
    ] = None,
    dcs: Annotated[int | None, typer.Option(min=1, help="How many data centres.", show_default="1")] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Servers in each zone, which share its keys.", show_default="1")
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML with data_centres, hash and hash_tag, as a scenario's topology."),
    ] = None,
    hash_tag: Annotated[
        str | None, typer.Option(metavar="TAG", help="E.g. '{}': only what is between these decides a key's server.")
    ] = None,
    level: Annotated[Level, typer.Option(help="Consistency level of reads and writes.")] = Level.DC_QUORUM,
    lag: Annotated[str, typer.Option(metavar="LAG", help="One-way delay of links, e.g. lognormal:2ms:15ms.")] = "0",
    dc_lag: Annotated[
        str | None, typer.Option(metavar="LAG", help="That of links between data centres.", show_default="as --lag")
    ] = None,
    zones_kind: Annotated[ZoneKind, typer.Option(help="What each zone's server runs in.")] = ZoneKind.PROCESS,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of zone a; the others follow. 0: free ones.")
    ] = 7401,
    password: Annotated[
        str | None, typer.Option(envvar="ZONELAB_PASSWORD", help="What clients must show (AUTH).")
    ] = None,
    time_factor: Annotated[float, typer.Option(help="Scales Dynomite's time-outs and back-offs.")] = 1.0,
    busy_poll_us: Annotated[
        int,
        typer.Option(min=0, help="So long coordinators look for the next request instead of sleeping; 0: not at all."),
    ] = BUSY_POLL_US,
    persistence: Annotated[
        Persistence, typer.Option(help="What servers write to disk, so that a restart has the data.")
    ] = Persistence.AOF_EVERYSEC,
    seed: Annotated[int, typer.Option(min=0, help="Of the lags and losses that are drawn.")] = 0,
    read_repair: Annotated[bool, typer.Option("--read-repair", help="Dynomite's option of this name.")] = False,
    hinted_handoff: Annotated[
        bool, typer.Option("--hinted-handoff", help="Keep what a zone misses while it is away, and send it later.")
    ] = False,
    votes: Annotated[Votes, typer.Option(help="What decides between replies that differ.")] = Votes.VALUE,
    anti_entropy: Annotated[
        str | None, typer.Option(metavar="TIME", help="Compare zones so often, e.g. 1s, and copy what is newer.")
    ] = None,
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Where the run directory is made.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Start zones and a coordinator for each, which any Redis client can use, and leave them up."""
    from scenarios.session.launch import up as bring_up
    from scenarios.session.settings import checked_settings
    from scenarios.session.state_file import StateDirectory
    from scenarios.session.status_tables import print_endpoints
    from scenarios.session.topology_file import counted

    layout, told = counted(dcs=dcs, zones=zones, nodes=nodes, hash_tag=hash_tag, file=topology)
    given = [*told, f"--level {level}", f"--lag '{lag}'", *([f"--dc-lag '{dc_lag}'"] if dc_lag is not None else [])]
    given += [f"--zones-kind {zones_kind}"]
    given += [*(["--read-repair"] if read_repair else []), *(["--hinted-handoff"] if hinted_handoff else [])]
    given += [f"--votes {votes}", *([f"--anti-entropy {anti_entropy}"] if anti_entropy is not None else [])]
    given += [f"--port {port}", f"--time-factor {time_factor:g}", f"--persistence {persistence}", f"--seed {seed}"]
    given += [f"--busy-poll-us {busy_poll_us}"]
    settings = checked_settings(
        **layout,
        dc_lag=dc_lag,
        kind=zones_kind,
        level=level,
        lag=lag,
        port=port,
        password=password,
        time_factor=time_factor,
        busy_poll_us=busy_poll_us,
        persistence=persistence,
        seed=seed,
        read_repair=read_repair,
        hinted_handoff=hinted_handoff,
        votes=votes,
        anti_entropy_s=0.0 if anti_entropy is None else parse_duration_s(anti_entropy),
        runs=runs.absolute(),
        command=f"zonelab up {' '.join(given)}",
    )
    ready = bring_up(settings, StateDirectory.of_user())
    if as_json:
        print_json(ready)
        return
    print_endpoints(ready)
    first = ready["zones"][0]["coordinator"]["address"].rpartition(":")[2]
    typer.echo(f"\nTry: redis-cli -p {first} set k v · zonelab fault cut a --for 10s · zonelab status · zonelab down")
    typer.echo(f"Recorded in {ready['run']}")


def status(*, as_json: AsJson = False) -> None:
    """Show zones, coordinators, links, counts and latencies, and the faults in force."""
    from scenarios.session.status_tables import print_status

    told = _control().get("/status")
    if as_json:
        print_json(told)
    else:
        print_status(told)


def heal(*, as_json: AsJson = False) -> None:
    """End every fault and start again whatever has died. Nothing happens if all is well."""
    _done(_control().post("/heal")["done"], as_json=as_json, nothing="nothing to heal")


def down(*, as_json: AsJson = False) -> None:
    """End the cluster, and remove what one that was killed left behind. Nothing happens if there is none."""
    from scenarios.session.launch import down as bring_down
    from scenarios.session.state_file import StateDirectory

    told = bring_down(StateDirectory.of_user())
    if as_json:
        print_json(told)
        return
    if told["ended"]:
        typer.echo(f"down; report: zonelab report {told['run']}" if told["run"] else "down")
    elif not told["removed"]:
        typer.echo("no cluster is up")
    for left in told["removed"]:
        typer.echo(f"removed {left}")


@fault_app.command()
def cut(links: Links, *, for_: For = None, as_json: AsJson = False) -> None:
    """Cut links: their connections are reset, and what is sent fails at once."""
    _fault(FaultKind.CUT, links, for_, as_json=as_json)


@fault_app.command()
def hold(links: Links, *, for_: For = None, as_json: AsJson = False) -> None:
    """Make links black holes: nothing arrives, nobody is told, and all of it arrives when they are mended."""
    _fault(FaultKind.HOLD, links, for_, as_json=as_json)


@fault_app.command()
def lag(
    links: Links,
    lag: Annotated[str, typer.Argument(metavar="LAG", help="E.g. constant:50ms, lognormal:20ms:200ms.")],
    *,
    for_: For = None,
    as_json: AsJson = False,
) -> None:
    """Give links another lag."""
    _fault(FaultKind.LAG, links, for_, as_json=as_json, lag=lag)


@fault_app.command()
def loss(
    links: Links,
    share: Annotated[float, typer.Argument(help="Of transmissions, e.g. 0.1; TCP repeats each after 200 ms or more.")],
    *,
    for_: For = None,
    as_json: AsJson = False,
) -> None:
    """Let links lose transmissions."""
    _fault(FaultKind.LOSS, links, for_, as_json=as_json, share=share)


@fault_app.command()
def duplicate(
    links: Links,
    share: Annotated[float, typer.Argument(help="Of messages, e.g. 0.1.")],
    *,
    after: Annotated[str, typer.Option(metavar="TIME", help="When the copy sets out.")] = "1ms",
    for_: For = None,
    as_json: AsJson = False,
) -> None:
    """Let messages arrive twice, as behind a proxy that tries again."""
    _fault(FaultKind.DUPLICATE, links, for_, as_json=as_json, share=share, after_ms=1e3 * parse_duration_s(after))


@fault_app.command()
def slow(
    zone: Zone,
    factor: Annotated[float, typer.Argument(help="It runs for one part in so many of the time.")] = 4.0,
    *,
    for_: For = None,
    as_json: AsJson = False,
) -> None:
    """Let a zone's server run for a part of the time only, in periods of 100 ms."""
    _fault(FaultKind.SLOW, zone, for_, as_json=as_json, factor=factor)


@fault_app.command()
def pause(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Freeze a zone's server (SIGSTOP): it keeps its connections and answers nobody."""
    _fault(FaultKind.PAUSE, zone, for_, as_json=as_json)


@fault_app.command()
def kill(zone: Zone, *, wipe: Wipe = False, warm: Warm = False, for_: For = None, as_json: AsJson = False) -> None:
    """Kill a zone's server (SIGKILL). When the fault ends it comes back, with its own data if nothing else is said."""
    _fault(FaultKind.KILL, zone, for_, as_json=as_json, restart=_mode(wipe=wipe, warm=warm))


@fault_app.command()
def restart(zone: Zone, *, wipe: Wipe = False, warm: Warm = False, as_json: AsJson = False) -> None:
    """Start a zone's server again, killed before or not, with its own data if nothing else is said."""
    _restart("zone", zone, as_json=as_json, mode=_mode(wipe=wipe, warm=warm))


@fault_app.command()
def end(
    number: Annotated[int, typer.Argument(help="As zonelab status shows it before the colon.")],
    *,
    as_json: AsJson = False,
) -> None:
    """End one fault."""
    _done([f"ended {name}" for name in _control().post("/faults/end", {"number": number})["done"]], as_json=as_json)


@coordinator_app.command("kill")
def coordinator_kill(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Kill a coordinator (SIGKILL): its clients are thrown out and nobody listens at its port."""
    _fault(FaultKind.COORDINATOR_KILL, zone, for_, as_json=as_json)


@coordinator_app.command("pause")
def coordinator_pause(zone: Zone, *, for_: For = None, as_json: AsJson = False) -> None:
    """Freeze a coordinator (SIGSTOP)."""
    _fault(FaultKind.COORDINATOR_PAUSE, zone, for_, as_json=as_json)


@coordinator_app.command("restart")
def coordinator_restart(zone: Zone, *, as_json: AsJson = False) -> None:
    """Start a coordinator again, killed before or not."""
    _restart("coordinator", zone, as_json=as_json)


def _control() -> Any:
    from scenarios.session.client import Control
    from scenarios.session.state_file import StateDirectory

    return Control.of_user(StateDirectory.of_user())


def _fault(kind: FaultKind, target: str, for_: str | None, *, as_json: bool, **amounts: Any) -> None:
    for_s = None if for_ is None else parse_duration_s(for_)
    body = {"kind": kind, "target": target, "for_s": for_s, **amounts}
    begun = _control().post("/faults", body)["done"]
    if as_json:
        print_json(begun)
        return
    until = "until zonelab heal" if for_s is None else f"for {for_s:g} s"
    typer.echo(f"{begun['fault']}, {until}")


def _restart(what: str, target: str, *, as_json: bool, **how: Any) -> None:
    _done(_control().post("/restart", {"what": what, "target": target, **how})["done"], as_json=as_json)


def _done(lines: list[str], *, as_json: bool, nothing: str = "") -> None:
    if as_json:
        print_json({"done": lines})
        return
    for line in lines or [nothing]:
        typer.echo(line)


def _mode(*, wipe: bool, warm: bool) -> str:
    if wipe and warm:
        from scenarios.session.fault_requests import NotAccepted

        raise NotAccepted("--wipe and --warm exclude each other")
    return "wipe" if wipe else "warm" if warm else "keep"
