"""What ``zonelab analyze --follow`` shows of runs while they go on."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console, RenderableType

from analysis.spark.aggregates import Aggregates
from analysis.spark.following.follow import follow
from analysis.spark.following.follower import SoFar
from analysis.spark.inputs import is_remote
from scenarios.errors import NotAccepted
from scenarios.terminal.console import milliseconds
from scenarios.terminal.live import LiveTables
from scenarios.verbs.analyze import message_table, operation_table


def followed(
    given: Sequence[str], *, master: str, out: Path | None, strict: bool, settings: Mapping[str, str]
) -> Aggregates:
    """As ``analysis.spark.pipeline.aggregate``, when none of the runs goes on any more; shown on stderr until then."""
    if out is None:
        raise NotAccepted("--follow: needs --out DIR, which keeps what is counted so far")
    if remote := [one for one in given if is_remote(one)]:
        raise NotAccepted(f"--follow: got {remote[0]}; accepted: runs of this machine, which can be seen to end")
    with LiveTables(Console(stderr=True)) as live:

        def watch(runs: Sequence[SoFar]) -> None:
            live.show((part for run in runs for part in _tables(run)), map(_line, runs))

        return follow(given, out=out, watch=watch, master=master, strict=strict, settings=settings)


def _tables(run: SoFar) -> Iterator[RenderableType]:
    yield _line(run)
    if run.classes_ns:
        yield message_table(run.aggregates, title=f"messages so far, through {_seconds(run.classes_ns)}")
    yield operation_table(run.aggregates, title=f"operations so far, through {_seconds(run.through.last_ns)}")


def _line(run: SoFar) -> str:
    words = [f"{run.through.events:,} events through {_seconds(run.through.last_ns)}", *_ok(run), *_lateness(run)]
    words += [f"in force: {', '.join(f'{fault.kind} {fault.target}' for fault in run.faults)}"] if run.faults else []
    return f"{run.name}: {'; '.join([*words, *_classes(run)])}" + (
        "" if run.status == "running" else f" ({run.status})"
    )


def _ok(run: SoFar) -> Iterator[str]:
    ok: dict[str, int] = {}
    for row in run.aggregates.operations:
        ok[row.f] = ok.get(row.f, 0) + row.ok
    if ok:
        yield "ok: " + ", ".join(f"{f} {count:,}" for f, count in ok.items())


def _lateness(run: SoFar) -> Iterator[str]:
    (figures,) = run.aggregates.settings
    if figures.delivery is not None:
        late_ms = figures.delivery.lateness_ms
        yield f"lateness p50 / p99 {milliseconds(late_ms.get('p50'))} / {milliseconds(late_ms.get('p99'))} ms"


def _classes(run: SoFar) -> Iterator[str]:
    (figures,) = run.aggregates.settings
    if run.classes_ns:
        cases = (
            ", ".join(f"{name} {count:,}" for name, count in figures.counts.items() if count) or "no case of any class"
        )
        yield f"classes so far, through {_seconds(run.classes_ns)}: {cases}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:,.0f} s"
