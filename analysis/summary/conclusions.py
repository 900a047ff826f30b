"""Conclusions of results in plain words, from the verdicts and the figures."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.summary.result import Result

STALL_SHARE_MAX = 0.2
"""A stall above this share of the shortest time-out is reported with the result."""

MEDIAN_SHARE_MAX = 0.5
"""Lateness in one of a hundred looks, as a share of a median, beyond which the machine was busy for longer."""

LATE_MS = 1_000
"""Lateness whose p99 is above this, or above a lease, is told."""

_CLAIMS = {
    MessageClass.LOST: "",
    MessageClass.STUCK: "",
    MessageClass.EARLY: "not before it is due",
    MessageClass.LATE: "no later than checks.late_ms after that",
    MessageClass.CONCURRENT: "under one lease at a time",
}
"""By class, what a run that forbids it may claim without a case."""

_MISSING = (MessageClass.LOST, MessageClass.STUCK, MessageClass.ABANDONED)


def conclusion(results: Sequence[Result]) -> list[str]:
    """A few sentences about runs that differ in one setting, which their titles name; overloaded ones come first."""
    return [*overload_words(results), *meanings(results)]


def meanings(results: Sequence[Result]) -> list[str]:
    """The sentences of a conclusion that follow those on overload."""
    sentences = (
        _promise(results),
        *_order(results),
        _missing(results),
        _not_due(results),
        *_lateness(results),
        *_overlapping(results),
        _price(results),
        *cautions(results),
    )
    return [sentence for sentence in sentences if sentence]


def cautions(results: Sequence[Result]) -> list[str]:
    """Return what must be said of runs on a machine that was too busy for them."""
    return [sentence for sentence in (_starved(results), _late(results)) if sentence]


def cautions_about_medians(results: Sequence[Result]) -> list[str]:
    """The same, where nothing but medians is looked at: what happens in one of a hundred looks hardly moves these."""
    late = _late(results, quantile="p50", share_max=MEDIAN_SHARE_MAX)
    return [sentence for sentence in (_starved(results), late) if sentence]


def _starved(results: Sequence[Result]) -> str:
    """A warning if the lab's own process was late by a good part of the shortest time-out."""
    parts = []
    for result in results:
        info = RunDirectory.open(result.directory).info
        stall_ms, time_out_ms = info.longest_stall_ms or 0.0, info.shortest_time_out_ms or math.inf
        if stall_ms > STALL_SHARE_MAX * time_out_ms:
            parts.append(f"{stall_ms:,.0f} ms at {result.title}, where the shortest time-out is {time_out_ms:,.0f} ms")
    if not parts:
        return ""
    return (
        f"Caution: the lab itself was kept from running for {_and(parts)}. Time-outs and latencies of such a run may "
        "be the machine's and not the cluster's; repeat it on a quieter machine or with a larger "
        "replication.time_factor."
    )


def _late(results: Sequence[Result], *, quantile: str = "p99", share_max: float = STALL_SHARE_MAX) -> str:
    """A warning if the lab's own process was late by a good part of the latencies that are shown."""
    parts = []
    for result in results:
        late_ms = RunDirectory.open(result.directory).info.stall_p99_ms or 0.0
        push, ack = result.summary.operation("push"), result.summary.operation("ack")
        told = {"push": push.response_ms if push else {}, "ack": ack.service_ms if ack else {}}
        shown_ms = {f: latency[quantile] for f, latency in told.items() if quantile in latency}
        swamped = {f: latency_ms for f, latency_ms in shown_ms.items() if late_ms > share_max * latency_ms}
        if swamped:
            figures = _and([f"{f} {latency_ms:,.1f} ms" for f, latency_ms in swamped.items()])
            parts.append(f"{late_ms:,.1f} ms at {result.title}, where the latencies shown are: {figures}")
    if not parts:
        return ""
    return (
        f"Caution: in one of a hundred looks the lab's own loop was late by more than {_and(parts)} ({quantile}). So a "
        "good part of these latencies may be the machine's; repeat the run on a quieter machine."
    )


def listed_by(run: Path, message_class: MessageClass) -> str:
    """Which zones still list most of a class's messages at the end: ``a and c``; empty if there are none.

    The checker writes where a message was left as ``a: queue, payload; c: queue, payload``.
    """
    cases = Counter(_listings(run, message_class))
    return _and(cases.most_common(1)[0][0]) if cases else ""


