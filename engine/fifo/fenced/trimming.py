"""Trimming of a log: up to the slowest group, as two zones show all of them."""

from collections.abc import Collection

from zonelab.engine.fifo.fenced.cursor import CursorState
from zonelab.engine.fifo.fenced.keys import SEAL_REGISTER, group_register
from zonelab.engine.fifo.fenced.views import Views
from zonelab.engine.fifo.partition import Partition


async def groups_of(views: Views, partition: Partition) -> list[str]:
    """Groups that have begun with ``partition``, or asked to own it. Raises ``Unadmitted``."""
    found = await views.admitted(partition, [SEAL_REGISTER], ("HKEYS", views.keys.registers(partition)))
    prefix = group_register("")
    names = dict.fromkeys(raw.decode() for view in found for raw in view.more[0])
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))


async def slowest_cursor(views: Views, partition: Partition, *, expected: Collection[str] = ()) -> int | None:
    """Return the slowest cursor of all groups. None if there is none, if one is about to begin, or if no two zones
    agree on one.

    Nor before all those ``expected`` have begun: after a resize the members of one may come to a new partition late.

    A cursor of those of one that two zones show was decided, and never falls. Raises ``Unadmitted``.
    """
    groups = await groups_of(views, partition)
    if not groups or not set(groups).issuperset(expected):
        return None
    shown = await views.alike(partition, *map(group_register, groups))
    if shown is None or not all(view.state for view in shown):
        return None
    return min(CursorState.parse(view.state).progress.cursor for view in shown)
