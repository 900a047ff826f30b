"""Sets: were confirmed additions kept and shown? After Jepsen's set-full checker (jepsen/checker.clj)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.findings import AccessFindings
from zonelab.analysis.checkers.consistency.registers import applied_in_spite, in_words
from zonelab.analysis.checkers.consistency.staleness import EVERYWHERE, share, zones_first
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.runs.accesses import Access, FinalContents

_Missing = Mapping[Anomaly, Counter[str]]
"""Reads that missed something, by anomaly and place."""


def check_sets(keys: Mapping[str, Sequence[Access]], held: FinalContents | None, findings: AccessFindings) -> None:
    """Lost: no zone holds it at rest. Stale: a later read missed it. Vanished: a read had shown it, a later one not."""
    reads: Counter[str] = Counter()
    missing: _Missing = {Anomaly.STALE_READ: Counter(), Anomaly.VANISHED: Counter()}
    for key, accesses in keys.items():
        adds = [one for one in accesses if one.f == "add"]
        shown = _check_reads(
            key, adds, [one for one in accesses if one.f == "members" and one.ok], findings, reads, missing
        )
        at_rest = held.of(key) if held is not None else {}
        kept = {value for values in at_rest.values() for value in values}
        if at_rest:
            for add in adds:
                if add.ok and add.argument not in kept:
                    findings.add(
                        Anomaly.LOST_ADD, Case(key=key, ops=(add.op,), zone=add.zone, detail=in_words(at_rest))
                    )
        applied_in_spite(key, adds, {*shown, *kept}, findings)
        for member in sorted(kept - {add.argument for add in adds}):
            findings.add(Anomaly.UNWRITTEN, Case(key=key, detail=member))
    for name, hits in missing.items():
        findings.shares[name] = {place: share(hits[place], reads[place]) for place in zones_first(reads)}


def _check_reads(
    key: str,
    adds: Sequence[Access],
    reads: Sequence[Access],
    findings: AccessFindings,
    counted: Counter[str],
    missing: _Missing,
) -> set[str]:
    """The members that any read showed."""
    adding = {add.argument: add for add in adds}
    confirmed = sorted((add for add in adds if add.ok), key=lambda one: one.end or 0)
    events = [(one.end or 0, 0, one) for one in confirmed] + [(one.end or 0, 1, one) for one in reads]
    begins = [(one.begin, 2, one) for one in reads]
    due: dict[str, Access] = {}  # members that every read which begins from now on must show, and what made them due
    owed: dict[int, tuple[dict[str, Access], dict[str, Access]]] = {}
    shown: dict[str, Access] = {}
    for _, what, one in sorted([*events, *begins], key=lambda event: event[:2]):
        if what == 0 and one.argument is not None:
            due.setdefault(one.argument, one)
        elif what == 2:
            owed[one.op] = dict(due), dict(shown)
        else:
            members = one.members or ()
            _judge_read(key, one, owed.pop(one.op), findings, counted, missing)
            for member in members:
                if member not in adding or adding[member].begin >= (one.end or 0):
                    findings.add(Anomaly.UNWRITTEN, Case(key=key, ops=(one.op,), zone=one.zone, detail=member))
                shown.setdefault(member, one)
    return set(shown)


def _judge_read(
    key: str,
    read: Access,
    owed: tuple[Mapping[str, Access], Mapping[str, Access]],
    findings: AccessFindings,
    counted: Counter[str],
    missing: _Missing,
) -> None:
    have = set(read.members or ())
    missed = [{member: why for member, why in part.items() if member not in have} for part in owed]
    counted.update((read.zone, EVERYWHERE))
    for (name, hits), part in zip(missing.items(), missed, strict=True):
        if part:
            hits.update((read.zone, EVERYWHERE))
            member, why = next(iter(part.items()))  # due for the longest time
            more = f" and {len(part) - 1} more" if len(part) > 1 else ""
            findings.add(name, Case(key=key, ops=(why.op, read.op), zone=read.zone, detail=f"missed {member}{more}"))
