"""The verbs that make many runs in simulation: ``zonelab hunt``, ``sweep``, ``shrink``, ``matrix`` and ``ablate``."""

from pathlib import Path
from typing import Annotated

import typer

from zonelab.app.cli.exits import EXIT_INVALID, EXIT_UNKNOWN, EXIT_VALID, LabError
from zonelab.app.cli.options import (
    RUNS_MAX,
    AsJson,
    AsJUnit,
    AtLevel,
    Conf,
    Jobs,
    Master,
    Overrides,
    OwnQueue,
    Page,
    RunsDirectory,
    SeedFrom,
    Source,
    Vary,
    overrides_of,
    where_of,
)
from zonelab.app.terminal.json_output import show
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.scenarios.errors import NotAccepted, did_you_mean


def hunt(
    scenario: Source,
    *,
    runs: Annotated[int, typer.Option(min=1, max=RUNS_MAX, help="How many seeds to run.")] = 1000,
    jobs: Jobs = 1,
    master: Master = None,
    conf: Conf = None,
    seed_from: SeedFrom = 1,
    messages: Annotated[int, typer.Option(min=1, max=RUNS_MAX, help="About how many messages each run pushes.")] = 100,
    level: AtLevel = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change one value. May be repeated.")
    ] = None,
    queue: OwnQueue = None,
    directory: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario in simulation with many seeds, each with faults of its own, and group what went wrong.

    Ctrl-C prints the results so far; the same command continues from there. Exits 1 if a seed failed, 2 if none did but
    it was interrupted or seeds could not be judged, 3 if the lab failed.
    """
    from zonelab.app.verbs.hunt import hunt_command, run_hunt
    from zonelab.app.verbs.judged_studies import hunt_suite
    from zonelab.scenarios.spec.reading import load_scenario
    from zonelab.studies.hunt.seeds import HuntTarget

    overrides = overrides_of(set_, queue=queue)
    at_level = [f"level={level}"] if level is not None else []
    loaded = load_scenario(scenario, overrides=overrides + at_level, draws_faults=True)
    seeds, where = range(seed_from, seed_from + runs), where_of(jobs, master, conf)
    command = hunt_command(
        scenario, level=loaded.level, seeds=seeds, where=where, messages=messages, overrides=overrides, runs=directory
    )
    target = HuntTarget(scenario=loaded, messages=messages)
    hunted = run_hunt(target, seeds=seeds, where=where, runs=directory, command=command)
    if junit is not None:
        junit.write(hunt_suite(hunted, loaded))
    show(hunted, as_json=as_json)
    for seed, why in hunted.broken.items():
        raise LabError(f"seed {seed}: {why}")
    decided = hunted.complete and not hunted.undecided
    raise typer.Exit(EXIT_INVALID if hunted.failing else EXIT_VALID if decided else EXIT_UNKNOWN)


def sweep(
    scenario: Source,
    *,
    vary: Vary = None,
    runs: Annotated[int, typer.Option(min=1, max=RUNS_MAX, help="Seeds for each setting.")] = 100,
    seed_from: SeedFrom = 1,
    jobs: Jobs = 1,
    master: Master = None,
    conf: Conf = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Each seed draws its faults, load and more, as in a hunt.")
    ] = False,
    messages: Annotated[
        int, typer.Option(min=1, max=RUNS_MAX, help="About how many messages each run pushes; with --draw only.")
    ] = 100,
    level: AtLevel = None,
    set_: Overrides = None,
    queue: OwnQueue = None,
    directory: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario in simulation under every combination of settings, with the same seeds, and compare these.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 whatever failed, 2 if it was
    interrupted, 3 if the lab failed.
    """
    from zonelab.app.verbs.every_setting import command_of, run_sweep
    from zonelab.app.verbs.judged_studies import sweep_suite
    from zonelab.studies.sweep.settings import settings_of

    overrides = overrides_of(set_, queue=queue, level=level)
    settings = settings_of(scenario, vary=vary or (), overrides=overrides, draws_faults=draw)
    seeds, where, drawn = range(seed_from, seed_from + runs), where_of(jobs, master, conf), messages if draw else None
    command = command_of(
        "sweep", scenario, vary=vary or (), seeds=seeds, where=where, overrides=overrides, runs=directory, drawn=drawn
    )
    done = run_sweep(settings, seeds=seeds, messages=drawn, where=where, runs=directory, command=command)
    if junit is not None:
        junit.write(sweep_suite(done, {setting.name: setting.scenario.forbidden for setting in settings}))
    show(done, as_json=as_json)
    if done.problems:
        raise LabError(done.problems[0])
    raise typer.Exit(EXIT_VALID if done.complete else EXIT_UNKNOWN)


