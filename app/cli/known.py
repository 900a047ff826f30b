"""``zonelab known``: published failures of queues, tried on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from zonelab.app.cli.exits import LabError
from zonelab.app.cli.options import RUNS_MAX, AsJson, AtLevel, Jobs, RunsDirectory, SeedFrom, where_of
from zonelab.app.cli.verb_groups import Verb, VerbGroups
from zonelab.app.terminal.json_output import print_json, show
from zonelab.cluster.topology.topology import ZONES_MAX

RUNS = Path("runs")

app = typer.Typer(
    cls=VerbGroups,
    help="List published failures of queues, run one, or show what was measured.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback()
def _list(context: typer.Context, *, as_json: AsJson = False) -> None:
    if context.invoked_subcommand is None:
        from zonelab.app.verbs.known import KnownList

        show(KnownList.shipped(), as_json=as_json)


@app.command(cls=Verb)
def run(
    failure: Annotated[str, typer.Argument(metavar="NAME", help="A failure that zonelab known lists.")],
    *,
    runs: Annotated[int, typer.Option(min=1, max=RUNS_MAX, help="Runs of each version and of the control.")] = 20,
    seed_from: SeedFrom = 1,
    version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Only this version of the queue; if not given: the affected one, the newest and the control.",
        ),
    ] = None,
    control: Annotated[bool, typer.Option("--control", help="Only the control: the same without the fault.")] = False,
    level: AtLevel = None,
    zones: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=ZONES_MAX,
            help="Number of zones, with the producer in the first and all else in the second; in simulation both are "
            "in each. The failure's own if not given.",
        ),
    ] = None,
    jobs: Jobs = 1,
    keep: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also put the rows into this JSON file, in place of older ones.")
    ] = None,
    directory: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Run a known failure at an affected version, at the newest, and without its fault, and count the failing runs.

    Installs the versions of the queue that are not there. Ctrl-C prints the results so far; the same command continues
    from there. Exits 1 if a run showed the failure, 2 if none did but some are missing or undecided, 3 if the lab
    failed.
    """
    from zonelab.app.verbs.known import KnownRuns
    from zonelab.studies.known.attempts import attempt_failure, settings_of
    from zonelab.studies.known.failure import load_failure
    from zonelab.studies.known.rows import keep_rows
    from zonelab.studies.many_runs.where import seed_words
    from zonelab.studies.reporting.footer import command_line

    found, seeds, where = load_failure(failure), range(seed_from, seed_from + runs), where_of(jobs, None, None)
    words = ["zonelab", "known", "run", failure, *(["--version", version] if version else [])]
    words += [*(["--control"] if control else []), *(["--level", level] if level else [])]
    words += ["--zones", str(zones)] if zones else []
    command = command_line([*words, *seed_words(seeds), *where.words], runs=directory)
    settings = settings_of(found, version=version, control=control, level=level, zones=zones)
    done = attempt_failure(found, settings, seeds=seeds, runs=directory, command=command, where=where)
    if keep is not None:
        keep_rows(done.rows, keep)
    result = KnownRuns(attempts=done, command=command)
    show(result, as_json=as_json)
    for problem in result.problems:
        raise LabError(problem, printed=True)
    raise typer.Exit(result.exit_code)


@app.command(cls=Verb)
def table(*, as_json: AsJson = False) -> None:
    """Show what was measured of every known failure."""
    from zonelab.app.verbs.known import KnownTable

    show(KnownTable.shipped(), as_json=as_json)


@app.command(cls=Verb)
def clean(*, as_json: AsJson = False) -> None:
    """Remove the environments of guests from the user's cache, which all runs share, but those in use or being made."""
    from zonelab.analysis.number_text import counted
    from zonelab.scenarios.guests.environments import cache_folder, clean_environments

    removed, left = clean_environments()
    if as_json:
        print_json(
            {"folder": str(cache_folder()), "removed": list(removed), "bytes": sum(removed.values()), "in_use": left}
        )
    else:
        for name, size in removed.items():
            typer.echo(f"removed {name}, {size / 1e6:,.1f} MB")
        for name in left:
            typer.echo(f"in use: {name}")
        gone = f"{counted(len(removed), 'environment')} removed, {sum(removed.values()) / 1e6:,.1f} MB"
        typer.echo(f"{cache_folder()}: {gone}; {'what is in use' if left else 'no environment'} is left")
