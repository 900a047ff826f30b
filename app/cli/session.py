"""The verbs of a cluster that stays up: ``zonelab up``, ``status``, ``monitor``, ``heal`` and ``down``; and ``image``.

Exit codes: 0 done, 2 interrupted, 3 it failed or no cluster is up, 64 bad usage, such as a zone that is not there.
"""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from zonelab.app.cli.options import AsJson, MonitorPort, RunsDirectory, containers_possible
from zonelab.app.terminal.json_output import print_json
from zonelab.cluster.random_streams import SEED_MAX
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.cluster.votes.levels import Level, VoteBy
from zonelab.cluster.zone import Persistence
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.extras import Extra, require

_OF_LAYOUT = ("zones", "dcs", "nodes", "topology", "hash_tag")
_NOT_TOLD = ("password", "runs", "as_json")


def up(
    *,
    zones: Annotated[
        int | None, typer.Option(min=1, max=ZONES_MAX, help="Zones in each data centre.", show_default="3")
    ] = None,
    dcs: Annotated[int | None, typer.Option(min=1, help="Data centres.", show_default="1")] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Servers in each zone; they share its keys.", show_default="1")
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A YAML file with data_centres, hash and hash_tag, as in a scenario's topology, and links.",
        ),
    ] = None,
    hash_tag: Annotated[
        str | None,
        typer.Option(
            metavar="TAG", help="Two characters, e.g. '{}': only the part of a key between them decides its server."
        ),
    ] = None,
    level: Annotated[Level, typer.Option(help="Consistency level of reads and writes.")] = Level.DC_QUORUM,
    lag: Annotated[
        str | None,
        typer.Option(metavar="LAG", help="One-way delay of links, e.g. lognormal:2ms:15ms.", show_default="0"),
    ] = None,
    dc_lag: Annotated[
        str | None,
        typer.Option(metavar="LAG", help="One-way delay of links between data centres.", show_default="as --lag"),
    ] = None,
    on: Annotated[
        ZoneKind, typer.Option("--on", help="What each zone's server runs in.", callback=containers_possible)
    ] = ZoneKind.PROCESS,
    port: Annotated[
        int,
        typer.Option(
            min=0,
            help="Port of the first coordinator; every further one takes the next, up to 65535, so the first of 3 is "
            "65533 at most. 0: any free ports.",
        ),
    ] = 7401,
    monitor_port: MonitorPort = 0,
    password: Annotated[
        str | None, typer.Option(envvar="ZONELAB_PASSWORD", help="The password that clients must give (AUTH).")
    ] = None,
    time_factor: Annotated[float, typer.Option(help="Multiplies Dynomite's time-outs and back-offs.")] = 1.0,
    busy_poll_us: Annotated[
        int,
        typer.Option(min=0, help="Microseconds for which a coordinator polls for the next request before it sleeps."),
    ] = BUSY_POLL_US,
    persistence: Annotated[
        Persistence, typer.Option(help="How servers write to disk; after a restart they have what is there.")
    ] = Persistence.AOF_EVERYSEC,
    notify_keyspace_events: Annotated[
        str | None,
        typer.Option(metavar="LETTERS", help="Events of keys that servers publish, in the letters of their setting."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="Seed of the random lags and losses.")] = 0,
    read_repair: Annotated[
        bool,
        typer.Option(
            "--read-repair", help="Let reads write the newest value to zones that are behind (an option of Dynomite)."
        ),
    ] = False,
    hinted_handoff: Annotated[
        bool,
        typer.Option(
            "--hinted-handoff", help="Keep the writes that a zone misses while it is away, and send them later."
        ),
    ] = False,
    votes: Annotated[
        VoteBy, typer.Option(help="Decide between differing replies by their values, or by the versions of keys.")
    ] = VoteBy.VALUE,
    anti_entropy: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Compare zones at this interval, e.g. 1s, and copy what is newer."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse commands that work here and not on Dynomite, with an error that says so."
        ),
    ] = False,
    reload_scripts: Annotated[
        bool,
        typer.Option("--reload-scripts", help="Load clients' scripts again into servers that come back."),
    ] = False,
    runs: RunsDirectory = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Start zones, each with a coordinator that any Redis client can use, and leave them running."""
    options = {name: value for name, value in locals().items() if name not in _OF_LAYOUT}
    from zonelab.app.session.launch import up as start
    from zonelab.app.session.settings import SessionSettings, checked_settings, counted
    from zonelab.app.session.state_file import StateDirectory
    from zonelab.app.session.status_tables import print_endpoints
    from zonelab.cluster.wiring.settings import Links

    layout, words = counted(dcs=dcs, zones=zones, nodes=nodes, hash_tag=hash_tag, file=topology)
    command = " ".join(["zonelab up", *words, *_words(options)])
    links = layout.pop("links", Links()).model_dump(exclude_unset=True)
    if lag is not None:
        if "lag" in links:
            raise NotAccepted(f"--lag: excluded by links.lag in {topology}")
        links["lag"] = lag
    replication = {
        "read_repair": read_repair,
        "hinted_handoff": {} if hinted_handoff else None,
        "votes": votes,
        "anti_entropy": anti_entropy and {"interval_ms": math.ceil(1e3 * parse_duration_s(anti_entropy))},
        "strict": strict,
    }
    options = {name: options[name] for name in SessionSettings.model_fields.keys() & options.keys()}
    options |= {"kind": on, "links": links, "replication": replication, "runs": runs.absolute()}
    ready = start(checked_settings(**layout, **options, command=command), StateDirectory.of_user())
    if as_json:
        print_json(ready)
        return
    print_endpoints(ready)
    first = ready["zones"][0]
    port = first["coordinator"]["address"].rpartition(":")[2]
    cut = f"zonelab fault cut {first['zone']} --for 10s"
    typer.echo(f"\nTry: redis-cli -p {port} set k v; {cut}; zonelab status; zonelab down")
    typer.echo(f"Recorded in {ready['run']}")


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options other than the layout's as words of a command line, without the password."""
    for name, value in options.items():
        if value is None or value is False or name in _NOT_TOLD:
            continue
        yield "--" + name.replace("_", "-")
        if value is not True:
            yield shlex.quote(f"{value:g}" if isinstance(value, float) else str(value))


