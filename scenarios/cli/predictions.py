"""The verbs that predict from lags alone, and measure lags: ``zonelab pbs``."""

from typing import Annotated

import typer

from scenarios.cli.options import AsJson
from scenarios.durations import parse_duration_s
from scenarios.errors import NotAccepted
from scenarios.terminal.json_output import show


def pbs(
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A model of the paper: lnkd-ssd, lnkd-disk, ymmr, ymmr-3.35, wan."),
    ] = None,
    lag: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Zones with such links instead, e.g. lognormal:2ms:15ms, trace:FILE."),
    ] = None,
    own: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="With --lag: the lag to the server of the own zone; 0 if not given."),
    ] = None,
    n: Annotated[int, typer.Option("--n", metavar="N", help="Replicas.")] = 3,
    r: Annotated[
        int | None, typer.Option("--r", metavar="R", help="Answers that a read waits for; every number if not given.")
    ] = None,
    w: Annotated[
        int | None, typer.Option("--w", metavar="W", help="Acks that a write waits for; every number if not given.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME", help="How many reads see the write so long after it ended, e.g. 10ms. May be repeated."
        ),
    ] = None,
    probability: Annotated[
        float, typer.Option(metavar="P", help="The share of reads that is to see the write.")
    ] = 0.999,
    table: Annotated[bool, typer.Option("--table", help="The paper's table 4 beside both estimators.")] = False,
    trials: Annotated[
        int, typer.Option(metavar="COUNT", help="Writes and reads that are drawn for each model.")
    ] = 1_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Decides every draw.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Predict how long reads stay stale and how long reads and writes wait, for any quorum, from lags alone.

    Probabilistically bounded staleness (Bailis et al., VLDB 2012) by Monte Carlo, without faults, beside Dynomite's
    levels and Elasticsearch on the same replicas.
    """
    from scenarios.verbs.pbs import model_of, predicted, reproduced

    if table:
        if model or lag or own or r or w or at:
            raise NotAccepted("--table: accepted with --trials, --seed and --json only")
        show(reproduced(trials=trials, seed=seed), as_json=as_json)
        return
    at_ms = [0.0, *(1000 * parse_duration_s(text) for text in at or ())]
    show(
        predicted(
            model_of(model, lag=lag, own=own),
            replicas=n,
            r=r,
            w=w,
            at_ms=at_ms,
            probability=probability,
            trials=trials,
            seed=seed,
        ),
        as_json=as_json,
    )
