"""``zonelab ablate``: what each safety mechanism, or each option of the replication layer, is good for."""

from pathlib import Path
from typing import Annotated

import typer

from scenarios.output import print_json
from scenarios.session.fault_requests import NotAccepted

EXIT_COMPLETE, EXIT_BROKEN_OFF = 0, 2


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command()(ablate)


def ablate(
    *,
    runs: Annotated[int, typer.Option(min=1, help="Seeds for each mechanism.")] = 100,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    off: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Switch off this mechanism only; several as NAME,NAME. May be repeated."),
    ] = None,
    options: Annotated[
        bool, typer.Option("--options", help="The options of the replication layer instead, each switched on.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page, as Markdown.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON on stdout, and nothing else there.")
    ] = False,
) -> None:
    """Switch off each safety mechanism of the queue, in simulation, and print what fails without it.

    Ctrl-C prints what there is. Exits 0 whatever failed, 2 if it was broken off.
    """
    from scenarios.ablation_report import run_ablations
    from scenarios.option_report import run_option_ablation
    from scenarios.studies.ablated_queue import parse_ablation

    if options and off:
        raise NotAccepted("--options: got --off, too; accepted: one or the other")
    try:
        ablations = [parse_ablation(text) for text in off or ()]
    except ValueError as error:
        raise NotAccepted(f"--off: {error}") from error
    if options:
        of_options = run_option_ablation(runs=runs, jobs=jobs, out=out)
        told, printed, complete = of_options.to_json(), of_options.print, of_options.results.complete
    else:
        report = run_ablations(ablations, runs=runs, jobs=jobs, out=out)
        told, printed, complete = report.to_json(), report.print, report.ablations.complete
    if as_json:
        print_json(told)
    else:
        printed()
    raise typer.Exit(EXIT_COMPLETE if complete else EXIT_BROKEN_OFF)
