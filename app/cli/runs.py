"""The verbs that make one run, or few: ``zonelab demo``, ``run``, ``replay``; ``scenarios``, ``engines``: lists."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from zonelab.app.cli.exits import EXIT_UNKNOWN, EXITS, LabError
from zonelab.app.cli.many_runs import StudyOptions, over_many_runs, words_of
from zonelab.app.cli.options import (
    AsJson,
    AsJUnit,
    AtLevel,
    MonitorPort,
    Opens,
    Overrides,
    OwnQueue,
    RunsDirectory,
    RunsOn,
    Seed,
    Source,
    containers_possible,
    overrides_of,
)
from zonelab.app.terminal.json_output import print_json, show
from zonelab.app.terminal.opening import open_page
from zonelab.scenarios.arms import Arm, On, Recording
from zonelab.scenarios.errors import NotAccepted

if TYPE_CHECKING:
    from zonelab.app.monitor.run_page import RunPage
    from zonelab.app.terminal.junit import JUnitFile
    from zonelab.app.verbs.run import RunResult
    from zonelab.scenarios.spec.scenario import Scenario


ChosenOn = Annotated[
    On,
    typer.Option("--on", help="Simulation, or real servers in processes or containers.", callback=containers_possible),
]


def demo(
    *,
    on: ChosenOn = On.PROCESS,
    seed: Seed = None,
    runs: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Crash a zone at each consistency level, under the same load, and compare the results.

    Exits 0 when the lab did its job, whatever the verdicts are, 2 if it was interrupted, 3 if the lab failed.
    """
    from zonelab.app.verbs.demo import run_demo
    from zonelab.app.verbs.judged_runs import run_suite

    outcome = run_demo(on=on, seed=seed, runs=runs)
    if junit is not None:
        junit.write(run_suite("demo", outcome.runs, command=outcome.command))
    show(outcome, as_json=as_json)
    stopped = outcome.stopped
    if stopped is not None and stopped.record.status == "failed":
        words = f"{stopped.scenario.level}: {stopped.record.error}; see {stopped.directory / 'lab.log'}"
        raise LabError(words, printed=True)
    raise typer.Exit(0 if stopped is None else EXIT_UNKNOWN)