def status(
    *,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Refresh until Ctrl-C or zonelab down; without a terminal, print a line every 5 s."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show zones, coordinators, links, faults in force, and counts and latencies: in all, and over the last seconds."""
    from zonelab.app.cli.watch import watch as go_on
    from zonelab.app.session.status_tables import print_status
    from zonelab.studies.reporting.console import console

    if watch and as_json:
        raise NotAccepted("--watch and --json exclude each other")
    if watch:
        go_on(lambda: control().get("/status"), console())
        return
    answer = control().get("/status")
    if as_json:
        print_json(answer)
    else:
        print_status(answer)


def monitor(
    coordinators: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ADDRESS]...",
            help="Administration addresses of another cluster's coordinators: http://127.0.0.1:8001 …",
        ),
    ] = None,
    *,
    queue: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A queue to show; a topic of gmq and youzan. May be repeated."),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="NAME", help="The queue's engine: see zonelab engines.")] = "dyno",
    mode: Annotated[str, typer.Option(metavar="MODE", help="The mode of its engine.")] = "default",
    prefix: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Prefix of the queue's keys; by default the one that the engine has in runs."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the queue, e.g. buckets=5. May be repeated."),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="With --queue: the server of each ADDRESS's zone, in the same order. To be repeated.",
        ),
    ] = None,
    monitor_port: MonitorPort = 0,
    as_json: AsJson = False,
) -> None:
    """Print the address of the live page of the cluster that is up; with --queue, show these queues on it, too.

    Whoever has the page's address can cause faults. With ADDRESS, serve a read-only page until Ctrl-C.
    """
    from zonelab.app.monitor.page import address_of

    requests = _queue_requests(queue or [], engine=engine, mode=mode, prefix=prefix, options=set_ or [])
    if coordinators:
        _serve_page(coordinators, servers=server or [], requests=requests, port=monitor_port, as_json=as_json)
        return
    if server or monitor_port:
        raise NotAccepted("--server and --monitor-port need addresses of coordinators")
    asked = control()
    shown = [line for request in requests for line in asked.post("/queues", request)["done"]]
    address = address_of(asked.session.control, token=asked.session.token)
    if as_json:
        print_json({"page": address, "queues": shown})
    else:
        typer.echo(address)


