"""The course of one operation of a state machine: undisturbed, beside others, interrupted, or cut off by a crash."""

from dataclasses import dataclass
from enum import StrEnum


class Activity(StrEnum):
    """Activity of other programs while one stands still."""

    POP = "pop"
    WAIT = "wait"  # for as long as a lease
    REPAIR = "repair"  # look for ended leases


MEANWHILE: tuple[tuple[Activity, ...], ...] = (
    (),
    (Activity.POP,),
    (Activity.REPAIR, Activity.POP),
    (Activity.WAIT, Activity.REPAIR),
    (Activity.POP, Activity.WAIT, Activity.REPAIR),
)


@dataclass(frozen=True)
class ToRest:
    """Nothing else happens until the operation is over and every link is empty, if it can be."""


@dataclass(frozen=True)
class NextStep:
    """The next step begins ``after_ms`` later, whether or not the operation is over."""

    after_ms: int


@dataclass(frozen=True)
class StallBefore:
    """The program stands still for ``for_ms`` before the ``command``-th command, and other steps go on meanwhile.

    The first of them is ``meanwhile``, if it comes to stand: what one other program of each zone does.
    """

    command: int
    for_ms: int
    meanwhile: tuple[Activity, ...] = ()


@dataclass(frozen=True)
class CrashBefore:
    """The program dies before the ``command``-th command. It lives if the operation has fewer."""

    command: int


Course = ToRest | NextStep | StallBefore | CrashBefore
