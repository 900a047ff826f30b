"""A run that goes on, as tables that change on a terminal, and as one line."""

from collections.abc import Iterator

from rich.console import RenderableType

from zonelab.analysis.number_text import counted, digits
from zonelab.analysis.spark.following.follower import SoFar
from zonelab.app.terminal.aggregate_tables import message_table, operation_table


def so_far_tables(run: SoFar) -> Iterator[RenderableType]:
    yield so_far_line(run)
    if run.classes_ns:
        yield message_table(run.aggregates, title=f"messages so far, through {_seconds(run.classes_ns)}")
    yield operation_table(run.aggregates, title=f"operations so far, through {_seconds(run.through.last_ns)}")


def so_far_line(run: SoFar) -> str:
    words = [
        f"{counted(run.through.events, 'event')} through {_seconds(run.through.last_ns)}",
        *_ok(run),
        *_lateness(run),
    ]
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
        yield f"lateness p50 / p99 {digits(late_ms.get('p50'))} / {digits(late_ms.get('p99'))} ms"


def _classes(run: SoFar) -> Iterator[str]:
    (figures,) = run.aggregates.settings
    if run.classes_ns:
        cases = (
            ", ".join(f"{name} {count:,}" for name, count in figures.counts.items() if count) or "no case of any class"
        )
        yield f"classes so far, through {_seconds(run.classes_ns)}: {cases}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:,.0f} s"
