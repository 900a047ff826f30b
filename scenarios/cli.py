"""The ``zonelab`` command.

Exit codes: 0 valid, 1 invalid, 2 unknown, 3 the lab itself failed, 64 bad usage or bad scenario file. What a command
needs is imported when it runs, so that ``--help`` does not wait for plotting and Spark.
"""

import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import ValidationError

from cluster.votes.vote import LEVELS_OF_ONE_DC, Level
from cluster.zone import ClusterError
from scenarios import cli_ablation, cli_cluster
from scenarios.output import print_json
from scenarios.session.fault_requests import NotAccepted
from scenarios.spec.reading import LIBRARY, ScenarioError, library_names, load_scenario
from scenarios.spec.scenario import Arm, ZoneKind

EXIT_VALID = 0
EXIT_INVALID = 1
EXIT_UNKNOWN = 2
EXIT_LAB_FAILED = 3
EXIT_USAGE = 64

_INTERRUPTED_TYPER = 130
"""What typer returns for a command that Ctrl-C ended."""

_EXITS = {True: EXIT_VALID, False: EXIT_INVALID, "unknown": EXIT_UNKNOWN}
_CODES = "Exit codes: 0 valid, 1 invalid, 2 unknown, 3 the lab itself failed, 64 bad usage or bad scenario file."

