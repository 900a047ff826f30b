"""The eight questions of ``zonelab new rollout --ask``: how each answer is read."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.rates.objectives import Objective
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Persistence
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.faults.catalogue import CLASSES
from zonelab.scenarios.spec.queue_settings import QueueMode

MODES = (QueueMode.DEFAULT, QueueMode.HARDENED)

ABOUT = 2.0
"""Work of *about* a time takes longer than this times it in one case of a hundred."""

_UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "min": 60e3, "h": 3600e3}
_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|min|h|)")
_TAIL = re.compile(r"(\d+(?:\.\d+)?) ?%(?: of them)? (\S+)")
_YEARLY = {"daily": 365.0, "weekly": 52.0, "monthly": 12.0, "yearly": 1.0}

OUTAGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "zone": ("any one zone down", {"kind": "zone_outage", "zone": "any"}),
    "restart": ("a server restarts", {"kind": "kill", "zone": "any"}),
    "power": ("a zone without power", {"kind": "power_failure", "zone": "any"}),
    "cut": ("one zone cut off", {"kind": "cut", "isolate": "any"}),
    "link": ("a link fails", {"kind": "cut", "link": "any"}),
    "flap": ("a link flaps", {"kind": "flap", "link": "any"}),
    "slow": ("a server is slow", {"kind": "slow", "zone": "any"}),
    "disk": ("a disk is full", {"kind": "disk_full", "zone": "any"}),
}
"""By the word of an answer: the name of the class of faults, and the fault."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedOutage:
    """One kind of ``OUTAGES``: how long each lasts, and how many a year brings."""

    kind: str
    lasts_s: float
    per_year: float

    @property
    def name(self) -> str:
        return OUTAGES[self.kind][0]


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutAnswers:
    """``lags``: by pair of zones, as text for one way. ``rates_per_s``: by zone. ``vary``: by path, as in the file.

    ``leases_ms``: in the order in which they were given.
    """

    zones: tuple[str, ...] = ()
    lags: Mapping[tuple[str, str], str] = field(default_factory=dict)
    rates_per_s: Mapping[str, float] = field(default_factory=dict)
    work: str = ""
    persistence: Persistence = Persistence.AOF_EVERYSEC
    outages: tuple[AskedOutage, ...] = ()
    objectives: tuple[str, ...] = ()
    vary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    leases_ms: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """``take`` reads an answer, knowing those before it; it raises ``ValueError``."""

    asks: str
    example: str
    default: Callable[[RolloutAnswers], str]
    take: Callable[[RolloutAnswers, str], RolloutAnswers]


def answers_of(texts: Sequence[str]) -> RolloutAnswers:
    """The answers to the first questions, and the defaults of the others. Raises ``ValueError``."""
    answers = RolloutAnswers()
    for place, question in enumerate(QUESTIONS):
        text = texts[place] if place < len(texts) else question.default(answers)
        answers = question.take(answers, text)
    return answers


def _zones(answers: RolloutAnswers, text: str) -> RolloutAnswers:
    names = tuple(re.split(r"[\s,]+", text.strip()))
    if len(names) == 1 and names[0].isdecimal() and 1 <= int(names[0]) <= 26:
        names = tuple("abcdefghijklmnopqrstuvwxyz"[: int(names[0])])
    return replace(answers, zones=names)


def _lags(answers: RolloutAnswers, text: str) -> RolloutAnswers:
    pairs = list(combinations(answers.zones, 2))
    named = {f"{one}-{other}": pair for pair in pairs for one, other in (pair, pair[::-1])}
    found: dict[tuple[str, str], str] = {}
    for part in _parts(text):
        words = part.split()
        chosen = [named[words[0]]] if words[0] in named else pairs
        times = words[1:] if words[0] in named else words
        if len(times) not in (1, 2):
            pair = ", ".join(f"{one}-{other}" for one, other in pairs)
            raise ValueError(f"lag: got {part!r}; accepted: [PAIR] MEDIAN P99, a pair of {pair}, e.g. 2ms 10ms")
        ways = [_ms(one) / 2 for one in times]
        lag = f"lognormal:{_told(ways[0])}:{_told(ways[1])}" if len(ways) == 2 else _told(ways[0])
        parse_lag(lag)
        found |= dict.fromkeys(chosen, lag)
    if lacking := [f"{one}-{other}" for one, other in pairs if (one, other) not in found]:
        raise ValueError(f"lag: got none for {', '.join(lacking)}; accepted: one for each pair, or one for all first")
    return replace(answers, lags=found)


