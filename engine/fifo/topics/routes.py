"""The route of a topic as the zones keep it, as RocketMQ's name server does."""

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.scripts import run
from zonelab.engine.fifo.topics.route import TopicRoute
from zonelab.engine.ports import Connection, ServerError


class RouteChanged(ServerError):
    """Somebody else has changed the route meanwhile; nothing was done."""


class Routes:
    """The route of ``topic``, whose partitions have their homes in ``zones`` in turn. Each call is one round trip."""

    def __init__(self, topic: str, *, zones: tuple[str, ...], level: Connection, keys: FifoKeys) -> None:
        self._topic, self._zones, self._level, self._key = topic, zones, level, keys.route(topic)

    async def read(self) -> TopicRoute | None:
        """None: the topic was not created."""
        (raw,) = await read(self._level, [("GET", self._key)])
        return None if raw is None else TopicRoute.parse(raw.decode(), topic=self._topic, zones=self._zones)

    async def create(self, count: int) -> TopicRoute:
        """With ``count`` partitions, unless it is there; as it is now."""
        new = TopicRoute(topic=self._topic, zones=self._zones, write=count, read=count)
        if await self._put("", new):
            return new
        known = await self.read()
        if known is None:
            raise RouteChanged(f"topic {self._topic} was created and is not there")
        return known

    async def change(self, old: TopicRoute, new: TopicRoute) -> TopicRoute:
        """``new`` in place of ``old``. Raises ``RouteChanged`` if that is not what is there."""
        if not await self._put(old.text(), new):
            raise RouteChanged(f"the route of topic {self._topic} is no longer {old.text()}")
        return new

    async def _put(self, expected: str, new: TopicRoute) -> bool:
        (done,) = await write(self._level, [run("change_route", [self._key], expected, new.text())], name="route")
        return bool(done)
