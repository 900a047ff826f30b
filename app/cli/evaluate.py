"""The verbs that decide before a rollout: ``zonelab evaluate``, and ``new``, which writes its file."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zonelab.app.cli.exits import LabError
from zonelab.app.cli.many_runs import RUNS, StudyOptions, over_many_runs, words_of
from zonelab.app.cli.options import (
    RUNS_MAX,
    AsJson,
    Opens,
    Overrides,
    RunsDirectory,
    containers_possible,
)
from zonelab.app.terminal.json_output import show
from zonelab.app.terminal.opening import open_page
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.errors import NotAccepted

BUDGET_DEFAULT = "5min"
CONFIRM_RUNS_DEFAULT = 12


class Until(StrEnum):
    DECIDED = "decided"


@over_many_runs()
def evaluate(
    given_file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="A scenario with a section evaluate; the one that zonelab new writes if not given. With --from: more "
            "addresses, and the file to write.",
        ),
    ] = None,
    *,
    from_: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="HOST:PORT",
            help="First write FILE, rollout.yaml if not given, with what running servers say, one of each zone. "
            "Changes nothing on them. May be repeated.",
        ),
    ] = None,
    lags: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --from: the folder that measure-lag wrote, or one with such a folder for each zone.",
        ),
    ] = None,
    zones: Annotated[int | None, typer.Option(min=1, max=ZONES_MAX, help="Number of zones; without FILE only.")] = None,
    lag: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="One-way lag between zones, written as links.lag; without FILE only."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0, help="Messages a second that each zone pushes; without FILE only.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"Time for simulated runs, e.g. 30s or 1h; {BUDGET_DEFAULT} if not given. The start, the page, "
            "--limit and --confirm come on top.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=RUNS_MAX,
            help="Instead of --budget: runs of each setting, at most. At least 4 of each kind (2 with --on): without a "
            "fault, without one for each thinning, with each fault for each of its lengths.",
        ),
    ] = None,
    until: Annotated[
        Until | None,
        typer.Option(help="Instead of --budget: go on until nothing is open that takes less than a day to decide."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            metavar="SEEDS",
            min=0,
            help="Afterwards search each setting's throughput limit with this many seeds. 0: do not.",
        ),
    ] = 0,
    confirm: Annotated[
        ZoneKind | None,
        typer.Option(
            help="Afterwards run the best two settings on real servers, in processes or containers, and compare.",
            callback=containers_possible,
        ),
    ] = None,
    confirm_runs: Annotated[
        int | None,
        typer.Option(
            min=2,
            help=f"Real runs of each setting without faults and with each fault; {CONFIRM_RUNS_DEFAULT} if not given.",
        ),
    ] = None,
    on: Annotated[
        ZoneKind | None,
        typer.Option(
            help="Make the runs on real servers: for a scenario with programs, which cannot be simulated; with --runs.",
            callback=containers_possible,
        ),
    ] = None,
    set_: Overrides = None,
    opens: Opens = False,
    options: StudyOptions,
) -> None:
    """Decide which setting meets its objectives over a year with faults, by simulated runs, and give the reasons.

    Ctrl-C prints the results so far; the same command continues from there. Exits 0 if a setting is recommended and
    proven, 1 if none qualifies, 2 if an objective is open or the setting not confirmed, 3 if the lab failed.
    """
    from zonelab.analysis.evaluation_page import PAGE_NAME
    from zonelab.app.verbs.evaluate import Confirm, run_evaluation
    from zonelab.app.verbs.judged_studies import evaluation_suite
    from zonelab.scenarios.durations import parse_duration_s
    from zonelab.studies.evaluate.budget import Budget
    from zonelab.studies.evaluate.rollout import Rollout
    from zonelab.studies.evaluate.template import plain_rollout

    given_ends = [name for name, value in (("runs", runs), ("budget", budget), ("until", until)) if value is not None]
    if len(given_ends) > 1:
        raise NotAccepted(f"--{given_ends[0]} and --{given_ends[1]} exclude each other")
    given = {"zones": zones, "lag": lag, "rate": rate}
    own = {name: value for name, value in given.items() if value is not None}
    if (given_file or from_) and own:
        raise NotAccepted(f"--{next(iter(own))}: excluded by FILE; use --set PATH=VALUE")
    if confirm_runs is not None and confirm is None:
        raise NotAccepted("--confirm-runs needs --confirm")
    file = _file(given_file or [], from_ or [], lags=lags)
    real = None if confirm is None else Confirm(on=confirm, repeats=confirm_runs or CONFIRM_RUNS_DEFAULT)
    seconds = parse_duration_s(budget or BUDGET_DEFAULT) if runs is None and until is None else None
    spend = ["--budget", budget or BUDGET_DEFAULT] if runs is None else ["--runs", str(runs)]
    spend = spend if until is None else ["--until", str(until)]
    words = [file] if file is not None else [word for name, value in own.items() for word in (f"--{name}", f"{value}")]
    words += [*words_of("--set", set_), *spend, *(["--limit", str(limit)] if limit else [])]
    command = options.command(*words, *(real.words if real is not None else []))
    if file is None:
        rollout = plain_rollout(zones=zones, lag=lag, rate=rate, overrides=set_ or ())
    else:
        excluded = {"--confirm": real, "--limit": limit, "--open": opens}
        _evaluate_programs(file, on=on, runs=runs, excluded=excluded, set_=set_ or (), words=words, options=options)
        rollout = Rollout.load(file, overrides=set_ or ())
    if on is not None:
        raise NotAccepted("--on: accepted with a scenario that has programs; use --confirm for others")
    if real is not None:
        real.check(rollout)
    done = run_evaluation(
        rollout,
        budget=Budget(seconds=seconds, jobs=options.where.jobs, runs=runs),
        first_seed=options.seeds.start,
        runs=options.directory,
        command=command,
        where=options.where,
        assumed=file is None,
        confirm=real,
        limit_seeds=limit,
    )
    if opens:
        open_page(done.directory / PAGE_NAME)
    options.end(done, evaluation_suite(done))


def _evaluate_programs(
    file: str,
    *,
    on: ZoneKind | None,
    runs: int | None,
    excluded: Mapping[str, object],
    set_: Sequence[str],
    words: Sequence[str],
    options: StudyOptions,
) -> None:
    """Evaluate the programs of ``file``, and end with the exit code; nothing happens if it has none.

    ``excluded``: options that only what is simulated has, each with its value.
    """
    from zonelab.scenarios.spec.reading import has_programs
    from zonelab.studies.evaluate.program_rollout import SIMULATES_NONE, ProgramRollout

    if not has_programs(file):
        return
    if on is None:
        raise NotAccepted(SIMULATES_NONE)
    where = {"--master": options.where.master, "--jobs": options.where.jobs > 1}
    for option, value in {**excluded, "--junit": options.junit, **where}.items():
        if value:
            raise NotAccepted(f"{option} and --on exclude each other")
    from zonelab.app.verbs.evaluate_programs import evaluate_programs

    done = evaluate_programs(
        ProgramRollout.load(file, overrides=set_),
        on=on,
        budget_runs=runs,
        first_seed=options.seeds.start,
        runs=options.directory,
        command=options.command(*words, "--on", str(on)),
    )
    show(done, as_json=options.as_json)
    if done.problems:
        raise LabError(done.problems[0], printed=True)
    raise typer.Exit(done.exit_code)


def _file(words: Sequence[str], from_: Sequence[str], *, lags: Path | None) -> str | None:
    """Return the file to evaluate; with ``from_``, that which is written now of what these servers say."""
    from zonelab.scenarios.lags.questions import parse_address

    files = [word for word in words if not (from_ and ":" in word)]
    if len(files) > 1:
        raise NotAccepted(f"FILE: got {', '.join(files)}; accepted: one")
    if not from_:
        if lags is not None:
            raise NotAccepted("--lags needs --from")
        return files[0] if files else None
    from zonelab.app.verbs.read_rollout import read_into

    addresses = [parse_address(word) for word in (*from_, *words) if word not in files]
    if len({str(one) for one in addresses}) < len(addresses) or len(addresses) > ZONES_MAX:
        raise NotAccepted(f"--from: got {', '.join(map(str, addresses))}; accepted: 1 to {ZONES_MAX}, each once")
    return read_into(Path(files[0] if files else "rollout.yaml"), addresses, lags=lags)


def verify(
    file: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="The rollout that was evaluated; with --history: then more runs."),
    ],
    *,
    history: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="A run directory of this lab that shows the rollout. May be repeated."),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="URL", help="Instead of --history: a Prometheus, asked what verify: says.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="T", help="With --prometheus: begin, e.g. 2026-11-29T00:00:00Z.")
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="T", help="With --prometheus: end.")] = None,
    setting: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The setting in production; that of the histories or the recommended one."),
    ] = None,
    faults: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=TIME]", help="A fault that happened then, of evaluate.faults, and how long. May be repeated."
        ),
    ] = None,
    set_: Overrides = None,
    directory: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Compare what a rollout shows in production with what zonelab evaluate predicted for it.

    Exits 0 if every figure lies inside its prediction interval, 1 if one does not, 2 if nothing can be compared, 3 if
    Prometheus does not answer.
    """
    from zonelab.studies.reporting.footer import command_line

    if (history is None) == (prometheus is None):
        raise NotAccepted("--history or --prometheus: accepted: one of them")
    if history is None and len(file) > 1:
        raise NotAccepted(f"FILE: got {', '.join(file)}; accepted: one")
    if (prometheus is None) != (from_ is None) or (prometheus is None) != (to is None):
        raise NotAccepted("--prometheus, --from and --to: accepted: all three, or none of them")
    from zonelab.app.verbs.verify import verify_rollout
    from zonelab.studies.evaluate.prometheus import Prometheus
    from zonelab.studies.evaluate.rollout import Rollout
    from zonelab.studies.reporting.progress import Work

    source = None
    if prometheus is not None:
        from_s, to_s = _time_s("--from", from_), _time_s("--to", to)
        if from_s >= to_s:
            raise NotAccepted(f"--from: got {from_} with --to {to}; accepted: a time before --to")
        source = Prometheus(url=prometheus, from_s=from_s, to_s=to_s)
    words = [*file, *words_of("--history", history), *words_of("--faults", faults)]
    own = {"--prometheus": prometheus, "--from": from_, "--to": to, "--setting": setting}
    words += [word for option, value in own.items() if value is not None for word in (option, value)]
    with Work("verify") as work:
        done = verify_rollout(
            Rollout.load(file[0], overrides=set_ or ()),
            file=file[0],
            histories=[Path(one) for one in (*(history or ()), *file[1:])],
            prometheus=source,
            setting=setting,
            faults=faults or (),
            runs=directory,
            command=command_line(["zonelab", "verify", *words], overrides=set_ or (), runs=directory),
            stage=work.stage,
        )
    show(done, as_json=as_json)
    raise typer.Exit(done.exit_code)


def _time_s(option: str, text: str | None) -> float:
    """Seconds since 1970 of a time in ISO 8601, of UTC unless it says another zone, or of such a number."""
    from datetime import UTC, datetime

    try:
        return float(text or "")
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        raise NotAccepted(f"{option}: got {text!r}; accepted: 2026-11-29T00:00:00Z, or seconds since 1970") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


class TemplateKind(StrEnum):
    ROLLOUT = "rollout"


def new(
    kind: Annotated[TemplateKind, typer.Argument(metavar="KIND", help="The kind of file: rollout.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The file to write; KIND.yaml if not given.")
    ] = None,
    *,
    ask: Annotated[
        bool,
        typer.Option("--ask", help="Ask eight questions at the terminal first, and write the file of the answers."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented file to begin with: rollout, for zonelab evaluate. An existing file is never overwritten."""
    from zonelab.studies.evaluate.template import free_path, write_rollout

    path = free_path(file or Path(f"{kind}.yaml"))
    show(write_rollout(path, _asked() if ask else None), as_json=as_json)


def _asked() -> str:
    from zonelab.app.terminal.asking import ask_all
    from zonelab.studies.evaluate.asked_file import asked_text

    return ask_all(asked_text)
