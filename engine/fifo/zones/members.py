"""Members of a consumer group, by heartbeats.

A program whose connections close is removed at once by whoever notices that (``leave``); one that stands still is
removed when it was silent for the expiry, without a notice to anybody.
"""

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.scripts import run
from zonelab.engine.ports import Connection


class Members:
    """The members of ``group``. Silent members are looked for every ``scan_ms``. ``near``: the connection that is asked
    for changes.
    """

    def __init__(
        self, group: str, *, level: Connection, near: Connection, keys: FifoKeys, expiry_ms: int, scan_ms: int
    ) -> None:
        self._level, self._near = level, near
        self._members, self._membership = keys.members(group), keys.membership(group)
        self._expiry_ms, self._scan_ms = expiry_ms, scan_ms

    async def heartbeat(self, member: str, *, topics: str = "") -> None:
        """Register the member if it is not yet one, with its subscription to ``topics``."""
        await write(self._level, [run("heartbeat", self._keys, member, topics)], name="heartbeat")

    async def leave(self, member: str) -> None:
        await write(self._level, [run("leave", self._keys, member)], name="leave")

    async def names(self) -> list[str]:
        """All members, sorted."""
        (names,) = await write(
            self._level, [run("members", self._keys, self._expiry_ms, self._scan_ms)], name="members"
        )
        return [name.decode() for name in names]

    async def changes(self) -> int:
        """A number that grows when a member joins, leaves, or subscribes to something else."""
        (raw,) = await read(self._near, [("HGET", self._membership, "changes")])
        return int(raw or 0)

    @property
    def _keys(self) -> list[str]:
        return [self._members, self._membership]