app = typer.Typer(
    name="zonelab",
    help="A multi-zone cluster testbed and consistency lab for delay queues on Redis.",
    epilog=_CODES,
    add_completion=False,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout, and nothing else there.")]
Runs = Annotated[Path, typer.Option(help="Where run directories are made.", metavar="DIR")]
Zones = Annotated[ZoneKind, typer.Option(help="What each zone's server runs in.")]
InArm = Annotated[
    Arm | None, typer.Option("--arm", help="Real servers, or simulation; the scenario's own if not given.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the load and of the link lags.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, e.g. runs/zone-crash/latest.")]


Name = TypeVar("Name", bound=StrEnum)


class LabError(Exception):
    """The lab itself failed: one line for the user and exit code 3."""


class UsageProblem(Exception):
    """What was asked for cannot be: one line for the user and exit code 64."""


def _version(wanted: bool) -> None:  # noqa: FBT001 (how typer calls it)
    if wanted:
        typer.echo(f"zonelab {version('zonelab')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    *,
    arm: InArm = None,
    zones: Zones = ZoneKind.PROCESS,
    seed: Seed = None,
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Crash a zone at each consistency level, under the same load, and compare what happened.

    Exits 0 when the lab did its job, whatever the verdicts are; 3 otherwise.
    """
    from scenarios.verbs.demo import run_demo

    _only_real(zones, arm or Arm.REAL)
    outcome = run_demo(arm=arm or Arm.REAL, zones=zones, seed=seed, runs=runs)
    if as_json:
        print_json(outcome.to_json())
    else:
        outcome.print()
    failed = [run for run in outcome.runs if run.record.status != "complete"]
    if failed:
        raise LabError(f"{failed[0].scenario.level}: {failed[0].record.error}; see {failed[0].directory / 'lab.log'}")


@app.command()
def run(
    scenario: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A scenario of the library, or a file.")],
    *,
    level: Annotated[Level | None, typer.Option(help="Consistency level; the scenario's own if not given.")] = None,
    arm: InArm = None,
    zones: Zones = ZoneKind.PROCESS,
    seed: Seed = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Change one value, e.g. faults[0].zone=c. May be repeated."),
    ] = None,
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Run a scenario once, check it and say what was lost, delivered twice or late."""
    from scenarios.progress import display
    from scenarios.verbs.run import perform, run_command

    overrides = list(set_ or [])
    given = [f"level={level}"] if level is not None else []
    given += [f"seed={seed}"] if seed is not None else []
    given += [f"arm={arm}"] if arm is not None else []
    loaded = load_scenario(scenario, overrides=overrides + given)
    _only_real(zones, loaded.arm)
    command = run_command(scenario, loaded, zones=zones, overrides=overrides, runs=runs)
    with display() as shown:
        shown.begin(f"{loaded.name} {loaded.level}")
        done = perform(loaded, zones=zones, runs=runs, shown=shown, command=command)
    if as_json:
        print_json(done.to_json())
    else:
        done.print()
    if done.record.status == "failed":
        raise LabError(f"{done.record.error}; see {done.directory / 'lab.log'}")
    raise typer.Exit(_EXITS[done.result.verdict.valid] if done.result is not None else EXIT_UNKNOWN)


@app.command()
def hunt(
    scenario: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A scenario of the library, or a file.")],
    *,
    runs: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 1000,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    seed_from: Annotated[int, typer.Option(min=0, help="The first seed.")] = 1,
    messages: Annotated[int, typer.Option(min=1, help="About how many messages a run pushes.")] = 100,
    level: Annotated[Level | None, typer.Option(help="Consistency level; the scenario's own if not given.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change one value. May be repeated.")
    ] = None,
    directory: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where run directories are made.")] = Path(
        "runs"
    ),
    as_json: AsJson = False,
) -> None:
    """Run a scenario in simulation with many seeds, each with faults of its own, and group what went wrong.

    Ctrl-C prints what there is; the same command goes on from there. Exits 1 if a seed failed, 2 if none did and it was
    broken off, 3 if the lab failed.
    """
    from scenarios.hunt.seeds import Quarry
    from scenarios.verbs.hunt import go_hunting, hunt_command

    overrides = list(set_ or [])
    loaded = load_scenario(scenario, overrides=overrides + ([f"level={level}"] if level is not None else []))
    seeds = range(seed_from, seed_from + runs)
    command = hunt_command(
        scenario, level=loaded.level, seeds=seeds, jobs=jobs, messages=messages, overrides=overrides, runs=directory
    )
    quarry = Quarry(scenario=loaded, messages=messages)
    hunted = go_hunting(quarry, seeds=seeds, jobs=jobs, runs=directory, command=command)
    if as_json:
        print_json(hunted.to_json())
    else:
        hunted.print()
    if hunted.broken:
        first = hunted.broken[0]
        raise LabError(f"seed {first.seed}: {first.difference or first.error}")
    raise typer.Exit(EXIT_INVALID if hunted.failing else EXIT_VALID if hunted.complete else EXIT_UNKNOWN)


@app.command()
def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A counterexample that a hunt or a shrink wrote.")],
    *,
    arm: Annotated[Arm, typer.Option(help="Simulation, or real servers.")] = Arm.SIM,
    zones: Zones = ZoneKind.PROCESS,
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Run a counterexample again: exactly that run in simulation, or its operations and faults on real servers."""
    from scenarios.progress import display
    from scenarios.verbs.replay import replayed

    _only_real(zones, arm)
    loaded = load_scenario(file, overrides=[f"arm={arm}"])
    with display() as shown:
        shown.begin(f"{loaded.name} {loaded.level}")
        done = replayed(file, loaded, zones=zones, runs=runs, shown=shown)
    if as_json:
        print_json(done.to_json())
    else:
        done.print()
    if done.performed.record.status == "failed":
        raise LabError(f"{done.performed.record.error}; see {done.performed.directory / 'lab.log'}")
    raise typer.Exit(_EXITS[done.performed.result.verdict.valid] if done.performed.result else EXIT_UNKNOWN)


@app.command()
def shrink(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A counterexample that a hunt wrote, or a scenario with told operations or a workload."
        ),
    ],
    *,
    class_: Annotated[
        str | None, typer.Option("--class", help="What must stay violated; the file's own if it has but one.")
    ] = None,
    runs_max: Annotated[int, typer.Option(min=1, help="End after so many runs with what there is.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Reduce a failing simulated run while it still fails in the same way, and write its story beside the file."""
    from scenarios.verbs.shrink import Shrinking, class_of

    loaded = load_scenario(file, overrides=["arm=sim"])
    done = Shrinking.of(Path(file), loaded, class_of(loaded, class_), runs_max=runs_max)
    if as_json:
        print_json(done.to_json())
    else:
        done.print()
    raise typer.Exit(EXIT_INVALID)


@app.command()
def scenarios(*, as_json: AsJson = False) -> None:
    """List the scenarios that come with zonelab."""
    library = [load_scenario(name) for name in library_names()]
    if as_json:
        files = {name: str(LIBRARY / f"{name}.yaml") for name in library_names()}
        print_json([{**item.model_dump(mode="json"), "file": files[item.name]} for item in library])
        return
    from scenarios.terminal.run_table import print_table, scenario_table

    print_table(scenario_table(library))


@app.command()
def check(run: RunPath, *, as_json: AsJson = False) -> None:
    """Check a run again, from its directory alone."""
    from scenarios.terminal.run_table import print_table
    from scenarios.terminal.workload_table import AccessResult
    from scenarios.verbs.check import examine, notes, tabulated, title_of

    directory = _run_directory(run)
    result = examine(directory, title=title_of(directory))
    if as_json:
        print_json(
            {"run": str(directory), "verdict": result.verdict.to_json(), "summary": result.summary.to_json()},
        )
    else:
        print_table(tabulated(result, title=str(directory)))
        for line in (*result.verdict.reasons, *(notes(result) if isinstance(result, AccessResult) else ())):
            typer.echo(line)
    raise typer.Exit(_EXITS[result.verdict.valid])


@app.command()
def compare(
    first: RunPath,
    second: Annotated[Path, typer.Argument(metavar="RUN", help="The run to compare with it.")],
    *,
    within: Annotated[float, typer.Option(min=0.001, max=10, help="Medians agree within this share.")] = 0.15,
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Also draw the distributions of both.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs, such as one in simulation and one on real servers: latencies, lateness, duplicates, losses."""
    from analysis.comparison.compare import compare as compare_runs
    from analysis.figures.compare_plot import plot_comparison
    from scenarios.comparing import comparison_table
    from scenarios.terminal.run_table import print_table

    directories = _run_directory(first), _run_directory(second)
    comparison = compare_runs(*directories)
    if plot is not None:
        plot_comparison(*directories, plot)
    if as_json:
        print_json(comparison.to_json(within=within))
        return
    for note in comparison.notes:
        typer.echo(note)
    print_table(comparison_table(comparison, within=within))


@app.command()
def report(run: RunPath, *, as_json: AsJson = False) -> None:
    """Draw a run's plots and write its report again, from its directory alone."""
    from analysis.report import build_report

    page = build_report(_run_directory(run))
    plots = sorted((page.parent / "plots").glob("*.png"))
    if as_json:
        print_json({"report": str(page), "plots": [str(path) for path in plots]})
    else:
        for path in (page, *plots):
            typer.echo(path)


@app.command()
def analyze(
    run: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories, as many as there are.")],
    *,
    master: Annotated[str, typer.Option(help="Where Spark runs: local[*], spark://HOST:PORT, yarn, …")] = "local[*]",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write the tables there, as Parquet.")] = None,
    as_json: AsJson = False,
) -> None:
    """Aggregate any number of runs with Spark: per level, operation, zone and second."""
    from analysis.spark.pipeline import aggregate
    from analysis.spark.session import JavaMissing, SparkFailed
    from scenarios.terminal.run_table import print_table
    from scenarios.verbs.analyze import level_table, operation_table

    try:
        aggregates = aggregate([_run_directory(path) for path in run], master=master, out=out)
    except (JavaMissing, SparkFailed) as error:
        raise LabError(str(error)) from error
    if as_json:
        print_json(asdict(aggregates))
    else:
        print_table(level_table(aggregates))
        typer.echo()
        print_table(operation_table(aggregates))


@app.command()
def image(*, as_json: AsJson = False) -> None:
    """Build the images of container zones and their coordinators out of what is installed here."""
    from cluster.admin.coordinator_image import build_coordinator_image
    from cluster.real.zones.docker.zone_image import build_image

    images = build_image(), build_coordinator_image()
    if as_json:
        print_json([{"image": built.name, "size_bytes": built.size_bytes} for built in images])
        return
    for built in images:
        typer.echo(f"{built.name}: {built.size_bytes / 1e6:.1f} MB")


@app.command()
def matrix(
    *,
    runs: Annotated[int, typer.Option(min=1, help="Seeds in each cell.")] = 30,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page, as Markdown.")] = None,
    files: Annotated[Path, typer.Option(metavar="DIR", help="Where counterexamples are written.")] = Path(
        "runs/matrix"
    ),
    shrink_runs: Annotated[int, typer.Option(min=1, help="Runs spent to make a counterexample smaller.")] = 60,
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
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep what runs show here, and go on from it next time.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run every level under every class of faults, in simulation, and print what held and what broke how often.

    Ctrl-C prints what there is. Exits 0 whatever broke, 2 if it was broken off, 3 if the lab failed.
    """
    from scenarios.fault_draws.fault_classes import EngineMode, FaultClass
    from scenarios.studies.matrix import chosen
    from scenarios.studies.matrix_report import fill_matrix

    cells = chosen(
        modes=[_one_of(EngineMode, "--mode", name) for name in mode or ()],
        levels=level or (),
        fault_classes=[_one_of(FaultClass, "--faults", name) for name in faults or ()],
    )
    if not cells:
        raise UsageProblem(f"--level: got {', '.join(level or ())}; accepted: {', '.join(LEVELS_OF_ONE_DC)}")
    report = fill_matrix(cells, runs=runs, jobs=jobs, out=out, files=files, shrink_runs=shrink_runs, state=state)
    if as_json:
        print_json(report.to_json())
    else:
        report.print()
    if report.matrix.problems:
        raise LabError(report.matrix.problems[0])
    raise typer.Exit(EXIT_VALID if report.matrix.complete else EXIT_UNKNOWN)


cli_ablation.register(app)
cli_cluster.register(app)


def _only_real(zones: ZoneKind, arm: Arm) -> None:
    if arm is Arm.SIM and zones is not ZoneKind.PROCESS:
        raise UsageProblem(f"--zones: got {zones}; accepted with --arm sim: none, since its zones are simulated")


def _one_of(kind: type[Name], option: str, text: str) -> Name:
    try:
        return kind(text)
    except ValueError:
        raise UsageProblem(f"{option}: got {text!r}; accepted: {', '.join(kind)}") from None


def _run_directory(path: Path) -> Path:
    if not path.is_dir():
        raise UsageProblem(f"{path}: {'is not a directory' if path.exists() else 'no such run directory'}")
    return path.resolve()


def main() -> None:
    sys.exit(run_cli(sys.argv[1:]))


def run_cli(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Prints one line per expected error, and no traceback of it."""
    try:
        return _exit_code(app(args=list(arguments), prog_name="zonelab", standalone_mode=False))
    except ScenarioError as error:
        return _refuse(arguments, error.lines, EXIT_USAGE)
    except UsageProblem as error:
        return _refuse(arguments, [str(error)], EXIT_USAGE)
    except NotAccepted as error:
        return _refuse(arguments, [str(error)], EXIT_USAGE)
    except (LabError, ClusterError) as error:
        return _refuse(arguments, [str(error)], EXIT_LAB_FAILED)
    except BrokenPipeError:
        return _pipe_closed()
    except OSError as error:
        return _refuse(arguments, [f"{error.filename or 'zonelab'}: {error.strerror or error}"], EXIT_LAB_FAILED)
    except KeyboardInterrupt:
        return _refuse(arguments, ["interrupted"], EXIT_UNKNOWN)
    except Exception as error:
        return _unexpected(arguments, error)


def _exit_code(returned: object) -> int:
    if returned == _INTERRUPTED_TYPER:
        raise KeyboardInterrupt
    return returned if isinstance(returned, int) else EXIT_VALID


def _unexpected(arguments: Sequence[str], error: Exception) -> int:
    from analysis.runs.directory import RunError
    from scenarios.shrink.search import NotFailing

    if isinstance(error, RunError):
        return _refuse(arguments, [str(error)], EXIT_LAB_FAILED)
    if isinstance(error, NotFailing):
        return _refuse(arguments, [str(error)], EXIT_USAGE)
    # Typer carries click under another name in some versions, so its errors are told by what they can do.
    words = getattr(error, "format_message", None)
    if words is not None:
        return _refuse(arguments, [f"{_with_value(words(), error.__cause__)} (try: zonelab --help)"], EXIT_USAGE)
    traceback.print_exception(error)
    return _refuse(arguments, [f"this is a bug in zonelab: {type(error).__name__}: {error}"], EXIT_LAB_FAILED)


def _with_value(words: str, cause: BaseException | None) -> str:
    """The words of typer with the value given, which those that it has from pydantic leave out."""
    if not isinstance(cause, ValidationError):
        return words
    plain, given = words.replace("Value error, ", ""), repr(cause.errors()[0]["input"])
    return plain if given in plain else f"{plain}, got {given}"


def _refuse(arguments: Sequence[str], lines: Sequence[str], code: int) -> int:
    for line in lines:
        print(f"zonelab: {line}", file=sys.stderr)  # noqa: T201 (the one place where errors are told)
    if "--json" in arguments:
        print_json({"errors": list(lines), "exit_code": code})
    return code


def _pipe_closed() -> int:
    """Who read our output has gone, as ``head`` does; keep Python from complaining about it while it exits."""
    sys.stdout = None
    return EXIT_LAB_FAILED
