"""The verb ``zonelab judge``: a verdict on what others recorded."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.app.cli.exits import EXITS
from zonelab.app.cli.options import AsJson, AsJUnit, RunsDirectory
from zonelab.app.terminal.json_output import print_json, show
from zonelab.scenarios.errors import NotAccepted


def judge(
    file: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Logs of events, one of each program or one of all; - is stdin."),
    ] = None,
    *,
    drained: Annotated[
        bool, typer.Option("--drained", help="The logs were kept until the queue was empty: what did not run is lost.")
    ] = False,
    forbid: Annotated[
        list[MessageClass] | None,
        typer.Option("--forbid", metavar="CLASS", help="Forbid this class beside the usual ones. May be repeated."),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Draw nothing; zonelab report can, later.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of an event instead.")] = False,
    runs: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Judge a log of events that programs of any language wrote: what was lost, ran twice or ran early.

    The log becomes a run directory, which report, compare, lens and analyze take.
    """
    if schema:
        from zonelab.analysis.events.format import schema as schema_of_events

        print_json(schema_of_events())
        return
    if not file:
        raise NotAccepted("judge needs FILE")
    from zonelab.analysis.runs.directory import RunDirectory
    from zonelab.app.verbs.judge import judged
    from zonelab.app.verbs.judged_runs import check_suite

    classes = [*FORBIDDEN_DEFAULT, *(forbid or ())]
    words = ["zonelab", "judge", *map(str, file), *(["--drained"] if drained else [])]
    words += [word for name in forbid or () for word in ("--forbid", str(name))]
    command = shlex.join(words)
    done = judged(file, drained=drained, forbid=classes, draws=not no_report, runs=runs, command=command)
    if junit is not None:
        directory = done.result.directory
        junit.write(check_suite(done.result.verdict, RunDirectory.open(directory).info, directory, command=command))
    show(done, as_json=as_json)
    raise typer.Exit(EXITS[done.result.verdict.valid])
