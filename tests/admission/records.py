"""Records of a log, which lie beside the state that tells where they begin. Sets of offsets are bits."""

from typing import NamedTuple

from admission.mechanisms import Mechanism, World


class Span(NamedTuple):
    """What a state tells of the records beside it."""

    first: int = 0
    """Records in front of it are trimmed."""

    floor: int = 0
    """No group that has no cursor yet begins in front of it."""

    since: int = 0
    """Where the last write of records began."""


def between(begin: int, end: int) -> int:
    """The offsets from ``begin`` to the one before ``end``."""
    return (1 << max(begin, end)) - (1 << begin)


def taken(world: World, held: int, brought: int, *, first: int, was: int, behind: int) -> int:
    """What a zone has after it took a write: what lay in front of ``first`` goes, then what the write brings comes.

    ``was``: where the log began that the zone had. ``behind``: where the one began that the writer had.
    """
    low = was if world.has(Mechanism.FIRST_IN_STATE) else behind
    return held & ~between(low, first) | brought


def copied(world: World, held: int, first: int) -> int:
    """What a zone is given of what others have."""
    return held & ~between(0, first) if world.has(Mechanism.COPY_FROM_FIRST) else held