def shrink(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A counterexample of a hunt, or a scenario with listed operations or a workload."
        ),
    ],
    *,
    class_: Annotated[
        str | None, typer.Option("--class", help="The class that must stay; the file's own if it has only one.")
    ] = None,
    runs_max: Annotated[
        int, typer.Option(min=1, max=RUNS_MAX, help="Stop after so many runs, with the smallest so far.")
    ] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Reduce a failing simulated run while it still fails in the same way, and write its story beside the file."""
    from zonelab.app.verbs.shrink import Shrinking, class_of
    from zonelab.scenarios.spec.reading import load_scenario

    loaded = load_scenario(file, overrides=["arm=sim"])
    done = Shrinking.of(Path(file), loaded, class_of(loaded, class_), runs_max=runs_max)
    show(done, as_json=as_json)
    raise typer.Exit(EXIT_INVALID)


def matrix(
    *,
    runs: Annotated[int, typer.Option(min=1, max=RUNS_MAX, help="Seeds for each cell of the table.")] = 30,
    seed_from: SeedFrom = 1,
    jobs: Jobs = 1,
    master: Master = None,
    conf: Conf = None,
    out: Page = None,
    directory: RunsDirectory = Path("runs"),
    files: Annotated[
        Path | None,
        typer.Option("--counterexamples", metavar="DIR", help="Where these are written, if not beside the results."),
    ] = None,
    shrink_runs: Annotated[
        int, typer.Option(min=1, max=RUNS_MAX, help="Runs spent on making a counterexample smaller.")
    ] = 60,
    engine: Annotated[str, typer.Option(metavar="NAME", help="The queue engine; see zonelab engines.")] = "dyno",
    mode: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this mode: default, compat or hardened. May be repeated."),
    ] = None,
    level: Annotated[
        list[Level] | None, typer.Option(metavar="LEVEL", help="Only this level. May be repeated.")
    ] = None,
    faults: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this class of faults, e.g. zone-wiped. May be repeated."),
    ] = None,
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Run every level under every class of faults, in simulation, and print what held and what broke how often.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 whatever broke, 2 if it was
    interrupted, 3 if the lab failed.
    """
    from zonelab.app.verbs.judged_studies import matrix_suite
    from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, classes_of
    from zonelab.scenarios.spec.engines import ENGINES, known_engine
    from zonelab.studies.guarantees.matrix import chosen
    from zonelab.studies.guarantees.matrix_report import fill_matrix

    try:
        known_engine(engine)
    except ValueError as error:
        raise NotAccepted(f"--engine: {error}") from None
    offered = (
        ("--mode", mode, tuple(ENGINES[engine].modes)),
        ("--level", level, LEVELS_OF_ONE_DC),
        ("--faults", faults, classes_of(engine)),
    )
    for option, names, accepted in offered:
        if lacking := [name for name in names or () if name not in accepted]:
            nearest = did_you_mean(lacking[0], accepted)
            raise NotAccepted(f"{option}: got {lacking[0]}{nearest}; accepted: {', '.join(accepted)}")
    cells = chosen(
        engine=engine,
        modes=[EngineMode(name) for name in mode or ()],
        levels=level or (),
        fault_classes=[FaultClass(name) for name in faults or ()],
    )
    report = fill_matrix(
        cells,
        seeds=range(seed_from, seed_from + runs),
        out=out,
        files=files,
        shrink_runs=shrink_runs,
        runs=directory,
        where=where_of(jobs, master, conf),
    )
    if junit is not None:
        junit.write(matrix_suite(report))
    show(report, as_json=as_json)
    if report.study.problems:
        raise LabError(report.study.problems[0])
    raise typer.Exit(EXIT_VALID if report.study.complete else EXIT_UNKNOWN)


def ablate(
    *,
    runs: Annotated[int, typer.Option(min=1, max=RUNS_MAX, help="Seeds for each mechanism.")] = 100,
    seed_from: SeedFrom = 1,
    jobs: Jobs = 1,
    master: Master = None,
    conf: Conf = None,
    off: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Switch off this mechanism only; several as NAME,NAME. May be repeated."),
    ] = None,
    options: Annotated[
        bool, typer.Option("--options", help="Switch on each option of the replication layer instead.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The engine whose hardened or fenced mode is tried; with dyno and dyno-v2 the default mode, too.",
        ),
    ] = "dyno",
    directory: RunsDirectory = Path("runs"),
    out: Page = None,
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Switch off each safety mechanism of the queue, in simulation, and print what fails without it.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 whatever failed, 2 if it was
    interrupted.
    """
    from zonelab.app.verbs.judged_studies import ablation_suite, options_suite
    from zonelab.scenarios.spec.engines import ENGINES
    from zonelab.studies.guarantees.ablation import conditions_of, each_off
    from zonelab.studies.guarantees.ablation_report import AblationReport, run_ablations
    from zonelab.studies.guarantees.mechanisms import parse_ablation
    from zonelab.studies.guarantees.option_report import OptionReport, run_option_ablation

    hardened = [name for name, one in ENGINES.items() if {"hardened", "fenced"} & set(one.modes)]
    if engine not in hardened:
        raise NotAccepted(f"--engine: got {engine!r}{did_you_mean(engine, hardened)}; accepted: {', '.join(hardened)}")
    if options and off:
        raise NotAccepted("--options and --off exclude each other")
    try:
        ablations = [parse_ablation(text, engine=engine) for text in off or ()]
    except ValueError as error:
        raise NotAccepted(f"--off: {error}") from error
    for ablation in ablations:
        if not conditions_of(ablation):
            useful = ", ".join(one.name for one in each_off(engine))
            raise NotAccepted(f"--off: got {ablation.name}; accepted with engine {engine}: {useful}")
    seeds, where = range(seed_from, seed_from + runs), where_of(jobs, master, conf)
    if options:
        report: AblationReport | OptionReport = run_option_ablation(seeds=seeds, out=out, where=where, runs=directory)
    else:
        report = run_ablations(ablations, seeds=seeds, out=out, engine=engine, where=where, runs=directory)
    if junit is not None:
        junit.write(options_suite(report) if isinstance(report, OptionReport) else ablation_suite(report))
    show(report, as_json=as_json)
    raise typer.Exit(EXIT_VALID if report.study.complete else EXIT_UNKNOWN)
