"""Cautions about runs on a machine that was too busy for them."""

import math
from collections.abc import Sequence

from zonelab.analysis.number_text import digits, listed
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.result import Result

STALL_SHARE_MAX = 0.2
"""A stall above this share of the shortest time-out is reported with the result."""

MEDIAN_SHARE_MAX = 0.5
"""Lateness in one of a hundred looks, as a share of a median, beyond which the machine was busy for longer."""


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
            parts.append(
                f"{digits(stall_ms)} ms at {result.title}, where the shortest time-out is {digits(time_out_ms)} ms"
            )
    if not parts:
        return ""
    return (
        f"Caution: the lab itself was kept from running for {listed(parts)}. Time-outs and latencies of such a run may "
        "be the machine's and not the cluster's; repeat it on a quieter machine or with a larger "
        "replication.time_factor."
    )


def _late(results: Sequence[Result], *, quantile: str = "p99", share_max: float = STALL_SHARE_MAX) -> str:
    """A warning if the lab's own process was late by a good part of the latencies that are shown."""
    parts = []
    for result in results:
        late_ms = RunDirectory.open(result.directory).info.stall_p99_ms or 0.0
        shown = {f: result.summary.operation(f) for f in ("push", "ack")}
        shown_ms = {f: one.time_ms[quantile] for f, one in shown.items() if one and quantile in one.time_ms}
        swamped = {f: latency_ms for f, latency_ms in shown_ms.items() if late_ms > share_max * latency_ms}
        if swamped:
            figures = listed([f"{f} {digits(latency_ms)} ms" for f, latency_ms in swamped.items()])
            parts.append(f"{digits(late_ms)} ms at {result.title}, where the latencies shown are: {figures}")
    if not parts:
        return ""
    return (
        f"Caution: in one of a hundred looks the lab's own loop was late by more than {listed(parts)} ({quantile}). So "
        "a good part of these latencies may be the machine's; repeat the run on a quieter machine."
    )
