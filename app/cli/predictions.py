"""The verbs that measure or predict one thing: ``zonelab measure-lag``, ``measure-service``, ``pbs``, ``limit``."""

from pathlib import Path
from typing import Annotated

import typer

from zonelab.app.cli.exits import EXIT_UNKNOWN, EXIT_VALID, LabError
from zonelab.app.cli.many_runs import StudyOptions, over_many_runs, words_of
from zonelab.app.cli.options import (
    AsJson,
    AtLevel,
    Overrides,
    OwnQueue,
    RunsDirectory,
    Source,
    Vary,
    containers_possible,
    overrides_of,
)
from zonelab.app.terminal.json_output import show
from zonelab.cluster.random_streams import SEED_MAX
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.lags.questions import Command, parse_address


def pbs(
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A model of the paper: lnkd-ssd, lnkd-disk, ymmr, ymmr-3.35, wan."),
    ] = None,
    lag: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Instead of --model: one-way lag between zones, e.g. lognormal:2ms:15ms, trace:FILE."
        ),
    ] = None,
    own: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="With --lag: one-way lag to the server of the client's own zone; 0 if not given."
        ),
    ] = None,
    n: Annotated[int, typer.Option("--n", metavar="N", help="Number of replicas.")] = 3,
    r: Annotated[
        int | None,
        typer.Option("--r", metavar="R", help="Answers that a read waits for; each number from 1 to N if not given."),
    ] = None,
    w: Annotated[
        int | None,
        typer.Option("--w", metavar="W", help="Acks that a write waits for; each number from 1 to N if not given."),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME",
            help="Also print the share of reads that see a write this long after it ended, e.g. 10ms. May be repeated.",
        ),
    ] = None,
    probability: Annotated[
        float, typer.Option(metavar="P", help="The share of reads that must see the write: prints how long that takes.")
    ] = 0.999,
    table: Annotated[bool, typer.Option("--table", help="Print the paper's table 4 beside both estimators.")] = False,
    trials: Annotated[int, typer.Option(metavar="COUNT", help="Writes, and reads, drawn for each model.")] = 1_000_000,
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="Seed of all draws.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Predict from lags alone how long reads stay stale and how long reads and writes wait, for any quorum.

    Probabilistically bounded staleness (Bailis et al., VLDB 2012) by Monte Carlo, without faults, beside Dynomite's
    levels and Elasticsearch on the same replicas.
    """
    from zonelab.app.verbs.pbs import model_of, predicted, reproduced
    from zonelab.studies.reporting.progress import Work

    if table:
        if model or lag or own or r or w or at:
            raise NotAccepted("--table excludes all options but --trials, --seed and --json")
        with Work("pbs") as work:
            done = reproduced(trials=trials, seed=seed, stage=work.stage)
        show(done, as_json=as_json)
        return
    at_ms = [0.0, *(1000 * parse_duration_s(text) for text in at or ())]
    with Work("pbs") as work:
        done = predicted(
            model_of(model, lag=lag, own=own),
            replicas=n,
            r=r,
            w=w,
            at_ms=at_ms,
            probability=probability,
            trials=trials,
            seed=seed,
            stage=work.stage,
        )
    show(done, as_json=as_json)


MEASURED_S_MAX = 86_400.0
EVERY_S_LEAST = 0.001


def measure_lag(
    address: Annotated[
        list[str],
        typer.Argument(metavar="HOST:PORT...", help="Servers of other zones; with --with GET, coordinators' ports."),
    ],
    *,
    for_: Annotated[str, typer.Option("--for", metavar="TIME", help="Length of the measurement.")] = "60s",
    every: Annotated[str, typer.Option(metavar="TIME", help="Time between two commands to one address.")] = "10ms",
    with_: Annotated[
        Command,
        typer.Option(
            "--with", help="PING: one-way lag to a server, half a round trip. GET: the whole wait of a read at a port."
        ),
    ] = Command.PING,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for traces and figures.")] = Path("lags"),
    as_json: AsJson = False,
) -> None:
    """Measure lags from here to servers over TCP: a trace for each, fitted lags, how well they fit, and a figure.

    Ctrl-C keeps what was measured and exits 2. Exits 3 if a server does not answer, or not to the end.
    """
    from zonelab.app.verbs.measure_lag import measure_lag as measure

    addresses = [parse_address(text) for text in address]
    if len({str(one) for one in addresses}) < len(addresses):
        raise NotAccepted(f"addresses {', '.join(address)}: accepted: each once")
    for_s, every_s = parse_duration_s(for_), parse_duration_s(every)
    if for_s > MEASURED_S_MAX or not EVERY_S_LEAST <= every_s <= for_s:
        raise NotAccepted(f"--for {for_} --every {every}: accepted: --for up to 24h, --every from 1ms up to --for")
    done = measure(addresses, with_, for_s=for_s, every_s=every_s, folder=out)
    if done.measured:
        show(done, as_json=as_json)
    if done.problems:
        raise LabError("; ".join(done.problems), printed=bool(done.measured))
    raise typer.Exit(EXIT_UNKNOWN if done.interrupted else EXIT_VALID)


def measure_service(
    scenario: Source,
    *,
    on: Annotated[
        ZoneKind,
        typer.Option("--on", help="Real servers in processes or containers.", callback=containers_possible),
    ] = ZoneKind.PROCESS,
    runs: Annotated[int, typer.Option(min=2, help="Number of runs; each takes as long as its load.")] = 6,
    level: AtLevel = None,
    set_: Overrides = None,
    directory: RunsDirectory = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Measure how long clients and coordinators on this machine work on a command, for simulation.service.

    Runs the scenario, or a rollout's, on real servers without faults over links of 2 ms, and fits the work per command
    for which simulated medians equal the real ones. Ctrl-C ends it with the runs so far. Exits 2 if it was interrupted
    or the machine was busy.
    """
    from zonelab.app.verbs.measure_service import MeasuringService, scenario_to_measure
    from zonelab.studies.evaluate.real_run import RealRuns
    from zonelab.studies.reporting.footer import command_line

    overrides = overrides_of(set_, level=level)
    words = ["zonelab", "measure-service", scenario, "--on", str(on), "--runs", str(runs)]
    command = command_line(words, overrides=overrides)
    chosen = scenario_to_measure(scenario, overrides=overrides)
    real = RealRuns(on=on, runs=directory, command=command)
    done = MeasuringService(scenario=chosen, real=real, repeats=runs).run()
    show(done, as_json=as_json)
    if done.failure is not None:
        raise LabError(done.failure, printed=True)
    raise typer.Exit(EXIT_VALID if done.complete and done.work is not None else EXIT_UNKNOWN)


@over_many_runs(runs=3, each="Seeds for each setting; each takes a search of about ten runs.")
def limit(
    scenario: Source,
    *,
    vary: Vary = None,
    level: AtLevel = None,
    set_: Overrides = None,
    queue: OwnQueue = None,
    options: StudyOptions,
) -> None:
    """Find the largest rate of an open loop that the zones keep up with, in simulation without faults.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0, 2 if it was interrupted, 3 if a
    search found no limit.
    """
    from zonelab.app.verbs.judged_studies import limit_suite
    from zonelab.studies.limit.limits import run_limits
    from zonelab.studies.sweep.settings import settings_of

    overrides = overrides_of(set_, queue=queue, level=level)
    settings = settings_of(scenario, vary=vary or (), overrides=overrides)
    command = options.command(scenario, *words_of("--vary", vary), *words_of("--set", overrides))
    done = run_limits(settings, seeds=options.seeds, where=options.where, runs=options.directory, command=command)
    options.end(done, limit_suite(done))
