"""The verbs that look at run directories, such as ``zonelab check``, ``compare``, ``plot`` and ``index``."""

import shlex
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from zonelab.analysis.figures.kinds.names import Format, PlotKind
from zonelab.analysis.interchange.formats import ExportFormat
from zonelab.analysis.number_text import counted
from zonelab.app.cli.exits import EXITS, LabError
from zonelab.app.cli.options import AsJson, AsJUnit, Conf, Opens, RunPath, run_directory, spark_settings
from zonelab.app.terminal.json_output import print_json, show
from zonelab.app.terminal.opening import open_page
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.extras import Extra, require


def check(run: RunPath, *, junit: AsJUnit = None, as_json: AsJson = False) -> None:
    """Check a run again, from its directory alone."""
    from zonelab.analysis.runs.directory import RunDirectory
    from zonelab.analysis.summary.narrative import narrative
    from zonelab.analysis.summary.result import Result
    from zonelab.app.verbs.check import print_result
    from zonelab.app.verbs.judged_runs import check_suite
    from zonelab.studies.reporting.progress import Work

    directory = run_directory(run)
    info = RunDirectory.open(directory).info
    with Work("check") as work:
        result = Result.examined(directory, title=info.level, stage=work.stage)
    if junit is not None:
        command = shlex.join(["zonelab", "check", str(run)])
        junit.write(check_suite(result.verdict, info, directory, command=command))
    if as_json:
        print_json(
            {
                "run": str(directory),
                "sentences": narrative([result]),
                "verdict": result.verdict.to_json(),
                "summary": result.summary.to_json(),
            },
        )
    elif info.session is not None:
        typer.echo(f"{directory}: a session of zonelab up, which records no messages: nothing can be judged")
    else:
        print_result(result, title=str(directory))
    raise typer.Exit(EXITS[result.verdict.valid])


def partitions(run: RunPath, *, as_json: AsJson = False) -> None:
    """Show where each group stands in each partition of ordered messages: owner, token, cursor, lag, standstills.

    A run under way is shown as far as it is on disk.
    """
    from zonelab.app.verbs.partitions import Partitions

    show(Partitions.of(run_directory(run)), as_json=as_json)


def compare(
    first: RunPath,
    second: Annotated[Path, typer.Argument(metavar="RUN", help="The run to compare with it.")],
    *,
    within: Annotated[
        float, typer.Option(min=0.001, max=10, help="Medians that differ by less than this share agree.")
    ] = 0.15,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Also draw the distributions of both runs to this file.")
    ] = None,
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs, such as one in simulation and one on real servers: latencies, lateness, duplicates, losses."""
    from zonelab.analysis.comparison.compare import compare as compare_runs
    from zonelab.analysis.figures.compare_plot import plot_comparison
    from zonelab.app.terminal.comparison_table import comparison_table
    from zonelab.app.verbs.judged_runs import comparison_suite
    from zonelab.studies.reporting.console import print_table
    from zonelab.studies.reporting.progress import Work

    directories = run_directory(first), run_directory(second)
    with Work("compare"):
        comparison = compare_runs(*directories)
    if plot is not None:
        plot_comparison(*directories, plot)
    if junit is not None:
        command = shlex.join(["zonelab", "compare", str(first), str(second), "--within", str(within)])
        junit.write(comparison_suite(comparison, within=within, command=command))
    if as_json:
        print_json(comparison.to_json(within=within))
        return
    for note in comparison.notes:
        typer.echo(note)
    print_table(comparison_table(comparison, within=within))


def report(run: RunPath, *, opens: Opens = False, as_json: AsJson = False) -> None:
    """Draw a run's plots and write its report again, from its directory alone."""
    from zonelab.analysis.report import build_report
    from zonelab.app.verbs.lens import lens_contents
    from zonelab.studies.reporting.progress import Work

    directory = run_directory(run)
    with Work("report") as work:
        page = build_report(directory, lenses=partial(lens_contents, watcher=work), stage=work.stage)
    plots = sorted((page.parent / "plots").glob("*.png"))
    if as_json:
        print_json({"report": str(page), "plots": [str(path) for path in plots]})
    else:
        for path in (page, *plots):
            typer.echo(path)
    if opens:
        open_page(page)


def lens(
    run: RunPath,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The id of a message, as reports name it.")],
    *,
    opens: Opens = False,
    as_json: AsJson = False,
) -> None:
    """Show one message: where each zone had it, who held its lease, every vote, and what the verdict calls wrong.

    A simulated run is made again for that, and watched; of a real run the history tells what its clients saw.
    Writes the same as a page, in which ← and → go from step to step.
    """
    from zonelab.app.verbs.lens import LensResult
    from zonelab.studies.reporting.progress import Work

    directory = run_directory(run)
    with Work("lens") as shown:
        found = LensResult.of(directory, message, watcher=shown)
    show(found, as_json=as_json)
    if opens:
        open_page(found.page)


