"""Exclusive things, which only one client may have: locks, numbers of a counter, items of a list."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.findings import AccessFindings
from zonelab.analysis.checkers.consistency.registers import applied_in_spite, in_words
from zonelab.analysis.checkers.consistency.staleness import EVERYWHERE, share
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.runs.accesses import Access, FinalContents


def check_locks(keys: Mapping[str, Sequence[Access]], held: FinalContents | None, findings: AccessFindings) -> None:
    """``figures``: how many locks had how many owners, as ``owners_0`` and so on; ``contested``: wanted by several."""
    owners: Counter[int] = Counter()
    contested = orphaned = 0
    for key, accesses in keys.items():
        granted = [one for one in accesses if one.ok and one.applied]
        at_rest = held.of(key) if held is not None else {}
        owners[len(granted)] += 1
        contested += len(accesses) > 1
        ops = tuple(one.op for one in granted)
        if len(granted) > 1:
            zones = ", ".join(one.zone for one in granted)
            findings.add(Anomaly.TWO_OWNERS, Case(key=key, ops=ops, detail=f"granted in {zones}; {in_words(at_rest)}"))
        elif not granted and any(at_rest.values()):
            orphaned += 1
            grants = tuple(one.op for one in accesses)
            findings.add(Anomaly.NO_OWNER, Case(key=key, ops=grants, detail=in_words(at_rest)))
        kept = {value for values in at_rest.values() for value in values}
        applied_in_spite(key, accesses, {*kept}, findings)
    findings.figures.update({f"owners_{count}": number for count, number in sorted(owners.items())})
    findings.figures["contested"] = contested
    several = sum(number for count, number in owners.items() if count > 1)
    for name, hits in ((Anomaly.TWO_OWNERS, several), (Anomaly.NO_OWNER, orphaned)):
        findings.shares[name] = {EVERYWHERE: share(hits, len(keys))}


def check_counters(keys: Mapping[str, Sequence[Access]], findings: AccessFindings) -> None:
    """``figures``: ``numbers`` given out, ``distinct`` ones among them."""
    numbers = distinct = 0
    for key, accesses in keys.items():
        given: dict[str | None, list[Access]] = defaultdict(list)
        for one in accesses:
            if one.f == "next" and one.ok:
                given[one.result].append(one)
        numbers += sum(map(len, given.values()))
        distinct += len(given)
        for number, takers in given.items():
            if len(takers) > 1:
                ops = tuple(one.op for one in takers)
                zones = ", ".join(one.zone for one in takers)
                findings.add(Anomaly.DUPLICATE_NUMBER, Case(key=key, ops=ops, detail=f"{number} in {zones}"))
    findings.figures.update(numbers=numbers, distinct=distinct)
    findings.shares[Anomaly.DUPLICATE_NUMBER] = {EVERYWHERE: share(numbers - distinct, numbers)}


def check_lists(keys: Mapping[str, Sequence[Access]], held: FinalContents | None, findings: AccessFindings) -> None:
    for key, accesses in keys.items():
        taken: dict[str, list[Access]] = defaultdict(list)
        for one in accesses:
            if one.f == "pop" and one.ok and one.result is not None:
                taken[one.result].append(one)
        at_rest = held.of(key) if held is not None else {}
        listed: dict[str, list[str]] = defaultdict(list)
        for zone, values in at_rest.items():
            for value in values:
                listed[value].append(zone)
        pushes = [one for one in accesses if one.f == "push"]
        pushed = {one.argument: one for one in pushes}
        for item, takers in taken.items():
            ops = tuple(one.op for one in takers)
            if len(takers) > 1:
                zones = ", ".join(one.zone for one in takers)
                findings.add(Anomaly.POPPED_TWICE, Case(key=key, ops=ops, detail=f"{item} in {zones}"))
            if item not in pushed:
                findings.add(Anomaly.UNWRITTEN, Case(key=key, ops=ops, detail=item))
            if item in listed:
                where = f"{item} listed by {', '.join(listed[item])}"
                findings.add(Anomaly.LEFT_BEHIND, Case(key=key, ops=ops, detail=where))
        applied_in_spite(key, pushes, {*taken, *listed}, findings)
    findings.figures["taken"] = sum(one.f == "pop" and one.result is not None for own in keys.values() for one in own)