def _listing_zones(detail: str) -> tuple[str, ...]:
    places = dict(part.split(": ", 1) for part in detail.split("; ") if ": " in part)
    return tuple(zone for zone, held in places.items() if {"queue", "unack"} & set(held.split(", ")))


def _promise(results: Sequence[Result]) -> str:
    by_validity: dict[str, list[str]] = {"kept": [], "broke": [], "left open": []}
    for result in results:
        if _unjudged(result) or _nothing_due(result):
            continue
        by_validity[_kept(result)].append(result.title)
    parts = [f"{_and(titles)} {verb}" for verb, titles in by_validity.items() if titles]
    if not parts:
        return ""
    claims = [claim for claim in _CLAIMS if all(_claimed(claim, result) for result in results)]
    if MessageClass.LOST not in claims or MessageClass.STUCK not in claims:
        return ""  # no run was to show that what is acknowledged is delivered
    further = _and([words for claim in claims if (words := _CLAIMS[claim])])
    return f"{'; '.join(parts)} the promise that an acknowledged message is delivered{', ' * bool(further)}{further}."


def _claimed(name: MessageClass, result: Result) -> bool:
    """True if cases of ``name`` would have made the run invalid."""
    return name in result.verdict.forbid and name not in result.verdict.not_judged


def _kept(result: Result) -> str:
    """Return what became of the promise to deliver; of the order of messages another sentence tells."""
    if result.verdict.order is None or result.words != "invalid":
        return {"valid": "kept", "invalid": "broke", "unknown": "left open"}[result.words]
    return "broke" if any(isinstance(name, MessageClass) for name in result.verdict.violated) else "kept"


def _order(results: Sequence[Result]) -> Iterator[str]:
    """Yield what became of the order, and what a run cannot tell since it was not tried."""
    for result in results:
        order = result.verdict.order
        if order is None:
            continue
        broken = _and([name.words for name in order.violated])
        yield f"{result.title} {f'broke {broken}' if broken else 'broke nothing'} of what ordered messages must keep."
        untried = _and([str(name) for name in order.not_exercised if name in order.forbid])
        if untried:
            yield f"{result.title}: not exercised, so nothing is known of: {untried}."
        for cause, many in Counter(one.cause for one in order.blocked).items():
            yield f"{result.title}: {many} times a partition stood still ({cause}); see zonelab partitions."


def _unjudged(result: Result) -> bool:
    """Nothing but what consumers left behind is wrong: they could not serve what arrived, and every zone lists it."""
    summary = result.summary
    if (not summary.overloaded and summary.has_consumers) or not set(result.verdict.violated) <= {MessageClass.STUCK}:
        return False
    stuck, waiting = _stuck(result)
    return stuck == waiting and bool(stuck + result.verdict.counts[MessageClass.UNSERVED])


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


def overload_words(results: Sequence[Result]) -> Iterator[str]:
    """Yield what keeps a result from saying anything about its level, or a part of it."""
    for result in results:
        in_order = result.verdict.order is not None  # then only deliveries are told as pops, and there may be none
        if not result.summary.has_consumers and not in_order:
            yield f"{result.title}: there were no consumers (consumers.per_zone: 0), so nothing could be delivered."
        elif result.summary.overloaded:
            zones = "; ".join(
                f"{row.zone}, where {row.due:,} messages became due in {row.looked_at_s:.1f} s without a fault, and "
                f"there were {row.deliveries:,} deliveries"
                for row in result.summary.overloaded
            )
            explained = _explained(*_stuck(result), unserved=result.verdict.counts[MessageClass.UNSERVED])
            yield f"{result.title}: overloaded were {zones}. {explained}".rstrip()


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


def _missing(results: Sequence[Result]) -> str:
    parts = []
    for result in results:
        counts, acknowledged = result.verdict.counts, result.verdict.totals.acknowledged
        missing = sum(counts[name] for name in _MISSING)
        if counts[MessageClass.UNDECIDED]:
            undecided = counts[MessageClass.UNDECIDED]
            parts.append(f"{undecided:,} undecided at {result.title}, as its end state is not known")
        if counts[MessageClass.UNSERVED]:
            unserved = counts[MessageClass.UNSERVED]
            parts.append(f"{unserved:,} of {acknowledged:,} at {result.title} still waited in every zone (unserved)")
        if not missing and not counts[MessageClass.UNDECIDED] and not counts[MessageClass.UNSERVED]:
            parts.append(f"none at {result.title}")
        if not missing:
            continue
        split = _and([f"{counts[name]:,} {name.value}" for name in _MISSING if counts[name]])
        zones = listed_by(result.directory, MessageClass.STUCK)
        split += f", most of them listed by {zones}" if zones else ""
        share = f", {100 * missing / acknowledged:.1f} %" if acknowledged else ""
        parts.append(f"{missing:,} of {acknowledged:,} at {result.title} ({split}{share})")
    if all(part.startswith("none") for part in parts):
        return "" if all(map(_nothing_due, results)) else _finished(results)
    return f"Acknowledged messages that their consumers never finished: {'; '.join(parts)}."


