"""The verbs of ``zonelab`` as one typer application.

``zonelab.app.cli.exits`` lists the exit codes. What a command needs is imported when it runs, so that ``--help``
does not wait for plotting and Spark.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from zonelab.app.cli import (
    evaluate,
    faults,
    gmq,
    judge,
    known,
    predictions,
    results,
    runs,
    session,
    studies,
    try_programs,
)
from zonelab.app.cli.exits import CODES, EXIT_VALID
from zonelab.app.cli.verb_groups import Verb, VerbGroups

_INTERRUPTED_TYPER = 130
"""Exit code that typer returns for a command that Ctrl-C ended."""

app = typer.Typer(
    name="zonelab",
    cls=VerbGroups,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A multi-zone cluster testbed and consistency lab for delay queues on Redis.",
    epilog=CODES,
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


_A_CLUSTER_BY_HAND = "A cluster by hand"

for _heading, _verbs in {  # in the order in which --help lists them
    "One run": (
        runs.demo,
        runs.scenarios,
        runs.engines,
        runs.run,
        try_programs.try_programs,
        runs.replay,
        runs.share,
    ),
    "Many runs": (studies.hunt, studies.sweep, studies.shrink),
    "Decide": (
        evaluate.evaluate,
        evaluate.verify,
        evaluate.new,
        studies.matrix,
        studies.ablate,
        predictions.limit,
        predictions.pbs,
        predictions.measure_lag,
        predictions.measure_service,
    ),
    "Look": (
        results.check,
        judge.judge,
        results.report,
        results.lens,
        results.diff,
        results.export,
        results.partitions,
        results.plot,
        results.compare,
        results.index,
        results.analyze,
    ),
    _A_CLUSTER_BY_HAND: (session.up, session.status, session.monitor, session.heal, session.down, session.image),
}.items():
    for _verb in _verbs:
        name = "try" if _verb is try_programs.try_programs else None
        app.command(name, cls=Verb, rich_help_panel=_heading)(_verb)
app.add_typer(known.app, name="known", rich_help_panel="Many runs")
app.add_typer(faults.app, name="fault", rich_help_panel=_A_CLUSTER_BY_HAND)
app.add_typer(gmq.app, name="gmq", rich_help_panel="A queue for other programs")


def run_app(arguments: Sequence[str]) -> int:
    """Run one command line. Raises whatever ended it but a usual exit."""
    try:
        returned = app(args=list(arguments) or ["--help"], prog_name="zonelab", standalone_mode=False)
    except SystemExit as ended:  # which typer makes of a closed pipe, with the code 1
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        raise
    if returned == _INTERRUPTED_TYPER:
        raise KeyboardInterrupt
    return returned if isinstance(returned, int) else EXIT_VALID
