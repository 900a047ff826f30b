"""Consistency levels: how many zones' replies a coordinator waits for."""

from dataclasses import dataclass
from enum import StrEnum


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


@dataclass(frozen=True, slots=True)
class Levels:
    """A connection's level for reads and its level for writes, where they differ."""

    read: Level
    write: Level

    def __str__(self) -> str:
        return f"{self.read}/{self.write}"


Setting = Level | Levels
"""What a connection has: one level for all it does, or one each for reads and writes."""


def read_level(setting: Setting) -> Level:
    return setting.read if isinstance(setting, Levels) else setting


def write_level(setting: Setting) -> Level:
    return setting.write if isinstance(setting, Levels) else setting


def level_named(word: bytes) -> Level | None:
    """Returns the level with whose name ``word`` begins, in any case, as Dynomite reads it (``dyn_message.c``)."""
    wanted = word.decode("ascii", "replace").upper()
    return max((level for level in Level if wanted.startswith(level.value)), key=len, default=None)


LEVELS_OF_ONE_DC = (Level.DC_ONE, Level.DC_QUORUM, Level.DC_SAFE_QUORUM)
"""Levels that differ from each other within a data centre."""