def _finished(results: Sequence[Result]) -> str:
    """That nothing is missing, and of what."""
    verdicts = [result.verdict for result in results]
    due = " that was due" if any(verdict.counts[MessageClass.NOT_DUE] for verdict in verdicts) else ""
    dead = sum(verdict.counts[MessageClass.DEAD_LETTER] for verdict in verdicts)
    aside = f", but for {dead:,} that the queue set aside as dead letters" if dead else ""
    leased = all(MessageClass.ABANDONED not in verdict.not_judged for verdict in verdicts)
    return (
        f"Every acknowledged message{due} was delivered{' and acknowledged by its consumer' if leased else ''}{aside}."
    )


def _not_due(results: Sequence[Result]) -> str:
    parts = [
        f"{count:,} of {result.verdict.totals.acknowledged:,} acknowledged messages at {result.title}"
        for result in results
        if (count := result.verdict.counts[MessageClass.NOT_DUE])
    ]
    return f"Not due by the end of the drain, so their delivery was not judged: {'; '.join(parts)}." if parts else ""


def _lateness(results: Sequence[Result]) -> Iterator[str]:
    """One sentence on how late deliveries were, where that was more than anybody would call on time."""
    parts, unbounded = [], ""
    for result in results:
        late_ms = result.verdict.queue.lateness_ms.get("all", {})
        lease_ms = _lease_ms(result)
        bound_ms = LATE_MS if lease_ms is None else min(LATE_MS, lease_ms)
        if late_ms.get("p99", 0) <= bound_ms:
            continue
        if MessageClass.LATE in result.verdict.not_judged:
            unbounded = " No bound was set (checks.late_ms)."
        p50, p99 = late_ms["p50"], late_ms["p99"]
        parts.append(
            f"half of them {p50:,.0f} ms and 1 in 100 {p99:,.0f} ms or more after they were due at {result.title}"
        )
    if parts:
        yield f"Messages were delivered late: {'; '.join(parts)}.{unbounded}"


def _lease_ms(result: Result) -> int | None:
    """The length of a lease of one message; None if the queue has no such leases."""
    queue = RunDirectory.open(result.directory).info.queue
    return queue.lease_ms if queue.leases and not queue.order else None


def _overlapping(results: Sequence[Result]) -> Iterator[str]:
    """Yield sentences on programs that went on working when their lease had ended."""
    for result in results:
        counts, lasted_ms = result.verdict.counts, result.verdict.queue.overlap_ms
        if counts[MessageClass.OVERLAP]:
            still = f"; {lasted_ms['open']:,} counted to the end of the drain" if lasted_ms["open"] else ""
            yield (
                f"{result.title}: on {_number(counts[MessageClass.OVERLAP], 'message')} two or more programs worked at "
                f"the same time, for {lasted_ms['p50']:,.0f} / {lasted_ms['p99']:,.0f} / {lasted_ms['max']:,.0f} ms "
                f"(p50 / p99 / most{still})."
            )
        if counts[MessageClass.ZOMBIE_ACK]:
            yield (
                f"{result.title}: {_number(counts[MessageClass.ZOMBIE_ACK], 'ack')} succeeded after the lease of the "
                "delivery had ended or passed to another."
            )


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _nothing_due(result: Result) -> bool:
    """True if messages were accepted and none of them was due before the end."""
    accepted = result.verdict.totals.acknowledged
    return bool(accepted) and result.verdict.counts[MessageClass.NOT_DUE] == accepted


def _price(results: Sequence[Result]) -> str:
    parts = []
    for result in results:
        push = result.summary.operation("push")
        if push is None or "p99" not in push.response_ms:
            continue
        doubtful = result.verdict.totals.failed + result.verdict.totals.indeterminate
        refused = f"{doubtful:,} not confirmed" if doubtful else "all confirmed"
        parts.append(f"{result.title}: {refused}, p99 {push.response_ms['p99']:.1f} ms")
    return f"What that cost the producers, in pushes: {'; '.join(parts)}." if len(parts) > 1 else ""


def _and(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