def _serve_page(
    coordinators: Sequence[str], *, servers: Sequence[str], requests: Sequence[Any], port: int, as_json: bool
) -> None:
    from zonelab.app.monitor.coordinators import watch_coordinators
    from zonelab.app.monitor.queue_request import QueueRequest

    def tell(address: str) -> None:
        if as_json:
            print_json({"page": address})
        else:
            typer.echo(address)

    queues = [QueueRequest.model_validate(request) for request in requests]
    watch_coordinators(coordinators, servers=servers, queues=queues, port=port, tell=tell)


def _queue_requests(
    names: Sequence[str], *, engine: str, mode: str, prefix: str | None, options: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the bodies of the requests that show queues. Raises ``NotAccepted``."""
    from zonelab.analysis.yaml_text import NotYaml, read_yaml

    pairs = [text.partition("=") for text in options]
    for name, equals, value in pairs:
        if not name or not equals:
            raise NotAccepted(f"--set: got {name}{equals}{value}; accepted: NAME=VALUE, e.g. buckets=5")
    try:
        values = {name: read_yaml(value) for name, _, value in pairs}
    except NotYaml as error:
        raise NotAccepted(f"--set: {error}") from None
    of_queues = {"mode": mode, "prefix": prefix, "options": values}
    if not names and (engine != "dyno" or mode != "default" or prefix is not None or values):
        raise NotAccepted("--engine, --mode, --prefix and --set need --queue")
    return [{"name": name, "engine": engine, **of_queues} for name in names]


def heal(*, as_json: AsJson = False) -> None:
    """End every fault and restart every program that has died. Does nothing if all is well."""
    show_done(control().post("/heal")["done"], as_json=as_json, nothing="nothing to heal")


def down(*, as_json: AsJson = False) -> None:
    """Stop the cluster, and remove what a cluster that was killed left behind. Does nothing if there is none."""
    from zonelab.app.session.launch import down as stop
    from zonelab.app.session.state_file import StateDirectory

    ended = stop(StateDirectory.of_user())
    if as_json:
        print_json(ended)
        return
    for sentence in ended["keys"]:
        typer.echo(sentence)
    if ended["ended"]:
        typer.echo(f"down; report: zonelab report {ended['run']}" if ended["run"] else "down")
    elif not ended["removed"]:
        typer.echo("no cluster is up")
    for left in ended["removed"]:
        typer.echo(f"removed {left}")


def image(*, as_json: AsJson = False) -> None:
    """Build the images of container zones, their coordinators and gmq from the zonelab that is installed here."""
    require(Extra.DOCKER, asked="zonelab image")
    from zonelab.app.gmq_service.image import GMQ
    from zonelab.cluster.admin.coordinator_image import COORDINATOR
    from zonelab.cluster.real.zones.docker.zone_image import build_image

    images = build_image(), COORDINATOR.build(), GMQ.build()
    if as_json:
        print_json([{"image": built.name, "size_bytes": built.size_bytes} for built in images])
        return
    for built in images:
        typer.echo(f"{built.name}: {built.size_bytes / 1e6:.1f} MB")


def control() -> Any:
    from zonelab.app.session.client import Control
    from zonelab.app.session.state_file import StateDirectory

    return Control.of_user(StateDirectory.of_user())


def show_done(lines: list[str], *, as_json: bool, nothing: str = "") -> None:
    if as_json:
        print_json({"done": lines})
        return
    for line in lines or [nothing]:
        typer.echo(line)