def diff(
    first: RunPath,
    second: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="The run to compare with it; not with --nearest.")
    ] = None,
    *,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="Compare with the nearest valid run that leaves one fault out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the first difference of two runs: the message, the vote, delivery or lease, the cause; then side by side.

    Messages are compared by what happened to them and not by time, so seeds, levels and arms may differ. Simulated runs
    of up to 2,000 messages are made again for their votes.
    """
    from zonelab.app.verbs.diff import diffed
    from zonelab.studies.reporting.progress import Work

    directory = None if second is None else run_directory(second)
    with Work("diff") as shown:
        found = diffed(run_directory(first), directory, nearest=nearest, watcher=shown)
    show(found, as_json=as_json)


def export(
    run: RunPath,
    *,
    as_: Annotated[ExportFormat, typer.Option("--as", help="The format.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The file to write, for csv the folder; RUN/exports/… if not given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a run in the format of another tool: a Perfetto trace, OpenTelemetry spans, a Jepsen or Porcupine history.

    A trace of a simulated run of up to 2,000 messages has all commands with the vote of each zone: the run is made
    again for that. A Jepsen history is written in EDN and in JSON, or in the one by which --out ends.
    """
    from zonelab.app.verbs.export import exported
    from zonelab.studies.reporting.progress import Work

    with Work("export") as shown:
        done = exported(run_directory(run), as_, out=out, watcher=shown)
    show(done, as_json=as_json)


def index(
    runs: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of runs: --dir of zonelab run.")] = Path("runs"),
    *,
    as_json: AsJson = False,
) -> None:
    """Write index.html and index.json of a folder of runs: all runs, hunts, and findings new, rare or resolved.

    Only what is new or has changed is read. Exits 0 whatever was found.
    """
    from zonelab.app.verbs.index import index_runs
    from zonelab.studies.reporting.progress import Work

    with Work("index") as work:
        done = index_runs(run_directory(runs), stage=work.stage)
    show(done, as_json=as_json)


def plot(
    run: Annotated[list[Path], typer.Argument(metavar="RUN...", help="One or more run directories.")],
    *,
    kind: Annotated[PlotKind, typer.Option(help="The quantity to draw.")],
    format_: Annotated[
        Format | None, typer.Option("--format", help="Format of the file; that of --out if not given, else png.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write; KIND.FORMAT in the current directory if not given."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="Draw one line per zone, seed, run, level or setting."),
    ] = None,
    width: Annotated[
        float, typer.Option(min=3, max=20, help="Width in inches; a column of a paper has about 3.5, a page 7.")
    ] = 10.5,
    as_json: AsJson = False,
) -> None:
    """Draw a figure of one run or several, for a page or a paper: units, sample sizes and intervals are in it.

    Runs that differ in their seed alone are one line, to which each run counts once; equal input makes equal files.
    """
    from zonelab.app.verbs.plot import plotted
    from zonelab.studies.reporting.progress import Work

    directories = [run_directory(one) for one in run]
    with Work("plot"):
        path = plotted(directories, kind, format_=format_, out=out, by=by, width=width)
    if as_json:
        print_json({"plot": str(path)})
    else:
        typer.echo(path)


def _announce(runs: int, rows: int) -> None:
    """Print the amount of work on stderr, before Spark starts."""
    if runs:
        many = f"{counted(runs, 'run')} with {counted(rows, 'row')}"
        typer.echo(f"analyze: {many}: some 10 s to start Spark, and 20 s of a processor a million rows", err=True)


def analyze(
    run: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run directories: paths, patterns, or URIs such as hdfs://….")
    ],
    *,
    master: Annotated[str, typer.Option(help="Where Spark runs: local[*], spark://HOST:PORT, yarn, …")] = "local[*]",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Add the runs to the tables in this folder; runs that are in them are not read again."
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Show runs under way until they end; needs --out.")] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="Afterwards join small files of the tables; needs --out.")
    ] = False,
    conf: Conf = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at a run that cannot be used.")] = False,
    as_json: AsJson = False,
) -> None:
    """Aggregate any number of runs with Spark: per setting, operation and zone.

    A run is a directory with a run.json; other matches of a pattern are skipped. Runs that differ in anything but
    their seed are counted apart, and the tables name what they differ in. Classes are counted in messages, and in runs
    with their 95 % interval: messages of one run share its faults.

    With --follow, preliminary results are shown while runs are under way, and counted again from their whole histories
    at the end; Ctrl-C ends it with 2, and the same command continues from there.
    """
    require(Extra.SPARK, asked="zonelab analyze")
    from zonelab.analysis.spark.inputs import NoRunFound
    from zonelab.analysis.spark.pipeline import aggregate
    from zonelab.analysis.spark.session import JavaMissing, SparkFailed
    from zonelab.analysis.tables.compaction import compact as compact_tables
    from zonelab.analysis.tables.folder import TableFolder
    from zonelab.app.terminal.aggregate_tables import message_table, operation_table, words_before
    from zonelab.app.verbs.analyze import followed
    from zonelab.studies.reporting.console import print_table

    if compact and out is None:
        raise NotAccepted("--compact: needs --out DIR, whose small files it joins")
    analysed = followed if follow else partial(aggregate, begins=_announce)
    try:
        aggregates = analysed(run, master=master, out=out, strict=strict, settings=spark_settings(conf))
    except NoRunFound as error:
        raise NotAccepted(str(error)) from error
    except (JavaMissing, SparkFailed) as error:
        raise LabError(str(error)) from error
    if compact and out is not None:
        compact_tables(TableFolder.opened(out))
    if as_json:
        print_json(asdict(aggregates))
    else:
        for line in words_before(aggregates):
            typer.echo(line)
        print_table(message_table(aggregates))
        typer.echo()
        print_table(operation_table(aggregates))
