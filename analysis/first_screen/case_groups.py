"""Cases of a class, grouped by equal story: what became of the message, where it lies, and which fault was in force.

Of two cases in one group only the numbers differ: when, how long, which message.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from zonelab.analysis.checkers.verdict import AnyClass, Verdict
from zonelab.analysis.first_screen.case_moments import MISSING, CaseMoment, Life, case_moments
from zonelab.analysis.number_text import listed
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.units import NS_PER_S

GROUPS_MAX = 8
"""Groups of one class that are told, the largest first."""

FAULTS_MAX = 3
"""Faults that are named, of those in force at one moment."""

JUST_NS = 10_000_000
"""Shorter distances from a fault are told without their length."""

NO_FAULT = "no fault"

_NUMBERS = re.compile(r"\d[\d,.]*(e-\d+)?")
_LISTING = frozenset({"queue", "unack", "dead"})


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseGroup:
    """Cases of equal story. ``first``: the first of them; ``words``: its story; ``zones``: where the cases began.

    ``begin_ns``, ``end_ns``: the moments of the first and the last one in run time.
    """

    first: CaseMoment
    words: str
    count: int
    zones: tuple[str, ...]
    begin_ns: int | None
    end_ns: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassCases:
    """The cases of one class. ``count``: all of them; ``looked_at``: those that were grouped.

    ``by_fault``: cases by the faults in force at their moment, the most frequent first. ``at_ns``: those moments.
    ``zones``: where they were.
    """

    name: AnyClass
    forbidden: bool
    count: int
    looked_at: int
    groups: tuple[CaseGroup, ...]
    stories: int
    by_fault: tuple[tuple[str, int], ...]
    at_ns: tuple[int, ...]
    zones: tuple[str, ...] = ()

    @property
    def at_push(self) -> bool:
        """True if the moment of a case is the push of its message, else it is that of the event."""
        return self.name in MISSING


def grouped_cases(run: RunDirectory, verdict: Verdict) -> dict[AnyClass, ClassCases]:
    """Return the cases of each class that has any, grouped. Raises ``RunError``."""
    bands = run.faults()
    return {
        name: _grouped(name, moments, verdict, bands, run.info.zone_names)
        for name, moments in case_moments(run, verdict).items()
    }


def _grouped(
    name: AnyClass,
    moments: Sequence[CaseMoment],
    verdict: Verdict,
    bands: Sequence[FaultBand],
    zones: Sequence[str],
) -> ClassCases:
    found: dict[str, list[tuple[CaseMoment, str]]] = defaultdict(list)
    by_fault: Counter[str] = Counter()
    for one in moments:
        words = "; ".join(_story(name, one, bands, zones))
        found[_NUMBERS.sub("0", words.replace(", just ", ", 0 s "))].append((one, words))
        by_fault[_faults(one.at_ns, bands)] += one.at_ns is not None
    groups = sorted((_group(members) for members in found.values()), key=lambda group: -group.count)
    return ClassCases(
        name=name,
        forbidden=name in verdict.forbid,
        count=verdict.counts[name],
        looked_at=len(moments),
        groups=tuple(groups[:GROUPS_MAX]),
        stories=len(groups),
        by_fault=tuple((words, count) for words, count in by_fault.most_common() if count),
        at_ns=tuple(one.at_ns for one in moments if one.at_ns is not None),
        zones=_zones_of(moments),
    )


def _zones_of(moments: Iterable[CaseMoment]) -> tuple[str, ...]:
    return tuple(sorted({one.zone for one in moments if one.zone}))


def _group(members: Sequence[tuple[CaseMoment, str]]) -> CaseGroup:
    times_ns = [one.at_ns for one, _ in members if one.at_ns is not None]
    first, words = members[0]
    return CaseGroup(
        first=first,
        words=words,
        count=len(members),
        zones=_zones_of(one for one, _ in members),
        begin_ns=min(times_ns, default=None),
        end_ns=max(times_ns, default=None),
    )


def _story(name: AnyClass, one: CaseMoment, bands: Sequence[FaultBand], zones: Sequence[str]) -> Iterator[str]:
    """Yield the parts of a case's story: what it was, where it lies at the end, and the fault that explains it."""
    missing = name in MISSING and one.life is not None
    if missing and one.life is not None:
        yield _served(one.life)
        yield from _places(one.life.held, zones)
    elif one.case.words:
        yield one.case.words
    if one.at_ns is not None and bands:
        faults = _faults(one.at_ns, bands)
        near = list(_around(one.at_ns, bands, _without(one, zones) if missing else None)) if faults == NO_FAULT else []
        yield ", ".join([f"{faults} {'at its push' if missing else 'then'}", *near])


def _served(life: Life) -> str:
    if not life.deliveries:
        return "never delivered"
    times = "delivered" if life.deliveries == 1 else "delivered more than once"
    return f"{times}, {'acknowledged' if life.acked else 'never acknowledged'}"


def _places(held: Mapping[str, set[str]], zones: Sequence[str]) -> Iterator[str]:
    """Yield which zones list a message at the end, which have its payload only, and which have nothing of it."""
    listing = [zone for zone in zones if held.get(zone, set()) & _LISTING]
    payload = [zone for zone in zones if zone in held and zone not in listing]
    without = [zone for zone in zones if zone not in held]
    if len(listing) == len(zones):
        yield "listed by every zone"
        return
    yield f"listed by {listed(listing)}" if listing else "listed by no zone"
    if payload:
        yield f"its payload alone in {listed(payload)}"
    if without and listing:
        yield f"{listed(without)} without it"


def _faults(at_ns: int | None, bands: Sequence[FaultBand]) -> str:
    """Return the faults in force at a moment, by kind and target."""
    if at_ns is None:
        return NO_FAULT
    names = dict.fromkeys(
        f"{band.kind} {band.target}".strip()
        for band in bands
        if band.begin_ns <= at_ns and (band.end_ns is None or at_ns <= band.end_ns)
    )
    named = [*list(names)[:FAULTS_MAX], *([f"{len(names) - FAULTS_MAX} more"] if len(names) > FAULTS_MAX else [])]
    return listed(named) if named else NO_FAULT


def _without(one: CaseMoment, zones: Sequence[str]) -> frozenset[str]:
    """Return the zones that have nothing of the message at the end."""
    return frozenset(zones) - frozenset(() if one.life is None else one.life.held)


def _around(at_ns: int, bands: Sequence[FaultBand], targets: Collection[str] | None) -> Iterator[str]:
    """Yield the last fault before a moment without one and, where it may matter, the first after it.

    ``targets``: of these faults alone; None: of any that came before.
    """
    of = [band for band in bands if targets is None or band.target in targets]
    before = [(band.end_ns, band) for band in of if band.end_ns is not None and band.end_ns < at_ns]
    if before:
        end_ns, band = max(before, key=lambda one: one[0])
        yield f"{_distance(at_ns - end_ns)} after {band.kind} {band.target}"
    after = min((band for band in of if band.begin_ns > at_ns), key=lambda band: band.begin_ns, default=None)
    if targets is not None and after is not None:
        yield f"{_distance(after.begin_ns - at_ns)} before {after.kind} {after.target}"


def _distance(time_ns: int) -> str:
    return "just" if time_ns < JUST_NS else f"{time_ns / NS_PER_S:.2f} s"
