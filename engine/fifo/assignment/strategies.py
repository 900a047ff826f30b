"""RocketMQ's strategies of sharing partitions out among members."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import md5

from zonelab.engine.fifo.partition import Partition

Strategy = Callable[[str, Sequence[str], Sequence[Partition]], list[Partition]]
"""Takes a member, all members and all partitions, both sorted; gives what the member gets.

A member that is not among ``members`` gets nothing.
"""

VIRTUAL_NODES = 10
"""Places of each member on the ring of ``by_consistent_hash``."""


def average(member: str, members: Sequence[str], partitions: Sequence[Partition]) -> list[Partition]:
    """Contiguous blocks; the first members get one more if the division leaves a remainder."""
    if member not in members:
        return []
    place = members.index(member)
    share, rest = divmod(len(partitions), len(members))
    start = place * share + min(place, rest)
    return list(partitions[start : start + share + (place < rest)])


def in_a_circle(member: str, members: Sequence[str], partitions: Sequence[Partition]) -> list[Partition]:
    """One to each in turn."""
    return list(partitions[members.index(member) :: len(members)]) if member in members else []


def by_consistent_hash(member: str, members: Sequence[str], partitions: Sequence[Partition]) -> list[Partition]:
    """Each partition goes to the next member on a ring of hashes, so that few move when a member joins or leaves."""
    if member not in members:
        return []
    ring = _ring(tuple(members))
    places = [place for place, _ in ring]
    return [each for each in partitions if ring[bisect_left(places, _ring_place(_text(each))) % len(ring)][1] == member]


def room_nearby(*, room_of: Callable[[str], str]) -> Strategy:
    """By zones: what is at home in a zone goes to the members there, and to all members if none is there.

    ``room_of``: the zone of a member. ``average`` shares out among them. The strategy raises ``ValueError`` for a
    member or a partition without a zone; who catches it leaves everything as it is.
    """

    def assign(member: str, members: Sequence[str], partitions: Sequence[Partition]) -> list[Partition]:
        if member not in members:
            return []
        rooms = {each: _known(room_of(each), each) for each in members}
        mine: list[Partition] = []
        for home in sorted({_known(each.home, _text(each)) for each in partitions}):
            near = [each for each in members if rooms[each] == home]
            mine += average(member, near or members, [each for each in partitions if each.home == home])
        return sorted(mine)

    return assign


def strategy(name: str, *, room_of: Callable[[str], str]) -> Strategy:
    """The strategy called ``name``. Raises ``ValueError`` if there is none."""
    known: Mapping[str, Strategy] = {
        "average": average,
        "circle": in_a_circle,
        "consistent-hash": by_consistent_hash,
        "room-nearby": room_nearby(room_of=room_of),
    }
    if name not in known:
        raise ValueError(f"assignment must be one of {', '.join(known)}, got {name!r}")
    return known[name]


def _known(room: str, whose: str) -> str:
    if not room:
        raise ValueError(f"zone of {whose} must be a non-empty string, got {room!r}")
    return room


@cache
def _ring(members: tuple[str, ...]) -> list[tuple[int, str]]:
    return sorted((_ring_place(f"{member}-{number}"), member) for member in members for number in range(VIRTUAL_NODES))


def _ring_place(text: str) -> int:
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4])


def _text(partition: Partition) -> str:
    """Return the partition as RocketMQ writes a queue, whose place on the ring depends on it."""
    return f"MessageQueue [topic={partition.topic}, brokerName={partition.home}, queueId={partition.number}]"