def run(
    scenario: Source,
    *,
    level: AtLevel = None,
    on: RunsOn = None,
    seed: Seed = None,
    set_: Overrides = None,
    queue: OwnQueue = None,
    live: Annotated[
        bool, typer.Option("--live", help="Serve a live page of the run, on real servers; its address is on stderr.")
    ] = False,
    live_wait: Annotated[
        float,
        typer.Option(metavar="S", min=0, max=60, help="With --live: longest wait for a reader before the run begins."),
    ] = 0.0,
    monitor_port: MonitorPort = 0,
    record: Annotated[
        Recording | None,
        typer.Option("--record", help="On real servers: also record each command and each zone's answer, for lens."),
    ] = None,
    opens: Opens = False,
    runs: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario once, check it and report what was lost, delivered twice or late."""
    from zonelab.app.verbs.run import perform, run_command
    from zonelab.scenarios.spec.reading import load_scenario
    from zonelab.studies.reporting.progress import Display

    overrides = overrides_of(set_, queue=queue)
    given = [f"level={level}"] if level is not None else []
    given += [f"seed={seed}"] if seed is not None else []
    given += [f"arm={on.arm}"] if on is not None else []
    loaded = load_scenario(scenario, overrides=overrides + given)
    zones = (on or On.PROCESS).zones
    _recordable(loaded, record)
    command = run_command(scenario, loaded, zones=zones, overrides=overrides, runs=runs, recording=record)
    page = _live_page(loaded, port=monitor_port, wait_s=live_wait) if live else None
    for option, given_value in (("--monitor-port", monitor_port), ("--live-wait", live_wait)):
        if given_value and page is None:
            raise NotAccepted(f"{option} needs --live")
    with Display() as shown:
        shown.announce("run", [loaded])
        if page is not None:
            shown.tell(f"live page: {page.address}")
        shown.begin(f"{loaded.name} {loaded.level}")
        done = perform(
            loaded,
            zones=zones,
            runs=runs,
            shown=shown,
            stage=shown.stage,
            command=command,
            page=page,
            recording=record,
        )
        shown.done(done.words)
    finished(done, junit=junit, opens=opens, as_json=as_json, command=command)


def finished(
    done: "RunResult", *, junit: "JUnitFile | None", opens: bool = False, as_json: bool, command: str
) -> NoReturn:
    """Print a run's result, open its report if asked, and end the verb with its exit code.

    Raises ``LabError`` if the run failed.
    """
    from zonelab.app.verbs.judged_runs import run_suite

    if junit is not None:
        junit.write(run_suite("run", [done], command=command))
    show(done, as_json=as_json)
    if opens:
        open_page(done.illustrations.report)
    if done.record.status == "failed":
        raise LabError(f"{done.record.error}; see {done.directory / 'lab.log'}", printed=True)
    raise typer.Exit(EXITS[done.result.verdict.valid] if done.result is not None else EXIT_UNKNOWN)


def _recordable(scenario: "Scenario", record: Recording | None) -> None:
    if record is None:
        return
    if scenario.arm is Arm.SIM:
        raise NotAccepted(f"--record {record} needs real servers; for votes of a simulated run lens makes it again")
    if scenario.programs:
        raise NotAccepted(f"--record {record} needs zonelab's own clients; programs have record_commands")


def _live_page(scenario: "Scenario", *, port: int, wait_s: float) -> "RunPage":
    from zonelab.app.monitor.run_page import RunPage

    if scenario.arm is Arm.SIM:
        raise NotAccepted("--live needs real servers: add --on process or --on docker")
    return RunPage(scenario, port=port, wait_s=wait_s)


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A counterexample that a hunt or a shrink wrote.")],
    *,
    on: ChosenOn = On.SIM,
    runs: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Run a counterexample again: the very same run in simulation, or its operations and faults on real servers.

    FILE may also be a file in runs/properties, which a failure of a QueueMachine leaves.
    """
    from zonelab.app.verbs.judged_runs import machine_suite, run_suite
    from zonelab.app.verbs.replay import replayed, replayed_machine
    from zonelab.scenarios.spec.reading import load_scenario
    from zonelab.studies.reporting.progress import Display

    again = replayed_machine(Path(file)) if on is On.SIM else None
    if again is not None:
        if junit is not None:
            junit.write(machine_suite(again, command=shlex.join(["zonelab", "replay", file])))
        show(again, as_json=as_json)
        raise typer.Exit(EXITS[not again.fails])
    loaded = load_scenario(file, overrides=[f"arm={on.arm}"])
    with Display() as shown:
        shown.announce("replay", [loaded])
        shown.begin(f"{loaded.name} {loaded.level}")
        done = replayed(file, loaded, zones=on.zones, runs=runs, shown=shown)
    if junit is not None:
        junit.write(run_suite("replay", [done.performed], command=done.performed.command))
    show(done, as_json=as_json)
    if done.performed.record.status == "failed":
        words = f"{done.performed.record.error}; see {done.performed.directory / 'lab.log'}"
        raise LabError(words, printed=True)
    raise typer.Exit(EXITS[done.performed.result.verdict.valid] if done.performed.result else EXIT_UNKNOWN)


def share(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A counterexample, or another scenario file.")],
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="HTML", help="The page to write; beside FILE, ending in .html, if not given.")
    ] = None,
    opens: Opens = False,
    as_json: AsJson = False,
) -> None:
    """Write one page about a counterexample, to be sent: story, lens, the file itself and the command that replays it.

    The run is made in simulation. Exits 0 whatever its verdict is. Of a run of programs, send its report.html.
    """
    from zonelab.app.verbs.share import share as share_case
    from zonelab.app.verbs.share import shared_scenario
    from zonelab.studies.reporting.progress import Display

    scenario, text = shared_scenario(file)
    with Display() as shown:
        shown.announce("share", [scenario])
        shown.begin(f"{scenario.name} {scenario.level}")
        done = share_case(file, scenario, text, out=out, shown=shown)
        shown.done("written")
    show(done, as_json=as_json)
    if opens:
        open_page(done.page)


def scenarios(*, as_json: AsJson = False) -> None:
    """List the scenarios that come with zonelab."""
    from zonelab.scenarios.spec.library import LIBRARY, library_names
    from zonelab.scenarios.spec.reading import load_scenario

    library = [load_scenario(name) for name in library_names()]
    if as_json:
        files = {name: str(LIBRARY / f"{name}.yaml") for name in library_names()}
        print_json([{**item.model_dump(mode="json"), "file": files[item.name]} for item in library])
        return
    from zonelab.app.terminal.scenario_table import scenario_table
    from zonelab.studies.reporting.console import print_table

    print_table(scenario_table(library))


@over_many_runs()
def engines(
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|FILE]", help="Run this scenario under every engine, in each mode of the engine."),
    ] = None,
    *,
    level: AtLevel = None,
    on: RunsOn = None,
    seed: Seed = None,
    set_: Overrides = None,
    options: StudyOptions,
) -> None:
    """List the queue engines with what they promise; or run a scenario under each of them, and compare.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 whatever the verdicts are, 2 if it
    was interrupted, 3 if the lab failed.
    """
    if scenario is None:
        if options.junit is not None:
            raise NotAccepted("--junit needs a scenario")
        _list_engines(as_json=options.as_json)
        return
    from zonelab.app.verbs.engines import compare_engines
    from zonelab.app.verbs.judged_studies import engines_suite

    done = compare_engines(
        scenario,
        level=level,
        on=on,
        seed=seed,
        overrides=set_ or [],
        runs=options.directory,
        command=lambda *words: options.command(*words, *words_of("--set", set_)),
        where=options.where,
    )
    options.end(done, engines_suite(done))


def _list_engines(*, as_json: bool) -> None:
    from dataclasses import asdict

    from zonelab.scenarios.spec.engines import ENGINES

    if as_json:
        rows = ({"name": name, **asdict(engine)} for name, engine in ENGINES.items())
        print_json([{key: value for key, value in each.items() if key != "make"} for each in rows])
        return
    from zonelab.app.terminal.engine_table import engine_table
    from zonelab.studies.reporting.console import print_table

    print_table(engine_table(ENGINES))
