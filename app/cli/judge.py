"""The verb ``zonelab judge``: a verdict on what others recorded."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from zonelab.analysis.interchange.formats import HistoryFormat
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.analysis.workloads import WorkloadKind
from zonelab.app.cli.exits import EXITS
from zonelab.app.cli.options import AsJson, AsJUnit, Opens, RunsDirectory
from zonelab.app.terminal.json_output import print_json, show
from zonelab.app.terminal.junit import JUnitFile
from zonelab.app.terminal.opening import open_page
from zonelab.scenarios.errors import NotAccepted

if TYPE_CHECKING:
    from zonelab.app.verbs.judge import Judged


def judge(
    file: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Logs of events, one of each program or one of all; - is stdin."),
    ] = None,
    *,
    format_: Annotated[
        HistoryFormat, typer.Option("--format", help="Format of FILE: events, or a history of Jepsen or for Porcupine.")
    ] = HistoryFormat.EVENTS,
    model: Annotated[
        WorkloadKind | None, typer.Option(help="What the clients of a Jepsen or Porcupine history used.")
    ] = None,
    drained: Annotated[
        bool, typer.Option("--drained", help="The logs were kept until the queue was empty: what did not run is lost.")
    ] = False,
    forbid: Annotated[
        list[MessageClass] | None,
        typer.Option("--forbid", metavar="CLASS", help="Forbid this class beside the usual ones. May be repeated."),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Draw nothing; zonelab report can, later.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of an event instead.")] = False,
    opens: Opens = False,
    runs: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Judge a log of events that programs of any language wrote: what was lost, ran twice or ran early.

    The log becomes a run directory, which report, compare, lens and analyze take. With --format jepsen or porcupine
    and --model, FILE is a history of registers, sets, locks, counters or lists, judged as a run with such a workload.
    """
    if schema:
        from zonelab.analysis.events.format import schema as schema_of_events

        print_json(schema_of_events())
        return
    if not file:
        raise NotAccepted("judge needs FILE")
    from zonelab.app.verbs.judge import judged
    from zonelab.studies.reporting.progress import Work

    if (model is None) != (format_ is HistoryFormat.EVENTS):
        needed = "--model with --format jepsen or porcupine, and not without"
        raise NotAccepted(
            f"judge: got --format {format_} {'without' if model is None else 'with'} --model; accepted: {needed}"
        )
    if model is not None:
        _judge_history(
            file,
            format_,
            model,
            events_only=drained or bool(forbid),
            draws=not no_report,
            runs=runs,
            junit=junit,
            opens=opens,
            as_json=as_json,
        )
    classes = [*FORBIDDEN_DEFAULT, *(forbid or ())]
    words = ["zonelab", "judge", *map(str, file), *(["--drained"] if drained else [])]
    words += [word for name in forbid or () for word in ("--forbid", str(name))]
    command = shlex.join(words)
    with Work("judge") as work:
        done = judged(
            file, drained=drained, forbid=classes, draws=not no_report, runs=runs, command=command, stage=work.stage
        )
    _end(done, junit=junit, opens=opens, as_json=as_json)


def _judge_history(
    files: list[Path],
    format_: HistoryFormat,
    model: WorkloadKind,
    *,
    events_only: bool,
    draws: bool,
    runs: Path,
    junit: JUnitFile | None,
    opens: bool,
    as_json: bool,
) -> NoReturn:
    from zonelab.app.verbs.judge_history import judged_history
    from zonelab.studies.reporting.progress import Work

    if events_only:
        raise NotAccepted("judge: --drained and --forbid need --format events")
    if len(files) > 1:
        raise NotAccepted(f"judge: got {len(files)} files; accepted with --format {format_}: one")
    command = shlex.join(["zonelab", "judge", str(files[0]), "--format", format_, "--model", model])
    with Work("judge") as work:
        done = judged_history(
            files[0], format_=format_, kind=model, draws=draws, runs=runs, command=command, stage=work.stage
        )
    _end(done, junit=junit, opens=opens, as_json=as_json)


def _end(done: "Judged", *, junit: JUnitFile | None, opens: bool, as_json: bool) -> NoReturn:
    from zonelab.analysis.runs.directory import RunDirectory
    from zonelab.app.verbs.judged_runs import check_suite

    if junit is not None:
        directory = done.result.directory
        info = RunDirectory.open(directory).info
        junit.write(check_suite(done.result.verdict, info, directory, command=done.command))
    show(done, as_json=as_json)
    if opens:
        open_page(done.illustrations.report)
    raise typer.Exit(EXITS[done.result.verdict.valid])
