"""Programs whose keys end while they run: in two parts, between which all short times are over, and no other.

A first part that took too long, on a busy machine, is no evidence: it is left out, and another is drawn.
"""

import time
from random import Random

from support.cluster.command_differ import DRAWN, Command, Differ, Difference, Program
from support.cluster.command_families import Commands

SHORT_MS = (250, 300, 350)
PART_MS = 200
"""The longest that a first part may take: less than the shortest time."""

PAUSE_MS = 700
"""From the beginning of the first part to that of the second: more than both together."""

PER_PART = 60
LEFT_OUT = DRAWN | {b"SPOP", b"DBSIZE", b"SCAN", b"HLEN", b"FLUSHALL", b"FLUSHDB"}
"""Commands that choose at random, that count what has ended and was not looked at, or that leave nothing."""


def drawn(commands: Commands, random: Random, family: str, *, short: bool) -> list[Command]:
    """Return one part; if ``short``, keys get short times in it."""
    program: list[Command] = []
    for command in commands.program(random, family, PER_PART):
        if command[0].upper() not in LEFT_OUT:
            program.append(command)
        if short and len(command) > 1 and random.random() < 0.4:
            program.append(_with_short_time(random, command[1]))
    return program


def _with_short_time(random: Random, key: bytes) -> Command:
    ms = b"%d" % random.choice(SHORT_MS)
    forms: tuple[Command, ...] = (
        (b"PEXPIRE", key, ms),
        (b"PEXPIRE", key, ms, b"NX"),
        (b"SET", key, b"short", b"PX", ms),
        (b"GETEX", key, b"PX", ms),
        (b"PERSIST", key),
    )
    return random.choice(forms)


def compare_expiring(
    differ: Differ, commands: Commands, *, seed: int, programs: int, tries: int = 20
) -> tuple[int, Difference | None]:
    """Compare ``programs`` programs, a family after the other; returns how many were, and the first difference."""
    random, compared = Random(f"expiring {seed}"), 0
    families = [family for family in commands.families if family != "functions"]
    for number in range(programs * tries):
        if compared == programs:
            break
        family = families[number % len(families)]
        parts = [drawn(commands, random, family, short=short) for short in (True, False)]
        took_ms, found = _difference(differ, parts[0], parts[1])
        if found is not None and took_ms <= PART_MS:
            return compared, found
        compared += took_ms <= PART_MS
    return compared, None


def _difference(differ: Differ, first: Program, second: Program) -> tuple[float, Difference | None]:
    """Return how long the first part took, in ms, and the first difference."""
    model, moment = differ.begin()
    found = differ.compare(model, first, first)
    took_ms = (differ.now_us() - moment.now_us) / 1000
    if found is not None or took_ms > PART_MS:
        return took_ms, found
    time.sleep(max(0.0, PAUSE_MS - took_ms) / 1000)
    moment.now_us = differ.now_us()
    return took_ms, differ.compare(model, [*first, *second], second)
