"""Sentences on a checked run, or on several side by side: terminal, page and JSON have the same."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.judgement import Valid
from zonelab.analysis.events.reading import NO_ZONE
from zonelab.analysis.message_classes import IN_DOUBT, MessageClass
from zonelab.analysis.number_text import counted, digits, listed, percent, slashed
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.program_commands import strike_words
from zonelab.analysis.summary.allowed import allowed_anomalies
from zonelab.analysis.summary.cautions import cautions
from zonelab.analysis.summary.left_behind import listed_by, overload_explains_all, overload_words
from zonelab.analysis.summary.result import Result
from zonelab.analysis.summary.run_summary import ALL_ZONES

LATE_MS = 1_000
"""Lateness whose p99 is above this, or above a lease, has a sentence."""

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
_MISSING = (MessageClass.LOST, MessageClass.STUCK, MessageClass.ABANDONED, *IN_DOUBT)
_FAULTS_NAMED = 5
_STRIKES_TOLD = 3
_ONE_RUN = "One run is one example: another seed may show what this one did not."

_CLAIMS = {
    MessageClass.LOST: "",
    MessageClass.STUCK: "",
    MessageClass.EARLY: "not before it is due",
    MessageClass.LATE: "no later than checks.late_ms after that",
    MessageClass.CONCURRENT: "under one lease at a time",
}
"""By class, what a run that forbids it may claim without a case."""


def narrative(results: Sequence[Result]) -> list[str]:
    """Return sentences on one run, or on several that differ in one setting, which their titles name.

    Overloaded runs come first.
    """
    if len(results) == 1:
        return [*overload_words(results), *_one_run(results[0])]
    of_queues = (_promise(results), _missing(results), *_of_messages(results), _price(results))
    return [*overload_words(results), *(sentence for sentence in of_queues if sentence), *cautions(results)]


def _one_run(result: Result) -> Iterator[str]:
    verdict = result.verdict
    yield _HEADLINES[verdict.valid]
    yield f"{_tried(result)}, {_setting(result)}."
    yield from _strikes(result)
    for name in verdict.violated:
        yield f"{_cases(name, result)}."
    for name in _ALLOWED:
        if name not in verdict.forbid and verdict.counts.get(name):
            yield f"{_cases(name, result)}, which this scenario allows."
    for name in _NOT_TRIED:
        if name not in verdict.forbid and verdict.counts.get(name):
            yield f"{_cases(name, result)}."
    yield from (f"{doubt[:1].upper()}{doubt[1:]}." for doubt in verdict.doubts)
    if "queue" in verdict.sections:
        yield from _finished([result])
        yield from _order(result)
        yield from _of_messages([result])
    else:
        for name in allowed_anomalies(verdict):
            yield f"{_cases(name, result)}, which this scenario allows."
    yield from _noticed(result)
    yield from cautions([result])
    if verdict.valid is True:
        yield _ONE_RUN


def _tried(result: Result) -> str:
    verdict = result.verdict
    if "queue" not in verdict.sections:
        return f"Clients of a {verdict.consistency.workload} began {counted(verdict.begun, 'operation')}"
    totals = verdict.totals
    if not totals.pushed:
        return "No message was sent to the queue"
    sent = f"{counted(totals.pushed, 'message')} {'was' if totals.pushed == 1 else 'were'} sent to the queue"
    return f"{sent}, and {totals.acknowledged:,} of them accepted"


def _setting(result: Result) -> str:
    directory = RunDirectory.open(result.directory)
    info, faults = directory.info, directory.faults()
    kinds = list(dict.fromkeys(f"{fault.kind} {fault.target}" for fault in faults))
    named = ", ".join(kinds[:_FAULTS_NAMED]) + (", …" if len(kinds) > _FAULTS_NAMED else "")
    logged = bool(info.queue.instants) and not info.programs
    calm = "with no fault on record" if logged else "without a fault"
    level = "" if logged else f", at {info.level}"
    zones = "" if list(info.zone_names) == [NO_ZONE] else f", over {counted(len(info.zone_names), 'zone')}"
    disturbed = f"with {counted(len(faults), 'fault')} ({named})" if faults else calm
    return f"in {digits(result.summary.load_s)} s{level}{zones}, {disturbed}"


def _strikes(result: Result) -> Iterator[str]:
    """Yield at which commands programs were hit, and which of them never came to theirs."""
    programs = RunDirectory.open(result.directory).info.programs
    strikes = [(process, one) for process, known in programs.items() for one in known.get("strikes", ())]
    missed = [process for process, one in strikes if not one["hit"] and "command" not in one]
    unheld = [process for process, one in strikes if not one["hit"] and "command" in one]
    hit = [(process, one) for process, one in strikes if one["hit"] and one.get("command")]
    yield from (f"{one.get('program', process)} {strike_words(one)}." for process, one in hit[:_STRIKES_TOLD])
    if len(hit) > _STRIKES_TOLD:
        yield f"{len(hit) - _STRIKES_TOLD:,} more programs were hit at a command; run.json has them."
    if missed:
        yield f"The fault hit nothing of {_few(missed)}: the command did not come while it lasted."
    if unheld:
        yield f"The fault hit nothing of {_few(unheld)}: no process held the connection of the command."


def _few(processes: Sequence[str]) -> str:
    more = len(processes) - _STRIKES_TOLD
    return listed([*processes[:_STRIKES_TOLD], *([f"{more:,} more"] if more > 0 else [])])


def _cases(name: CaseClass, result: Result) -> str:
    """The cases of a class in plain words, and its name."""
    count, of_accepted = result.verdict.counts[name], ""
    if "{of_accepted}" in name.plain:
        accepted = result.verdict.totals.acknowledged
        share = f" ({percent(count / accepted)})" if accepted else ""
        of_accepted = f"{count:,} of {accepted:,} accepted messages{share}"
    zones = listed_by(result.directory, MessageClass.STUCK) if name is MessageClass.STUCK else ""
    known = f"{name.replace('_', ' ')}{f'; most are listed by {zones}' if zones else ''}"
    return f"{name.told(count, of_accepted=of_accepted)} ({known})"


def _order(result: Result) -> Iterator[str]:
    """Yield what a run cannot say of the order since it was not tried, and where partitions stood still."""
    order = result.verdict.order
    if order is not None:
        if untried := [str(name) for name in order.not_exercised if name in order.forbid]:
            yield f"Not exercised, so nothing is known of: {listed(untried)}."
        for cause, times in Counter(one.cause for one in order.blocked).items():
            often = "Once" if times == 1 else f"{times:,} times"
            yield f"{often} a partition stood still ({cause}); see zonelab partitions."


def _noticed(result: Result) -> Iterator[str]:
    """Yield what whoever uses the cluster would have noticed: how long things took, and when they did not work."""
    names = ("push", "pop", "ack") if "queue" in result.verdict.sections else result.verdict.consistency.operations
    found = [row for row in result.summary.operations if row.zone == ALL_ZONES and row.f in names]
    timed = [(row.f, took) for row in found if (took := row.time_ms).get("count")]
    times = ", ".join(f"{f} {digits(took['p50'])} and {digits(took['p99'])} ms" for f, took in timed)
    if times:
        planned = [row.f for row in found if row.response_ms.get("count")]
        asides = [f"{listed(planned)} from when it was planned"] if planned else []
        asides += ["a pop waits for a message"] if any(f == "pop" for f, _ in timed) else []
        told = f" ({'; '.join(asides)})" if asides else ""
        yield f"Half of the operations took at most, and 99 in 100 at most: {times}{told}."
    away_s = {row.f: row.unavailability_s or 0 for row in found}
    outages = [f"{f} {digits(seconds)} s" for f, seconds in away_s.items() if seconds >= 0.05]
    if outages:
        yield f"Operations did not work for some of the time, added up over the zones: {', '.join(outages)}."


def _promise(results: Sequence[Result]) -> str:
    by_word: dict[str, list[str]] = {"valid": [], "invalid": [], "unknown": []}
    for result in results:
        if not overload_explains_all(result) and not _nothing_due(result):
            by_word[result.words].append(result.title)
    verbs = {"valid": "kept", "invalid": "broke", "unknown": "left open"}
    parts = [f"{listed(titles)} {verbs[word]}" for word, titles in by_word.items() if titles]
    claims = [claim for claim in _CLAIMS if all(_claimed(claim, result) for result in results)]
    if not parts or MessageClass.LOST not in claims or MessageClass.STUCK not in claims:
        return ""  # no run was to show that what is acknowledged is delivered
    further = listed([words for claim in claims if (words := _CLAIMS[claim])])
    return f"{'; '.join(parts)} the promise that an acknowledged message is delivered{', ' * bool(further)}{further}."


def _claimed(name: MessageClass, result: Result) -> bool:
    """True if cases of ``name`` would have made the run invalid."""
    return name in result.verdict.forbid and name not in result.verdict.not_judged


def _missing(results: Sequence[Result]) -> str:
    parts = [_missing_of(result) for result in results]
    if all(part.startswith("none") for part in parts):
        return "".join(_finished(results))
    return f"Acknowledged messages that their consumers never finished: {'; '.join(parts)}."


def _missing_of(result: Result) -> str:
    counts, acknowledged = result.verdict.counts, result.verdict.totals.acknowledged
    missing = sum(counts[name] for name in _MISSING)
    if not missing:
        return f"none at {result.title}"
    split = listed([f"{counts[name]:,} {name.words}" for name in _MISSING if counts[name]])
    zones = listed_by(result.directory, MessageClass.STUCK)
    split += f", most of them listed by {zones}" if zones else ""
    return f"{missing:,} of {acknowledged:,} at {result.title} ({split}, {percent(missing / acknowledged)})"


def _finished(results: Sequence[Result]) -> Iterator[str]:
    """Yield that nothing is missing, and of what, if it is so."""
    verdicts = [result.verdict for result in results]
    if all(map(_nothing_due, results)) or any(one.counts[name] for one in verdicts for name in _MISSING):
        return
    due = " that was due" if any(verdict.counts[MessageClass.NOT_DUE] for verdict in verdicts) else ""
    dead = sum(verdict.counts[MessageClass.DEAD_LETTER] for verdict in verdicts)
    aside = f", but for {dead:,} that the queue set aside as dead letters" if dead else ""
    leased = all(MessageClass.ABANDONED not in verdict.not_judged for verdict in verdicts)
    yield f"Every acknowledged message{due} was delivered{' and acknowledged by its consumer' * leased}{aside}."


def _nothing_due(result: Result) -> bool:
    """True if no message was accepted that was due before the end."""
    return result.verdict.counts[MessageClass.NOT_DUE] == result.verdict.totals.acknowledged


def _of_messages(results: Sequence[Result]) -> Iterator[str]:
    yield from _lateness(results)
    for result in results:
        lasted_ms = result.verdict.queue.overlap_ms
        if result.verdict.counts[MessageClass.OVERLAP]:
            still = f"; {lasted_ms['open']:,} counted to the end of the drain" if lasted_ms["open"] else ""
            times = f"{slashed(lasted_ms, 'p50', 'p99', 'max')} ms"
            yield f"{result.title}: two programs worked on one message for {times} (p50 / p99 / most{still})."


def _lateness(results: Sequence[Result]) -> Iterator[str]:
    """Yield one sentence on how late deliveries were, where that was more than anybody would call on time."""
    parts, unbounded = [], ""
    for result in results:
        late_ms = result.verdict.queue.lateness_ms.get(ALL_ZONES, {})
        lease_ms = _lease_ms(result)
        bound_ms = LATE_MS if lease_ms is None else min(LATE_MS, lease_ms)
        if late_ms.get("p99", 0) <= bound_ms:
            continue
        if MessageClass.LATE in result.verdict.not_judged:
            unbounded = " No bound was set (checks.late_ms)."
        p50, p99 = late_ms["p50"], late_ms["p99"]
        parts.append(
            f"half of them {digits(p50)} ms and 1 in 100 {digits(p99)} ms or more after they were due at {result.title}"
        )
    if parts:
        yield f"Messages were delivered late: {'; '.join(parts)}.{unbounded}"


def _lease_ms(result: Result) -> int | None:
    """The length of a lease of one message; None if the queue has no such leases."""
    queue = RunDirectory.open(result.directory).info.queue
    return queue.lease_ms if queue.leases and not queue.order else None


def _price(results: Sequence[Result]) -> str:
    parts = []
    for result in results:
        push = result.summary.operation("push")
        if push is None or "p99" not in push.time_ms:
            continue
        doubtful = result.verdict.totals.failed + result.verdict.totals.indeterminate
        refused = f"{doubtful:,} not confirmed" if doubtful else "all confirmed"
        parts.append(f"{result.title}: {refused}, p99 {digits(push.time_ms['p99'])} ms")
    return f"What that cost the producers, in pushes: {'; '.join(parts)}." if parts else ""
