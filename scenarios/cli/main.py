"""The ``zonelab`` command.

``scenarios.cli.exits`` lists the exit codes. What a command needs is imported when it runs, so that ``--help`` does
not wait for plotting and Spark.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from scenarios.cli import faults, results, runs, session, studies
from scenarios.cli.exits import CODES, EXIT_VALID, exit_code_of

_INTERRUPTED_TYPER = 130
"""What typer returns for a command that Ctrl-C ended."""

app = typer.Typer(
    name="zonelab",
    help="A multi-zone cluster testbed and consistency lab for delay queues on Redis.",
    epilog=CODES,
    add_completion=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:  # noqa: FBT001 (how typer calls it)
    if wanted:
        from importlib.metadata import version

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


for _verb in (  # in the order in which --help lists them
    runs.demo,
    runs.run,
    studies.hunt,
    runs.replay,
    studies.shrink,
    runs.scenarios,
    results.check,
    results.compare,
    results.report,
    results.analyze,
    session.image,
    studies.matrix,
    studies.ablate,
    session.up,
    session.status,
    session.heal,
    session.down,
):
    app.command()(_verb)
app.add_typer(faults.app, name="fault")


def main() -> None:
    sys.exit(run_cli(sys.argv[1:]))


def run_cli(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Prints one line per expected error, and no traceback of it."""
    try:
        returned = app(args=list(arguments), prog_name="zonelab", standalone_mode=False)
        if returned == _INTERRUPTED_TYPER:
            raise KeyboardInterrupt
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return exit_code_of(error, arguments)
    except SystemExit as ended:  # which typer makes of a closed pipe, with the code 1
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        return exit_code_of(ended.__context__, arguments)
    return returned if isinstance(returned, int) else EXIT_VALID
