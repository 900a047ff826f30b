"""The verbs that make many runs in simulation: ``zonelab hunt``, ``sweep``, ``shrink``, ``matrix`` and ``ablate``."""

from pathlib import Path
from typing import Annotated

import typer

from zonelab.analysis.near_names import did_you_mean
from zonelab.app.cli.exits import EXIT_INVALID
from zonelab.app.cli.many_runs import StudyOptions, over_many_runs, words_of
from zonelab.app.cli.options import (
    RUNS_MAX,
    AsJson,
    AtLevel,
    Messages,
    Overrides,
    OwnQueue,
    Page,
    Source,
    Vary,
    overrides_of,
)
from zonelab.app.terminal.json_output import show
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.scenarios.errors import NotAccepted


@over_many_runs(runs=1000, each="Number of seeds, each of which is one run.")
def hunt(
    scenario: Source,
    *,
    messages: Messages = 100,
    level: AtLevel = None,
    set_: Overrides = None,
    queue: OwnQueue = None,
    options: StudyOptions,
) -> None:
    """Run a scenario in simulation with many seeds, each with faults of its own, and group what went wrong.

    Ctrl-C prints the results so far; the same command continues from there. Exits 1 if a seed failed, 2 if none did but
    it was interrupted or seeds could not be judged, 3 if the lab failed.
    """
    from zonelab.app.verbs.judged_studies import hunt_suite
    from zonelab.scenarios.spec.reading import load_scenario
    from zonelab.studies.hunt.findings import run_hunt
    from zonelab.studies.hunt.seeds import HuntTarget

    overrides = overrides_of(set_, queue=queue)
    at_level = [f"level={level}"] if level is not None else []
    loaded = load_scenario(scenario, overrides=overrides + at_level, draws_faults=True)
    if loaded.programs:
        raise NotAccepted(f"{scenario}: programs: a hunt simulates, and programs run beside real servers: zonelab run")
    words = [scenario, "--level", loaded.level, "--messages", str(messages), *words_of("--set", overrides)]
    hunted = run_hunt(
        HuntTarget(scenario=loaded, messages=messages),
        seeds=options.seeds,
        where=options.where,
        runs=options.directory,
        command=options.command(*words),
    )
    options.end(hunted, hunt_suite(hunted, loaded))


@over_many_runs(runs=100, each="Seeds for each setting.")
def sweep(
    scenario: Source,
    *,
    vary: Vary = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Each seed draws its faults, load and more, as in a hunt.")
    ] = False,
    messages: Annotated[
        int, typer.Option(min=1, max=RUNS_MAX, help="About how many messages each run pushes; with --draw only.")
    ] = 100,
    level: AtLevel = None,
    set_: Overrides = None,
    queue: OwnQueue = None,
    options: StudyOptions,
) -> None:
    """Run a scenario in simulation under every combination of settings, with the same seeds, and compare the settings.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 whatever failed, 2 if it was
    interrupted, 3 if the lab failed.
    """
    from zonelab.app.verbs.judged_studies import sweep_suite
    from zonelab.studies.sweep.settings import settings_of
    from zonelab.studies.sweep.sweep import run_sweep

    overrides = overrides_of(set_, queue=queue, level=level)
    settings = settings_of(scenario, vary=vary or (), overrides=overrides, draws_faults=draw)
    words = [scenario, *words_of("--vary", vary), *words_of("--set", overrides)]
    words += ["--draw", "--messages", str(messages)] if draw else []
    done = run_sweep(
        settings,
        seeds=options.seeds,
        messages=messages if draw else None,
        where=options.where,
        runs=options.directory,
        command=options.command(*words),
    )
    options.end(done, sweep_suite(done, {setting.name: setting.scenario.forbidden for setting in settings}))