def _rates(answers: RolloutAnswers, text: str) -> RolloutAnswers:
    words = text.replace(",", " ").split()
    if len(words) == 1 and (total := _number(words[0])):
        each = round(total / len(answers.zones), 6)
        return replace(answers, rates_per_s=dict.fromkeys(answers.zones, each))
    rates = {zone: _number(rate) for zone, rate in zip(words[::2], words[1::2], strict=False)}
    if len(words) % 2 or not set(rates) <= set(answers.zones) or not any(rates.values()) or None in rates.values():
        zones = " ".join(f"{zone} 40" for zone in answers.zones)
        raise ValueError(f"jobs a second: got {text!r}; accepted: a number above 0 for all zones, or by zone: {zones}")
    return replace(answers, rates_per_s={zone: rates.get(zone) or 0.0 for zone in answers.zones})


def _work(answers: RolloutAnswers, text: str) -> RolloutAnswers:
    if ":" in text:
        parse_lag(text)
        return replace(answers, work=text)
    first, *tails = _parts(text)
    parts = []
    for tail in tails:
        match = _TAIL.fullmatch(tail)
        if match is None or not 0 < float(match[1]) < 100:
            raise ValueError(f"work: got {tail!r}; accepted: SHARE% TIME, e.g. 5% 40s")
        parts.append((float(match[1]) / 100, f"constant:{_told(_ms(match[2]))}"))
    rest = 1 - sum(share for share, _ in parts)
    if rest <= 0:
        raise ValueError(f"work: got {text!r}; accepted: shares below 100% together")
    times = [_ms(word) for word in first.removeprefix("about ").split()]
    if len(times) not in (1, 2) or not times[0]:
        raise ValueError(f"work: got {first!r}; accepted: TIME, or MEDIAN P99, e.g. 150ms or 150ms 400ms")
    usual = f"lognormal:{_told(times[0])}:{_told(times[1] if len(times) == 2 else ABOUT * times[0])}"
    parse_lag(usual)
    mixed = " + ".join([f"{rest:.6g}*{usual}", *(f"{share:.6g}*{time}" for share, time in parts)])
    return replace(answers, work=mixed if parts else usual)


def _persistence(answers: RolloutAnswers, text: str) -> RolloutAnswers:
    if text not in set(Persistence):
        raise ValueError(f"persistence: got {text!r}{did_you_mean(text, Persistence)}; accepted: {_some(Persistence)}")
    return replace(answers, persistence=Persistence(text))


def _outages(answers: RolloutAnswers, text: str) -> RolloutAnswers:
    found: dict[str, AskedOutage] = {}
    for part in [] if text == "none" else _parts(text):
        kind, *words = part.split()
        if kind not in OUTAGES or len(words) != 2 or kind in found:
            accepted = f"KIND LENGTH TIMES-A-YEAR, each kind once; kinds: {_some(OUTAGES)}; e.g. restart 10s weekly"
            nearest = "" if kind in OUTAGES else did_you_mean(kind, OUTAGES)
            raise ValueError(f"outages: got {part!r}{nearest}; accepted: {accepted}")
        if CLASSES[OUTAGES[kind][1]["kind"]].of_files and answers.persistence is Persistence.NONE:
            raise ValueError(f"outages: got {part!r}; accepted: {kind} with a persistence other than none")
        per_year = _YEARLY.get(words[1], _number(words[1]))
        if per_year is None:
            raise ValueError(f"outages: got {words[1]!r} times a year; accepted: a number, or {_some(_YEARLY)}")
        found[kind] = AskedOutage(kind=kind, lasts_s=parse_duration_s(words[0]), per_year=per_year)
    return replace(answers, outages=tuple(found.values()))


