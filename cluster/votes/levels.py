"""Consistency levels, the rule of each, and how a vote by such a rule ends."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal, assert_never

from zonelab.cluster.commands.routes import CommandRoute


class Decision(StrEnum):
    """The way in which a vote ended."""

    LOCAL = "local"  # the own zone's answer, good or error
    AGREED = "agreed"  # the first replies that could decide were equal
    MAJORITY = "majority"  # the first good replies differed, but then a quorum of equal ones came together
    FIRST_ARRIVED = "first_arrived"  # no quorum of equal ones: whichever reply came first
    NEWEST = "newest"  # votes by version: the first good replies that made a quorum had different versions
    BY_ELEMENT = "by_element"  # MGET, no quorum of equal ones: put together of elements of different replies
    NO_QUORUM = "no_quorum"  # no quorum of equal ones: an error
    ERRORS = "errors"  # too many errors for a quorum: the first of them


class VoteBy(StrEnum):
    """The criterion between differing replies of a quorum."""

    VALUE = "value"  # Dynomite's rule: equal values, or whichever came first
    VERSION = "version"  # the newest version


def quorum(zones: int) -> int:
    """Return the smallest majority."""
    return zones // 2 + 1


@dataclass(frozen=True, kw_only=True)
class LevelRule:
    """A level's rule: what it asks of the zones.

    ``on_disagreement``: how a vote ends when no quorum of replies is equal: with the own zone's reply, which then
    decides every vote alone; with the first reply to arrive; or with an error.
    ``quorum``: the number of equal replies without an error that decide a vote, by the number of zones.
    ``sorted_sets``: ``SMEMBERS`` is sent as a ``SORT``, so that equal sets are equal replies.
    ``other_dcs``: the level at which every other data centre has to agree, too. Without one, reads stay in the own data
    centre, and nobody waits for the writes that go to others.
    """

    on_disagreement: Literal[Decision.LOCAL, Decision.FIRST_ARRIVED, Decision.NO_QUORUM]
    quorum: Callable[[int], int] = quorum
    sorted_sets: bool = False
    other_dcs: "Level | None" = None

    @property
    def is_local(self) -> bool:
        """The own zone's reply decides alone, and reads go to no other zone."""
        return self.on_disagreement is Decision.LOCAL

    def needed(self, zones: int) -> int:
        """Return how many equal replies without an error decide a vote; 0 where the own zone's reply does."""
        return 0 if self.is_local else self.quorum(zones)


class Level(StrEnum):
    """A consistency level: the replies that a coordinator waits for. Writes go to every zone at each level.

    ``DC_ONE``: its own zone's server. ``DC_QUORUM``: a majority of zones. ``DC_SAFE_QUORUM``: a majority whose answers
    are equal. ``DC_EACH_SAFE_QUORUM``: such a majority in every data centre.

    Example::

        with cluster("sim", level=Level.DC_SAFE_QUORUM) as lab, queues.open("jobs", lab) as queue:
            print(queue.push(Message(id="1"))[0].id)  # 1
    """

    DC_ONE = "DC_ONE"
    DC_QUORUM = "DC_QUORUM"
    DC_SAFE_QUORUM = "DC_SAFE_QUORUM"
    DC_EACH_SAFE_QUORUM = "DC_EACH_SAFE_QUORUM"
    """DC_SAFE_QUORUM in every data centre by itself, and all must answer; with one data centre the same as that."""

    @cached_property
    def rule(self) -> LevelRule:
        """The rule of this level."""
        match self:
            case Level.DC_ONE:
                return LevelRule(on_disagreement=Decision.LOCAL)
            case Level.DC_QUORUM:
                return LevelRule(on_disagreement=Decision.FIRST_ARRIVED)
            case Level.DC_SAFE_QUORUM:
                return LevelRule(on_disagreement=Decision.NO_QUORUM, sorted_sets=True)
            case Level.DC_EACH_SAFE_QUORUM:
                return LevelRule(on_disagreement=Decision.NO_QUORUM, other_dcs=Level.DC_SAFE_QUORUM)
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class Levels:
    """A connection's level for reads and its level for writes, where they differ."""

    read: Level
    write: Level

    def __str__(self) -> str:
        return f"{self.read}/{self.write}"


Setting = Level | Levels
"""A connection's setting: one level for all it does, or one each for reads and writes."""


def read_level(setting: Setting) -> Level:
    return setting.read if isinstance(setting, Levels) else setting


def write_level(setting: Setting) -> Level:
    return setting.write if isinstance(setting, Levels) else setting


def level_of(setting: Setting, kind: CommandRoute) -> Level:
    """Return the level of commands of ``kind``: DC_ONE for those that are neither reads of every zone nor writes."""
    match kind:
        case CommandRoute.READ:
            return read_level(setting)
        case CommandRoute.WRITE:
            return write_level(setting)
        case CommandRoute.LOCAL_READ | CommandRoute.BROADCAST:
            return Level.DC_ONE
        case unknown:
            assert_never(unknown)


def level_named(word: bytes) -> Level | None:
    """Returns the level with whose name ``word`` begins, in any case, as Dynomite reads it (``dyn_message.c``)."""
    wanted = word.decode("ascii", "replace").upper()
    return max((level for level in Level if wanted.startswith(level.value)), key=len, default=None)


LEVELS_OF_ONE_DC = tuple(level for level in Level if level.rule.other_dcs is None)
"""Levels that differ from each other within a data centre."""
