"""Messages that consumers left behind: which zones list them, and what overload explains of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import counted, digits, listed
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.summary.result import Result


def listed_by(run: Path, message_class: MessageClass) -> str:
    """Return which zones list most of a class's messages at the end: ``a and c``; empty if there are none.

    The checker writes where a message was left as ``a: queue, payload; c: queue, payload``.
    """
    cases = Counter(_listings(run, message_class))
    return listed(cases.most_common(1)[0][0]) if cases else ""


def overload_words(results: Sequence[Result]) -> Iterator[str]:
    """Yield what keeps a result from saying anything about its level, or a part of it."""
    for result in results:
        if "queue" not in result.verdict.sections:
            continue
        in_order = result.verdict.order is not None  # then only deliveries are recorded as pops, and there may be none
        if not result.summary.has_consumers and not in_order:
            info = RunDirectory.open(result.directory).info
            by_events = bool(info.programs or info.queue.instants)
            why = "there were no consumers (consumers.per_zone: 0)"
            if by_events:
                why = "there is no begin, or none that counts"  # of an id that is pushed again none does
            yield f"{result.title}: {why}, so nothing {'was' if by_events else 'could be'} delivered."
        elif result.summary.overloaded:
            zones = "; ".join(
                f"{row.zone}, where {counted(row.due, 'message')} became due in {digits(row.looked_at_s)} s without a "
                f"fault, and then {counted(row.deliveries, 'delivery', 'deliveries')}"
                for row in result.summary.overloaded
            )
            explained = _explained(*_stuck(result), unserved=result.verdict.counts[MessageClass.UNSERVED])
            verb = "was" if len(result.summary.overloaded) == 1 else "were"
            yield f"{result.title}: overloaded {verb} {zones}. {explained}".rstrip()


def overload_explains_all(result: Result) -> bool:
    """Nothing but what consumers left behind is wrong: they could not serve what arrived, and every zone lists it."""
    summary = result.summary
    if (not summary.overloaded and summary.has_consumers) or not set(result.verdict.violated) <= {MessageClass.STUCK}:
        return False
    stuck, waiting = _stuck(result)
    return stuck == waiting and bool(stuck + result.verdict.counts[MessageClass.UNSERVED])


def _explained(stuck: int, waiting: int, *, unserved: int) -> str:
    """Say which of the messages left behind overload can explain; ``waiting``: stuck ones that every zone lists."""
    if not stuck and not unserved:
        return ""
    if stuck == waiting:
        return "What is left behind there says nothing about the level."
    return (
        f"That can explain {waiting + unserved:,} of {stuck + unserved:,} messages left behind, those that every zone "
        f"lists, and not the {stuck - waiting:,} that a zone misses."
    )


def _stuck(result: Result) -> tuple[int, int]:
    """Stuck messages, and how many of them every zone lists, as it does what waits for consumers."""
    zones = list(RunDirectory.open(result.directory).info.zone_names)
    listings = _listings(result.directory, MessageClass.STUCK)
    return len(listings), sum(sorted(listing) == zones for listing in listings)


def _listings(run: Path, message_class: MessageClass) -> list[tuple[str, ...]]:
    """For each message of a class the zones that still list it at the end."""
    path = run / "offenders.parquet"
    try:
        rows = pq.read_table(path, columns=["class", "detail"]).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise RunError(f"{path}: missing, truncated or corrupt: check the run again") from error
    return [_listing_zones(row["detail"]) for row in rows if row["class"] == message_class]


def _listing_zones(detail: str) -> tuple[str, ...]:
    places = dict(part.split(": ", 1) for part in detail.split("; ") if ": " in part)
    return tuple(zone for zone, held in places.items() if {"queue", "unack"} & set(held.split(", ")))
