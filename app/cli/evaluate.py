"""The verbs that decide before a rollout: ``zonelab evaluate``, and ``new``, which writes its file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zonelab.app.cli.exits import LabError
from zonelab.app.cli.options import (
    RUNS_MAX,
    AsJson,
    AsJUnit,
    Conf,
    Jobs,
    Master,
    Overrides,
    RunsDirectory,
    SeedFrom,
    containers_possible,
    where_of,
)
from zonelab.app.terminal.json_output import show
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.errors import NotAccepted

BUDGET_DEFAULT = "5min"
CONFIRM_RUNS_DEFAULT = 12


def evaluate(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="A scenario with a section evaluate; that of zonelab new if not given."),
    ] = None,
    *,
    zones: Annotated[int | None, typer.Option(min=1, max=ZONES_MAX, help="How many zones; without FILE only.")] = None,
    lag: Annotated[
        str | None, typer.Option(metavar="TEXT", help="One-way lag between zones, as of links.lag; without FILE only.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0, help="Messages a second that each zone pushes; without FILE only.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"How long runs are made, e.g. 30s or 1h; {BUDGET_DEFAULT} if not given. The start, the page, --limit "
            "and --confirm are not in it.",
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, max=RUNS_MAX, help="Instead of a time, how many runs of each setting at most.")
    ] = None,
    jobs: Jobs = 1,
    master: Master = None,
    conf: Conf = None,
    seed_from: SeedFrom = 1,
    limit: Annotated[
        int,
        typer.Option(metavar="SEEDS", min=0, help="Then search each setting's throughput limit with so many seeds."),
    ] = 0,
    confirm: Annotated[
        ZoneKind | None,
        typer.Option(
            help="Then run the best two settings on real servers, in processes or containers, and compare.",
            callback=containers_possible,
        ),
    ] = None,
    confirm_runs: Annotated[
        int | None,
        typer.Option(min=2, help=f"How many real runs of each kind; {CONFIRM_RUNS_DEFAULT} if not given."),
    ] = None,
    set_: Overrides = None,
    directory: RunsDirectory = Path("runs"),
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> None:
    """Decide which setting meets the objectives of a year, by simulated runs with and without faults, and say why.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 if a setting is recommended, 1 if
    none qualifies, 2 if that is not decided or not
    confirmed, 3 if the lab failed.
    """
    from zonelab.app.verbs.evaluate import Confirm, evaluate_command, run_evaluation
    from zonelab.app.verbs.judged_studies import evaluation_suite
    from zonelab.scenarios.durations import parse_duration_s
    from zonelab.studies.evaluate.evaluation import Budget
    from zonelab.studies.evaluate.rollout import Rollout
    from zonelab.studies.evaluate.template import plain_rollout

    if budget is not None and runs is not None:
        raise NotAccepted("--runs and --budget exclude each other")
    given = {"zones": zones, "lag": lag, "rate": rate}
    own = {name: value for name, value in given.items() if value is not None}
    if file is not None and own:
        raise NotAccepted(f"--{next(iter(own))}: excluded by FILE; use --set PATH=VALUE")
    if confirm_runs is not None and confirm is None:
        raise NotAccepted("--confirm-runs needs --confirm")
    real = None if confirm is None else Confirm(on=confirm, repeats=confirm_runs or CONFIRM_RUNS_DEFAULT)
    where = where_of(jobs, master, conf)
    seconds = parse_duration_s(budget or BUDGET_DEFAULT) if runs is None else None
    spend = ["--budget", budget or BUDGET_DEFAULT] if runs is None else ["--runs", str(runs)]
    words = [file] if file is not None else [word for name, value in own.items() for word in (f"--{name}", f"{value}")]
    words += [word for text in set_ or () for word in ("--set", text)]
    command = evaluate_command(
        words, budget=spend, where=where, first_seed=seed_from, runs=directory, confirm=real, limit_seeds=limit
    )
    if file is None:
        rollout = plain_rollout(zones=zones, lag=lag, rate=rate, overrides=set_ or ())
    else:
        rollout = Rollout.load(file, overrides=set_ or ())
    if real is not None:
        real.check(rollout)
    done = run_evaluation(
        rollout,
        budget=Budget(seconds=seconds, jobs=jobs, runs=runs),
        first_seed=seed_from,
        runs=directory,
        command=command,
        where=where,
        assumed=file is None,
        confirm=real,
        limit_seeds=limit,
    )
    if junit is not None:
        junit.write(evaluation_suite(done))
    show(done, as_json=as_json)
    if done.done.failures:
        which, why = next(iter(done.done.failures.items()))
        raise LabError(f"{which}: {why}")
    if done.confirmation is not None and done.confirmation.failure is not None:
        raise LabError(done.confirmation.failure)
    raise typer.Exit(done.exit_code)


class Kind(StrEnum):
    ROLLOUT = "rollout"


def new(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What is to be written: rollout.")],
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where; KIND.yaml if not given.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Write a commented file to begin with: rollout, for zonelab evaluate. A file that is there is left alone."""
    from zonelab.studies.evaluate.template import write_template

    show(write_template(file or Path(f"{kind}.yaml")), as_json=as_json)