def shrink(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A counterexample of a hunt, or a scenario with listed operations or a workload."
        ),
    ],
    *,
    class_: Annotated[
        str | None,
        typer.Option("--class", help="The class of failure to keep, e.g. lost; the file's own if it has only one."),
    ] = None,
    runs_max: Annotated[
        int, typer.Option(min=1, max=RUNS_MAX, help="Stop after this many runs, with the smallest failing run so far.")
    ] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Reduce a failing simulated run while it still fails in the same way, and write its story beside the file.

    Exits 1, as the smallest run fails, too; 64 if the run in FILE does not fail.
    """
    from zonelab.app.verbs.shrink import ShrinkResult, class_of
    from zonelab.scenarios.spec.reading import load_scenario

    loaded = load_scenario(file, overrides=["arm=sim"])
    done = ShrinkResult.of(Path(file), loaded, class_of(loaded, class_), runs_max=runs_max)
    show(done, as_json=as_json)
    raise typer.Exit(EXIT_INVALID)


@over_many_runs(runs=30, each="Seeds for each cell of the table.")
def matrix(
    *,
    out: Page = None,
    files: Annotated[
        Path | None,
        typer.Option("--counterexamples", metavar="DIR", help="Folder for counterexamples, if not beside the results."),
    ] = None,
    shrink_runs: Annotated[
        int, typer.Option(min=1, max=RUNS_MAX, help="Runs spent on shrinking each counterexample, at most.")
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
    options: StudyOptions,
) -> None:
    """Run every level under every class of faults, in simulation, and print what held and what broke how often.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 whatever broke, 2 if it was
    interrupted, 3 if the lab failed.
    """
    from zonelab.app.verbs.judged_studies import matrix_suite
    from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, classes_of
    from zonelab.scenarios.spec.engines import ENGINES, known_engine
    from zonelab.studies.guarantees.matrix import chosen
    from zonelab.studies.guarantees.matrix_report import choice_words, fill_matrix

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
    words = [*choice_words(cells), *(words_of("--counterexamples", [str(files)]) if files else [])]
    words += ["--shrink-runs", str(shrink_runs), *(words_of("--out", [str(out)]) if out else [])]
    report = fill_matrix(
        cells,
        seeds=options.seeds,
        out=out,
        files=files,
        shrink_runs=shrink_runs,
        runs=options.directory,
        where=options.where,
        command=options.command(*words),
    )
    options.end(report, matrix_suite(report))


@over_many_runs(runs=100, each="Seeds for each mechanism.")
def ablate(
    *,
    off: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Switch off this mechanism only; several as NAME,NAME. May be repeated."),
    ] = None,
    of_options: Annotated[
        bool, typer.Option("--options", help="Switch on each option of the replication layer instead.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The engine whose hardened or fenced mode is tried; with dyno and dyno-v2 the default mode, too.",
        ),
    ] = "dyno",
    out: Page = None,
    options: StudyOptions,
) -> None:
    """Switch off each safety mechanism of the queue, in simulation, and print what fails without it.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 whatever failed, 2 if it was
    interrupted, 3 if the lab failed.
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
    if of_options and off:
        raise NotAccepted("--options and --off exclude each other")
    try:
        ablations = [parse_ablation(text, engine=engine) for text in off or ()]
    except ValueError as error:
        raise NotAccepted(f"--off: {error}") from error
    for ablation in ablations:
        if not conditions_of(ablation):
            useful = ", ".join(one.name for one in each_off(engine))
            raise NotAccepted(f"--off: got {ablation.name}; accepted with engine {engine}: {useful}")
    words = ["--options"] if of_options else [] if engine == "dyno" else ["--engine", engine]
    words += [*words_of("--off", off), *(words_of("--out", [str(out)]) if out else [])]
    command = options.command(*words)
    report: AblationReport | OptionReport
    if of_options:
        report = run_option_ablation(
            seeds=options.seeds, out=out, where=options.where, runs=options.directory, command=command
        )
    else:
        report = run_ablations(
            ablations or each_off(engine),
            seeds=options.seeds,
            out=out,
            where=options.where,
            runs=options.directory,
            command=command,
        )
    options.end(report, options_suite(report) if isinstance(report, OptionReport) else ablation_suite(report))
