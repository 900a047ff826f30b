"""Registers: is each key linearizable, were values real, were conditional updates exclusive, what was lost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.findings import AccessFindings
from zonelab.analysis.checkers.consistency.linear import RegisterOperation, RegisterStep, SearchBudget, check_register
from zonelab.analysis.checkers.consistency.linear_shrink import smallest_violation
from zonelab.analysis.checkers.consistency.linear_timeline import timeline
from zonelab.analysis.checkers.consistency.section import Counterexample
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.number_text import listed
from zonelab.analysis.runs.accesses import Access, FinalContents

VALUES_NAMED = 8
"""Values of one zone that a case names."""

UPDATING = ("write", "cas", "create")
COUNTEREXAMPLES_MAX = 5
"""Keys that are not linearizable and get a smallest counterexample; the others are named."""


def by_key(accesses: Iterable[Access]) -> dict[str, list[Access]]:
    found: dict[str, list[Access]] = defaultdict(list)
    for access in accesses:
        found[access.key].append(access)
    return dict(sorted(found.items()))


def updated(access: Access) -> bool:
    """Return whether it certainly changed the register."""
    return access.ok and access.f in UPDATING and access.applied is not False


def may_have_updated(access: Access) -> bool:
    return updated(access) or (access.type == "info" and access.f in UPDATING)


def saw(access: Access) -> bool:
    """Return whether its answer shows what the register held."""
    return access.ok and (access.f == "read" or (access.f == "cas" and access.applied is False))


def register_operation(access: Access) -> RegisterOperation | None:
    """Return the access as the search for an order takes it; None if it certainly did nothing and got no answer."""
    kind, value, expected = RegisterStep.READ, access.result, None
    if saw(access):
        pass
    elif access.f == "create" and access.applied is False:
        kind, value = RegisterStep.DIFFERS, None
    elif may_have_updated(access):
        kind = RegisterStep.WRITE if access.f == "write" else RegisterStep.CAS
        value, expected = access.argument, access.expected
    else:
        return None
    return RegisterOperation(
        id=access.op, kind=kind, value=value, expected=expected, begin=access.begin, end=access.end
    )


def check_linearizability(
    keys: Mapping[str, Sequence[Access]], findings: AccessFindings, *, budget: SearchBudget
) -> None:
    steps = 0
    for key, accesses in keys.items():
        operations = [one for access in accesses if (one := register_operation(access)) is not None]
        searched = check_register(operations, budget=budget)
        steps += searched.steps
        if searched.valid == "unknown":
            findings.add(Anomaly.UNDECIDED, Case(key=key, detail=f"{searched.steps} steps were not enough"))
        elif not searched.valid:
            findings.add(Anomaly.NONLINEARIZABLE, _violation(key, operations, accesses, findings, budget))
    findings.figures["keys"] = len(keys)
    findings.figures["search_steps"] = steps


def _violation(
    key: str,
    operations: Sequence[RegisterOperation],
    accesses: Sequence[Access],
    findings: AccessFindings,
    budget: SearchBudget,
) -> Case:
    if len(findings.counterexamples) >= COUNTEREXAMPLES_MAX:
        return Case(key=key)
    small = smallest_violation(operations, budget=budget)
    of = {access.op: access for access in accesses}
    names = {one.id: of[one.id].process for one in small}
    notes = {one.id: of[one.id].error or "" for one in small}
    lines = tuple(timeline(small, names=names, notes=notes))
    ops = tuple(one.id for one in small)
    findings.counterexamples.append(Counterexample(key=key, ops=ops, timeline=lines))
    return Case(key=key, ops=ops, detail=f"{len(small)} operations are enough to show it")


def check_values(keys: Mapping[str, Sequence[Access]], held: FinalContents | None, findings: AccessFindings) -> None:
    """Values that came from nowhere, updates that should not have both happened, writes that are gone."""
    for key, accesses in keys.items():
        at_rest = held.of(key) if held is not None else {}
        _unwritten(key, accesses, findings)
        _cas_twice(key, accesses, findings)
        _lost(key, accesses, at_rest, findings)
        shown = {access.result for access in accesses if saw(access)} | {
            value for values in at_rest.values() for value in values
        }
        applied_in_spite(key, [one for one in accesses if one.f in UPDATING], shown, findings)


def _unwritten(key: str, accesses: Sequence[Access], findings: AccessFindings) -> None:
    begun: dict[str | None, int] = {None: -1}
    for access in accesses:
        if access.f in UPDATING:
            begun.setdefault(access.argument, access.begin)
    for access in accesses:
        if saw(access) and access.end is not None and begun.get(access.result, access.end) >= access.end:
            findings.add(
                Anomaly.UNWRITTEN, Case(key=key, ops=(access.op,), zone=access.zone, detail=f"{access.result}")
            )


def _cas_twice(key: str, accesses: Sequence[Access], findings: AccessFindings) -> None:
    """A value that one update wrote, and that two compare-and-sets replaced, or nil that two creations did."""
    writers: dict[str | None, int] = defaultdict(int)
    taken: dict[str | None, list[Access]] = defaultdict(list)
    for access in accesses:
        if may_have_updated(access):
            writers[access.argument] += 1
        if updated(access) and access.f in ("cas", "create"):
            taken[access.expected].append(access)
    for value, takers in taken.items():
        if len(takers) > 1 and writers[value] <= (0 if value is None else 1):
            ops = tuple(access.op for access in takers)
            findings.add(Anomaly.CAS_TWICE, Case(key=key, ops=ops, detail=f"{value} was replaced {len(takers)} times"))


def _lost(
    key: str, accesses: Sequence[Access], at_rest: Mapping[str, tuple[str, ...]], findings: AccessFindings
) -> None:
    updates = [access for access in accesses if may_have_updated(access)]
    last = max(updates, key=lambda one: one.begin, default=None)
    if last is None or not last.ok or not at_rest:
        return
    if any(one.end is None or one.end > last.begin for one in updates if one is not last):
        return  # another may be the last in effect
    if all(last.argument not in values for values in at_rest.values()):
        findings.add(Anomaly.LOST_WRITE, Case(key=key, ops=(last.op,), zone=last.zone, detail=in_words(at_rest)))


def check_divergence(held: FinalContents, findings: AccessFindings) -> None:
    """Keys that are not the same in every zone that could be read."""
    for key in held.keys:
        at_rest = held.of(key)
        if len(set(at_rest.values())) > 1:
            findings.add(Anomaly.DIVERGENT, Case(key=key, detail=_differing(at_rest)))
    findings.figures["keys_at_rest"] = len(held.keys)


def applied_in_spite(key: str, updates: Iterable[Access], shown: set[str | None], findings: AccessFindings) -> None:
    """Updates that were answered with an error, and whose value (which no other update has) is there all the same."""
    confirmed = {access.argument for access in updates if access.ok}
    for access in updates:
        if access.ok or access.argument is None or access.argument in confirmed or access.argument not in shown:
            continue
        name = Anomaly.APPLIED_IN_DOUBT if access.type == "info" else Anomaly.APPLIED_AFTER_FAIL
        findings.add(name, Case(key=key, ops=(access.op,), zone=access.zone, detail=access.error or ""))


def in_words(at_rest: Mapping[str, tuple[str, ...]]) -> str:
    """Return which zones hold what, as ``a and c hold x; b holds nothing``; long values are cut."""
    holders = {values: [zone for zone in at_rest if at_rest[zone] == values] for values in at_rest.values()}
    return "; ".join(
        f"{listed(zones)} {'hold' if len(zones) > 1 else 'holds'} {_first(values) or 'nothing'}"
        for values, zones in holders.items()
    )


def _differing(at_rest: Mapping[str, tuple[str, ...]]) -> str:
    """``b lacks 12 of 90: x, y``; of values that are few, or the same in another order, what each zone holds."""
    together = sorted({value for values in at_rest.values() for value in values})
    lacking = {zone: [one for one in together if one not in values] for zone, values in at_rest.items()}
    if len(together) <= VALUES_NAMED or not any(lacking.values()):
        return in_words(at_rest)
    return "; ".join(
        f"{zone} lacks {len(missing)} of {len(together)}: {_first(missing)}"
        for zone, missing in lacking.items()
        if missing
    )


def _first(values: Sequence[str]) -> str:
    return ", ".join(values[:VALUES_NAMED]) + (", …" if len(values) > VALUES_NAMED else "")
