"""The verb ``zonelab try``: programs of the user's own, run under faults and judged."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from zonelab.analysis.message_classes import MessageClass
from zonelab.app.cli.options import AsJson, AsJUnit, Overrides, RunsDirectory, containers_possible
from zonelab.app.cli.runs import finished
from zonelab.cluster.random_streams import SEED_MAX
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted


def try_programs(
    *,
    producer: Annotated[
        list[str] | None,
        typer.Option(
            "--producer",
            metavar="COMMAND",
            help="A program that pushes messages and ends; {url} is the address of its port. May be repeated.",
        ),
    ] = None,
    worker: Annotated[
        list[str] | None,
        typer.Option("--worker", metavar="COMMAND", help="A program that works on messages. May be repeated."),
    ] = None,
    guest: Annotated[
        str | None,
        typer.Option(
            "--guest",
            metavar="NAME[==VERSION]",
            help="Producer and worker of a queue that comes with zonelab, e.g. rq, or of a folder: ./own.",
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="WORDS",
            help="A fault and its time: 'kill b for 5s', 'lag a:b 50ms at 2s for 10s'. May be repeated.",
        ),
    ] = None,
    level: Annotated[Level, typer.Option(help="Consistency level.")] = Level.DC_QUORUM,
    zones: Annotated[str, typer.Option(metavar="N|NAMES", help="Zones: how many, or their names: a,b,c.")] = "3",
    lag: Annotated[str, typer.Option(metavar="LAG", help="One-way lag of the links, e.g. lognormal:2ms:15ms.")] = "0",
    producer_zone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="Zone of the producers; all: one in each. The first if not given."),
    ] = None,
    worker_zone: Annotated[
        str, typer.Option(metavar="ZONE", help="Zone of the workers; all: --workers in each.")
    ] = "all",
    workers: Annotated[int, typer.Option(min=1, help="Processes of each worker in each of its zones.")] = 1,
    ready: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Begin the load when each worker has written a line that matches."),
    ] = None,
    load: Annotated[
        str, typer.Option(metavar="TIME", help="Longest load; it is over when all producers have ended.")
    ] = "60s",
    quiet: Annotated[
        str, typer.Option(metavar="TIME", help="Time without any event after which the queue counts as empty.")
    ] = "3s",
    drain: Annotated[str, typer.Option(metavar="TIME", help="Longest wait until the queue is empty.")] = "30s",
    forbid: Annotated[
        list[MessageClass] | None,
        typer.Option("--forbid", metavar="CLASS", help="Forbid this class beside the usual ones. May be repeated."),
    ] = None,
    on: Annotated[
        ZoneKind, typer.Option("--on", help="Servers in processes or containers.", callback=containers_possible)
    ] = ZoneKind.PROCESS,
    seed: Annotated[
        int | None, typer.Option(min=0, max=SEED_MAX, help="Seed of the link lags, {seed} in commands; 1 if not given.")
    ] = None,
    set_: Overrides = None,
    runs: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Run a producer and workers of your own, in any language, break something, and report what became of each message.

    The programs write a line of JSON for what happens to each message; zonelab judge --schema prints its fields. As a
    file for zonelab run the same has a section programs, described in docs/programs.md.
    """
    from zonelab.app.verbs.run import perform
    from zonelab.app.verbs.try_programs import ProgramTrial
    from zonelab.studies.reporting.progress import Display

    if not producer and not worker and guest is None:
        raise NotAccepted("try needs --producer COMMAND, --worker COMMAND or both, or --guest NAME")
    settings: dict[str, Any] = {"level": str(level), "links": {"lag": lag}}
    trial = ProgramTrial(
        producers=producer or (),
        workers=worker or (),
        guest=guest,
        faults=fault or (),
        zones=zones,
        producer_zone=producer_zone,
        worker_zone=worker_zone,
        workers_per_zone=workers,
        ready=ready,
        load_s=parse_duration_s(load),
        quiet_s=parse_duration_s(quiet),
        drain_s=parse_duration_s(drain),
        forbid=forbid or (),
        settings=settings if seed is None else {**settings, "seed": seed},
        overrides=set_ or (),
    )
    scenario = trial.scenario()
    command = shlex.join(["zonelab", *sys.argv[1:]])
    with Display() as shown:
        shown.announce("run", [scenario])
        shown.begin(f"{scenario.name} {scenario.level}")
        done = perform(scenario, zones=on, runs=runs, shown=shown, stage=shown.stage, command=command)
        shown.done(done.words)
    finished(done, junit=junit, as_json=as_json, command=command)