def _objectives(answers: RolloutAnswers, text: str) -> RolloutAnswers:
    names = [one.name for one in answers.outages]
    found = tuple(_parts(text))
    for one in map(Objective.parsed, found):
        if one.condition is not None and one.condition not in names:
            accepted = _some(names) or "none, as none was given"
            raise ValueError(f"objectives: got the outage {one.condition!r}; accepted: {accepted}")
    return replace(answers, objectives=found)


def _objectives_default(answers: RolloutAnswers) -> str:
    given = [f"p99(push) < 30ms with {one.name}" for one in answers.outages[:1]]
    return ", ".join(["losses == 0", "duplicates < 1e-4", "p99(push) < 30ms", *given])


def _choice(answers: RolloutAnswers, text: str) -> RolloutAnswers:
    vary: dict[str, list[str]] = {}
    for word in text.replace(",", " ").split():
        if word in set(Level):
            vary.setdefault("level", []).append(word)
        elif word in MODES:
            vary.setdefault("queue.mode", []).append(word)
        elif _TIME.fullmatch(word) and round(_ms(word)) > 0:
            vary.setdefault("queue.unack_ms", []).append(str(round(_ms(word))))
        else:
            known = [*Level, *MODES]
            accepted = f"levels ({_some(Level)}), modes ({_some(MODES)}), leases (30s)"
            raise ValueError(f"what to choose from: got {word!r}{did_you_mean(word, known)}; accepted: {accepted}")
    leases = vary.get("queue.unack_ms", ["30000"])
    if len(leases) == 1:
        vary.pop("queue.unack_ms", None)
    return replace(answers, vary=vary, leases_ms=tuple(map(int, leases)))


def _parts(text: str) -> list[str]:
    return [part for part in (each.strip() for each in text.split(",")) if part] or [text.strip() or "nothing"]


def _ms(text: str) -> float:
    """A time in ms; a bare number is in ms. Raises ``ValueError``."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"time: got {text!r}; accepted: a number with us, ms, s, min or h, e.g. 0.8ms")
    return float(match[1]) * _UNITS_MS.get(match[2], 1.0)


def _told(time_ms: float) -> str:
    return f"{time_ms:g}ms" if time_ms < 1e3 else f"{time_ms / 1e3:g}s"


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else None


def _some(names: Iterable[str]) -> str:
    return ", ".join(names)


QUESTIONS = (
    Question(asks="Which zones?", example="a b c", default=lambda _: "a b c", take=_zones),
    Question(
        asks="How long is the way between zones, there and back: median and 99th percentile, in ms?",
        example="a-b 0.8 4, b-c 1.1 9, a-c 2.4 20",
        default=lambda _: "2 10",
        take=_lags,
    ),
    Question(
        asks="How many jobs a second, in all or by zone?",
        example="120, or a 80 b 30 c 10",
        default=lambda _: "15",
        take=_rates,
    ),
    Question(
        asks="How long does a job take: about, or median and 99th percentile; then shares that take longer?",
        example="150ms, 5% 40s",
        default=lambda _: "150ms",
        take=_work,
    ),
    Question(
        asks=f"What do the servers write to disk ({_some(Persistence)})?",
        example="aof-everysec",
        default=lambda _: "aof-everysec",
        take=_persistence,
    ),
    Question(
        asks=f"Which outages does a year bring: kind ({_some(OUTAGES)}), length, times a year; or none?",
        example="zone 20min 2, restart 10s weekly, flap 30s weekly",
        default=lambda _: "zone 20min 2, restart 10s weekly, flap 30s monthly",
        take=_outages,
    ),
    Question(
        asks="What must hold?",
        example="losses == 0, duplicates < 1e-4, p99(push) < 30ms, p99(push) < 30ms with any one zone down",
        default=_objectives_default,
        take=_objectives,
    ),
    Question(
        asks="What is there to choose from: levels, modes, leases?",
        example="DC_QUORUM DC_SAFE_QUORUM default hardened 30s 60s",
        default=lambda _: "DC_ONE DC_QUORUM DC_SAFE_QUORUM default hardened 30s",
        take=_choice,
    ),
)
