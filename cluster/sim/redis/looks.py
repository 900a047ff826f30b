"""Looks for what is due. Most find nothing, and a server knows that without reading their words."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from zonelab.engine.ports import Argument, Command

_EXACT_MAX = 1 << 53
"""Doubles hold all integers below."""

_OPTIONS: tuple[tuple[Argument, ...], ...] = (("LIMIT",), ("WITHSCORES", "LIMIT"))


class Look(NamedTuple):
    """A command that is answered with an empty list unless ``key`` has a member of a score up to ``up_to``."""

    key: bytes
    up_to: float


def looks_of(commands: Sequence[Command]) -> list[Look]:
    """Return what a pipeline looks for, if all its commands do, as queues write them and without errors; else none."""
    looks: list[Look] = []
    for command in commands:
        if command[0] == "ZRANGEBYSCORE" and command[4:-2] in _OPTIONS:
            up_to, numbers = command[3], command[2:4] + command[-2:]
        elif command[0] == "ZRANGE" and len(command) == 4:
            up_to, numbers = math.inf, command[2:]
        else:
            return []
        if type(command[1]) is not str or not all(map(_is_exact, numbers)):
            return []
        looks.append(Look(command[1].encode(), up_to))  # type: ignore[arg-type]
    return looks


def _is_exact(number: Argument) -> bool:
    return type(number) is int and -_EXACT_MAX < number < _EXACT_MAX
