"""The five answers of a report: what happened, when and where, why, and what to do next."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from zonelab.analysis.checkers.verdict import AnyClass, Verdict
from zonelab.analysis.first_screen.case_groups import NO_FAULT, ClassCases, grouped_cases
from zonelab.analysis.first_screen.next_steps import NextCommand, next_steps
from zonelab.analysis.first_screen.outages import OutageSpan, zone_outages
from zonelab.analysis.first_screen.strip import Strip, strip
from zonelab.analysis.number_text import counted, listed
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.settings import scenario_values
from zonelab.analysis.summary.result import Result
from zonelab.analysis.units import NS_PER_S

CLASSES_MAX = 4
"""Classes of which the first screen tells: the forbidden ones, or, if none has a case, the others."""

OUTAGES_MAX = 6
ABOUT_CHARACTERS_MAX = 480
FAULTS_MAX = 3
NO_CASES = "There is no case of any class."
OVERLOAD = "Overload: more messages became due than consumers took, which alone leaves messages waiting."


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """``when``: sentences on outages and cases over time. ``about``: what the scenario says, its begin and the rest.

    ``why``: the commonest story of each class. ``cases``: all classes that have any, for the tables below.
    """

    strip: Strip
    when: tuple[str, ...]
    about: tuple[str, str] | None
    why: tuple[str, ...]
    steps: tuple[NextCommand, ...]
    cases: Mapping[AnyClass, ClassCases]
    load_begin_s: float | None


def answers(run: RunDirectory, result: Result) -> Answers:
    """Return the answers of a run that was judged. Raises ``RunError``."""
    cases, outages = grouped_cases(run, result.verdict), zone_outages(run)
    shown, values = _shown(cases), scenario_values(run)
    load_ns = run.info.phases.get("load")
    return Answers(
        strip=strip(run, outages, shown),
        when=(
            *_overloaded(result),
            *_outages(outages, attempts_known=not run.info.queue.instants),
            *(words for one in shown for words in _cases(one, run)),
        ),
        about=_about(str(values.get("about") or "")),
        why=tuple(_why(result, shown)),
        steps=next_steps(run, result, values),
        cases=cases,
        load_begin_s=None if load_ns is None else load_ns[0] / NS_PER_S,
    )


def _why(result: Result, shown: Sequence[ClassCases]) -> Iterator[str]:
    """Stories of the classes; what overload does comes before them only if none of them is forbidden."""
    overload = [OVERLOAD] if result.summary.overloaded else []
    stories = [words for one in shown for words in _story(one)] or [_no_cases(result.verdict)]
    yield from [*stories, *overload] if any(one.forbidden for one in shown) else [*overload, *stories]


def _no_cases(verdict: Verdict) -> str:
    """Return that there is no case, and what keeps the run from telling anything, if so."""
    doubts = "; ".join(verdict.doubts)
    return f"{NO_CASES[:-1]}, but the verdict is open: {doubts}." if doubts else NO_CASES


def _shown(cases: Mapping[AnyClass, ClassCases]) -> list[ClassCases]:
    forbidden = [one for one in cases.values() if one.forbidden]
    return (forbidden or sorted(cases.values(), key=lambda one: -one.count))[:CLASSES_MAX]


def _about(text: str) -> tuple[str, str] | None:
    """Split at the end of a sentence, so that the first screen has room for the rest of the answers."""
    sentences = re.split(r"(?<=[.!?]) +", " ".join(text.split()))
    lengths = accumulate(len(sentence) + 1 for sentence in sentences)
    first = max(1, sum(length <= ABOUT_CHARACTERS_MAX for length in lengths))
    return (" ".join(sentences[:first]), " ".join(sentences[first:])) if sentences[0] else None


def _outages(outages: Sequence[OutageSpan], *, attempts_known: bool) -> Iterator[str]:
    if not outages:
        yield (
            "No zone was out during the load."
            if attempts_known
            else "No outage is on record: events say what programs did, and hardly what they could not do."
        )
        return
    longest = sorted(outages, key=lambda one: one.begin_ns - one.end_ns)[:OUTAGES_MAX]
    named = "; ".join(one.words for one in sorted(longest, key=lambda one: (one.zone, one.begin_ns)))
    more = len(outages) - len(longest)
    others = f"; and {counted(more, 'shorter outage')}" if more else ""
    yield f"Out of service during the load: {named}{others}."


def _overloaded(result: Result) -> Iterator[str]:
    if zones := [one.zone for one in result.summary.overloaded]:
        yield f"Overloaded while no fault was in force: {listed(zones)}."


def _cases(one: ClassCases, run: RunDirectory) -> Iterator[str]:
    if not one.at_ns:
        return
    first, last = (f"{at_ns / NS_PER_S:.2f}" for at_ns in (min(one.at_ns), max(one.at_ns)))
    span = f"at {first} s" if first == last else f"from {first} to {last} s"
    where = f" in {listed(one.zones)}" if one.zones and not one.at_push else ""
    moment = "pushed" if one.at_push else f"seen{where}"
    of = f"{one.count:,}" if one.looked_at == one.count else f"of {one.count:,}, the first {one.looked_at:,}"
    yield f"{one.name.words}: {of} {moment} {span}{f': {_by_fault(one)}' if run.faults() else ''}."


def _by_fault(one: ClassCases) -> str:
    """Cases by the faults in force at their moment, the most frequent first."""
    named = [f"{count:,} {_during(words)}" for words, count in one.by_fault[:FAULTS_MAX]]
    others = sum(count for _, count in one.by_fault[FAULTS_MAX:])
    return listed([*named, *([f"{others:,} during others"] if others else [])])


def _during(faults: str) -> str:
    return "without a fault" if faults == NO_FAULT else f"during {faults}"


def _story(one: ClassCases) -> Iterator[str]:
    if one.groups and (group := one.groups[0]).words:
        of = f"{group.count:,} of {one.looked_at:,} like this" if one.looked_at > 1 else counted(1, "case")
        yield f"{one.name.words}, {of}: {group.first.case.subject}: {group.words}."
    else:
        yield f"{one.name.words}, {counted(one.count, 'case')}: {one.name.summary}."
