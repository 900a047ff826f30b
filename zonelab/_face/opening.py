"""Opening of queues and topics on servers, clusters and URLs, with checked settings."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar

from zonelab._face.host import BlockingPlace, QueuePlace, SharedQueue
from zonelab._face.ordered import BlockingOrderedQueue, OrderedQueue
from zonelab._face.queue import BlockingDelayQueue, DelayQueue
from zonelab._face.queue_scenario import cluster_document, queue_scenario
from zonelab._face.server import ONLY_ZONE, ServerOpening, connect
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.spec.scenario import Scenario

Settings = Mapping[str, Any]
Made = TypeVar("Made", DelayQueue, OrderedQueue)
Blocked = TypeVar("Blocked", BlockingDelayQueue, BlockingOrderedQueue)

_OF_SEVERAL = ("hardened", "fenced")
"""Modes that ask each zone by itself."""


def open_queue(name: str, where: Any, settings: Settings) -> Any:
    """Return a queue at ``where``; arguments and errors are those of ``zonelab.queues.open``."""
    if isinstance(where, str):
        _checked(name, cluster_document((ONLY_ZONE,), real=True), settings, ordered=False)
        return QueueOpening(connect(where, level=settings["level"]), name, settings)
    queue = DelayQueue(*_shared(name, where, settings, ordered=False))
    return BlockingDelayQueue(queue, where._runner) if isinstance(where, BlockingPlace) else queue


def open_topic(name: str, where: Any, settings: Settings) -> Any:
    """Return a topic at ``where``; arguments and errors are those of ``zonelab.queues.open_ordered``."""
    if isinstance(where, str):
        _checked(name, cluster_document((ONLY_ZONE,), real=True), settings, ordered=True)
        return OrderedOpening(connect(where, level=settings["level"]), name, settings)
    topic = OrderedQueue(*_shared(name, where, settings, ordered=True))
    if isinstance(where, BlockingPlace):
        return BlockingOrderedQueue(topic, where._runner, in_threads=not where._is_simulated)
    return topic


class _Opening(Generic[Made, Blocked]):
    """Queue with a connection of its own: ``async with`` gives ``Made``, ``with`` gives ``Blocked``."""

    _open: Callable[[str, Any, Settings], Any]

    def __init__(self, server: ServerOpening, name: str, settings: Settings) -> None:
        self._server, self._name, self._settings = server, name, settings
        self._made: Any = None

    async def __aenter__(self) -> Made:
        server = await self._server.__aenter__()
        try:
            made: Made = type(self)._open(self._name, server, self._settings)
            await made.start()
        except BaseException:
            await self._server.__aexit__(None, None, None)
            raise
        return made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    def __enter__(self) -> Blocked:
        server = self._server.__enter__()
        try:
            made: Blocked = type(self)._open(self._name, server, self._settings)
            made.start()
        except BaseException:
            self._server.__exit__(None, None, None)
            raise
        return made

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)


class QueueOpening(_Opening[DelayQueue, BlockingDelayQueue]):
    """A delay queue at a URL: ``async with`` gives a ``DelayQueue``, ``with`` a ``BlockingDelayQueue``."""

    _open = staticmethod(open_queue)


class OrderedOpening(_Opening[OrderedQueue, BlockingOrderedQueue]):
    """A topic at a URL: ``async with`` gives an ``OrderedQueue``, ``with`` a ``BlockingOrderedQueue``."""

    _open = staticmethod(open_topic)


def _shared(name: str, where: Any, settings: Settings, *, ordered: bool) -> tuple[SharedQueue, str]:
    place = where._place if isinstance(where, BlockingPlace) else where
    if not isinstance(place, QueuePlace):
        accepted = "what connect or testing.cluster gives within its block, or a URL"
        raise ClusterError(f"queues.open: got {where!r}; accepted: {accepted}")
    host = place._host
    zone = settings["zone"] or place.zone
    if zone not in place.zones:
        raise ClusterError(f"zone: got {zone!r}; accepted: {', '.join(place.zones)}")
    scenario = _checked(name, host.document, settings, ordered=ordered)
    if place.is_port and scenario.queue.mode in _OF_SEVERAL:
        words = f"queues.open: queue.mode: got {scenario.queue.mode.value!r} at the port of one zone"
        raise ScenarioError([f"{words}; accepted: default, or a connection to the servers of all zones"])
    return host.shared(name, settings["prefix"], scenario), zone


def _checked(name: str, document: Mapping[str, Any], settings: Settings, *, ordered: bool) -> Scenario:
    given = {key: settings[key] for key in ("engine", "mode", "level", "batch", "options")}
    source = "queues.open_ordered" if ordered else "queues.open"
    scenario = queue_scenario(document, name, **given, source=source)
    if scenario.has_groups and not ordered:
        got = f"{source}: queue.engine: got {settings['engine']!r}, whose messages are handed to listeners"
        raise ScenarioError([f"{got}; accepted: zonelab.queues.open_ordered"])
    return scenario
