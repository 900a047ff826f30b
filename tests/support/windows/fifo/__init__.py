"""The windows in which ordered messages can go wrong, each a short course of events, by mode (docs/fifo-windows.md)."""

import re

from support.cluster.sim_lab import simulated_lab
from support.windows.fifo import members, producers, zones
from support.windows.fifo.stage import FencedStage, FifoStage, ZonesStage

_ON_ONE_ZONE = {**members.COURSES, **producers.COURSES}
_SETTINGS = {**members.SETTINGS, **producers.SETTINGS}
_ALL = dict(sorted({**_ON_ONE_ZONE, **zones.COURSES}.items()))
_NOT_FENCED = (
    "w06_lock_table_lost",
    "w12_partitions_in_another_order",
    "w32_reset_while_it_works",
    "w11_number_of_partitions_changes",
    "w13_late_first_attempt",
    "w14_several_in_flight",
    "w28_cursor_not_readable",
)
_FENCED = {name: course for name, course in _ON_ONE_ZONE.items() if name not in _NOT_FENCED}
COURSES = {"rocketmq-4.9": _ALL, "rocketmq-5.3": _ALL, "fenced": _FENCED}
"""By mode, and name. A course returns what was seen, in words."""


PHASES_MS = (0, 270, 540, 810)
"""Where between two renewals, a second apart, and two flushes, a quarter of a second apart, a member is stopped."""

_NUMBER = re.compile(r"(?<!\w)-?\d+")


def play(window: str, mode: str) -> str:
    """On one zone, in mode fenced on three. Windows of fail-over on three at each level; what is alike is said once."""
    if window in _ON_ONE_ZONE:
        phases_ms = PHASES_MS if window in members.PHASED else PHASES_MS[:1]
        return merged([_on_one_zone(window, mode, phase_ms) for phase_ms in phases_ms])
    seen: dict[str, list[str]] = {}
    for level in zones.LEVELS:
        with simulated_lab(*"abc") as lab:
            seen.setdefault(zones.COURSES[window](ZonesStage(lab, mode, level)), []).append(str(level))
    return ". ".join(f"{' and '.join(levels)}: {said}" for said, levels in seen.items())


def _on_one_zone(window: str, mode: str, phase_ms: int) -> str:
    course = _ON_ONE_ZONE[window]
    settings = {**_SETTINGS.get(course, {}), "phase_ms": phase_ms}
    if mode == "fenced":
        with simulated_lab(*"abc", lag="constant:1ms") as lab:
            return str(course(FencedStage(lab, **settings)))
    with simulated_lab("a", lag="0") as lab:
        return str(course(FifoStage(lab, mode, **settings)))


def merged(said: list[str]) -> str:
    """What differs in nothing but numbers is said once, with their ranges."""
    alike: dict[str, list[list[int]]] = {}
    for each in said:
        alike.setdefault(_NUMBER.sub("#", each), []).append([int(number) for number in _NUMBER.findall(each)])
    told = []
    for pattern, rows in alike.items():
        spans = iter([(min(column), max(column)) for column in zip(*rows, strict=True)])
        text = re.sub("#", lambda _, spans=spans: " to ".join(map(str, dict.fromkeys(next(spans)))), pattern)
        told.append(text if len(alike) == 1 else f"{len(rows)} of {len(said)}: {text}")
    return ". ".join(told)
