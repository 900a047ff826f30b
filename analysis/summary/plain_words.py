"""A checked run in sentences for somebody who decides, and who does not know the classes."""

from collections.abc import Iterator, Mapping, Sequence

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.judgement import Valid
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import digits
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.summary.queue_summary import OperationSummary, Summary

_HEADLINES: Mapping[Valid, str] = {
    True: "Nothing happened in this run that must not happen.",
    False: "Something happened in this run that must not happen.",
    "unknown": "This run cannot tell whether its promises were kept.",
}
_ALLOWED = (
    *(MessageClass.REDELIVERED, MessageClass.CONCURRENT, MessageClass.RESURRECTED),
    *(MessageClass.ZOMBIE_ACK, MessageClass.OVERLAP),
)
_NOT_TRIED = (MessageClass.NOT_DUE, MessageClass.UNSERVED)
_FAULTS_NAMED = 5
_ONE_RUN = "One run is one example: another seed may show what this one did not."


def queue_words(verdict: Verdict, summary: Summary, info: RunInfo, faults: Sequence[FaultBand]) -> list[str]:
    """The headline first."""
    totals = verdict.totals
    tried = f"{totals.pushed:,} messages were sent to the queue, and {totals.acknowledged:,} of them accepted"
    broken = [_class_words(name, verdict) for name in verdict.violated]
    allowed = [_class_words(name, verdict) for name in _ALLOWED if verdict.counts[name] and name not in verdict.forbid]
    return [
        *_overload(summary),
        _HEADLINES[verdict.valid],
        f"{tried}, {_setting(info, faults, summary.load_s)}.",
        *broken,
        *(f"{words[:-1]}, which this scenario allows." for words in allowed),
        *(_class_words(name, verdict) for name in _NOT_TRIED if verdict.counts[name] and name not in verdict.forbid),
        *_doubts(verdict.valid, verdict.reasons),
        *_noticed(summary.operations, ("push", "pop", "ack")),
        *([_ONE_RUN] if verdict.valid is True else []),
    ]


def _overload(summary: Summary) -> Iterator[str]:
    if summary.overloaded:
        zones = ", ".join(row.zone for row in summary.overloaded)
        yield (
            f"Overloaded: the consumers of {zones} could not serve what arrived. Messages that still wait in every "
            "zone say nothing of the level."
        )


def access_words(
    verdict: Verdict, operations: Sequence[OperationSummary], info: RunInfo, faults: Sequence[FaultBand]
) -> list[str]:
    """The headline first."""
    begin_ns, end_ns = info.phases.get("load", (0, 0))
    tried = f"Clients of a {verdict.consistency.workload} began {verdict.begun:,} operations"
    return [
        _HEADLINES[verdict.valid],
        f"{tried}, {_setting(info, faults, (end_ns - begin_ns) / 1e9)}.",
        *(_class_words(name, verdict) for name in verdict.violated),
        *_doubts(verdict.valid, verdict.reasons),
        *_noticed(operations, tuple(verdict.consistency.operations)),
        *([_ONE_RUN] if verdict.valid is True else []),
    ]


def _setting(info: RunInfo, faults: Sequence[FaultBand], load_s: float) -> str:
    kinds = list(dict.fromkeys(f"{fault.kind} {fault.target}" for fault in faults))
    named = ", ".join(kinds[:_FAULTS_NAMED]) + (", …" if len(kinds) > _FAULTS_NAMED else "")
    disturbed = f"with {len(faults)} fault{'s' * (len(faults) != 1)} ({named})" if faults else "without a fault"
    return f"in {load_s:,.1f} s, at {info.level}, over {len(info.zone_names)} zones, {disturbed}"


def _class_words(name: CaseClass, verdict: Verdict) -> str:
    count, of_accepted = verdict.counts[name], ""
    if "{of_accepted}" in name.plain:
        accepted = verdict.totals.acknowledged
        share = f" ({100 * count / accepted:.3g} %)" if accepted else ""
        of_accepted = f"{count:,} of {accepted:,} accepted messages{share}"
    return f"{name.plain.format(count=f'{count:,}', of_accepted=of_accepted)}."


def _doubts(valid: Valid, reasons: Sequence[str]) -> Iterator[str]:
    if valid == "unknown":
        yield from (f"{reason[:1].upper()}{reason[1:]}." for reason in reasons)


def _noticed(operations: Sequence[OperationSummary], names: Sequence[str]) -> Iterator[str]:
    """Yield what whoever uses the cluster would have noticed: how long things took, and when they did not work."""
    found = [row for row in operations if row.zone == "all" and row.f in names]
    timed = [(row.f, took) for row in found if (took := _time_ms(row)).get("count")]
    times = ", ".join(f"{f} {digits(took['p50'])} and {digits(took['p99'])} ms" for f, took in timed)
    if times:
        yield f"Half of the operations took at most, and 99 in 100 at most: {times} (a pop waits for a message)."
    outages = [f"{row.f} {row.unavailability_s:.1f} s" for row in found if row.unavailability_s >= 0.05]
    if outages:
        yield f"Operations did not work for some of the time, added up over the zones: {', '.join(outages)}."


def _time_ms(row: OperationSummary) -> Mapping[str, float]:
    """From when an operation was to begin, where a plan says that, as other sentences do; else from when it began."""
    return row.response_ms if row.response_ms.get("count") else row.service_ms
