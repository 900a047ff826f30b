"""Queues in your own programs: ``open`` for delay queues, ``open_ordered`` for ordered messages.

Engines, their modes and options are those of the ``queue:`` section of a scenario (docs/engines.md); so are the errors.

Example::

    from zonelab import Message, queues

    with queues.open("jobs", "redis://127.0.0.1:6379") as queue:
        queue.push(Message(id="1", payload="hello"))
        for delivery in queue.pop(1, wait_ms=5_000):
            print(delivery.message.payload, queue.ack(delivery))
"""

from typing import TYPE_CHECKING, Any, overload

from zonelab._lazy_names import lazy_names

if TYPE_CHECKING:
    from zonelab._face.cluster import AsyncCluster, Cluster
    from zonelab._face.opening import OrderedOpening, QueueOpening
    from zonelab._face.ordered import BlockingOrderedQueue, OrderedQueue
    from zonelab._face.queue import BlockingDelayQueue, DelayQueue
    from zonelab._face.server import BlockingServer, Server
    from zonelab.engine.fifo.consumer.listener import BatchContext, BatchMessage, ConsumeStatus

__all__ = [
    "BatchContext",
    "BatchMessage",
    "BlockingDelayQueue",
    "BlockingOrderedQueue",
    "ConsumeStatus",
    "DelayQueue",
    "OrderedQueue",
    "open",
    "open_ordered",
]

_HOMES = {
    "BlockingDelayQueue": "zonelab._face.queue",
    "BlockingOrderedQueue": "zonelab._face.ordered",
    "DelayQueue": "zonelab._face.queue",
    "BatchMessage": "zonelab.engine.fifo.consumer.listener",
    "BatchContext": "zonelab.engine.fifo.consumer.listener",
    "OrderedQueue": "zonelab._face.ordered",
    "ConsumeStatus": "zonelab.engine.fifo.consumer.listener",
}


@overload
def open(  # noqa: A001 (as in io, gzip and others)
    name: str,
    where: "Server | AsyncCluster",
    *,
    engine: str = "dyno",
    mode: str | None = None,
    zone: str | None = None,
    level: str | None = None,
    prefix: str | None = None,
    **options: object,
) -> "DelayQueue": ...
@overload
def open(  # noqa: A001 (as in io, gzip and others)
    name: str,
    where: "BlockingServer | Cluster",
    *,
    engine: str = "dyno",
    mode: str | None = None,
    zone: str | None = None,
    level: str | None = None,
    prefix: str | None = None,
    **options: object,
) -> "BlockingDelayQueue": ...
@overload
def open(  # noqa: A001 (as in io, gzip and others)
    name: str,
    where: str,
    *,
    engine: str = "dyno",
    mode: str | None = None,
    zone: str | None = None,
    level: str | None = None,
    prefix: str | None = None,
    **options: object,
) -> "QueueOpening": ...
def open(  # noqa: A001 (as in io, gzip and others)
    name: str,
    where: Any,
    *,
    engine: str = "dyno",
    mode: str | None = None,
    zone: str | None = None,
    level: str | None = None,
    prefix: str | None = None,
    **options: object,
) -> Any:
    """Open the queue ``name``, to be used in ``with`` or ``async with`` as ``where`` is.

    Args:
        name: name of the queue; for an engine with topics, of the topic.
        where: a connection of ``zonelab.connect``, a cluster of ``zonelab.testing.cluster``, or a URL for ``connect``.
        engine: ``zonelab engines`` lists them; with ``factory="MODULE:FUNCTION"`` a queue of your own.
        mode: ``default`` or ``hardened``, as far as the engine has them.
        zone: the zone in which this program is; that of ``where`` if not given.
        level: consistency level; that of ``where`` if not given.
        prefix: prefix of the queue's keys; the engine's own if not given.
        options: further options of the engine, such as ``unack_ms``, the length of a lease in ms.

    Returns:
        A ``DelayQueue``, or a ``BlockingDelayQueue`` where ``where`` is blocking; for a URL, an object that yields the
        former in ``async with`` and the latter in ``with``.

    Raises:
        ScenarioError: for an unknown engine, mode or option, with the accepted ones, as on the command line.
        ClusterError: if ``where`` is closed, or the queue cannot be opened there.

    Example::

        with cluster("sim", zones=("a",)) as lab:
            with queues.open("jobs", lab, mode="hardened", unack_ms=10_000) as queue:
                queue.push(Message(id="1"))
                print(len(queue.pop(1, wait_ms=5_000)))  # 1
    """
    from zonelab._face.opening import open_queue

    settings = {"engine": engine, "mode": mode, "zone": zone, "level": level, "prefix": prefix, "options": options}
    return open_queue(name, where, {**settings, "batch": 1})


@overload
def open_ordered(
    name: str,
    where: "Server | AsyncCluster",
    *,
    mode: str | None = None,
    zone: str | None = None,
    level: str | None = None,
    prefix: str | None = None,
    batch: int = 1,
    **options: object,
) -> "OrderedQueue": ...
@overload
def open_ordered(
    name: str,
    where: "BlockingServer | Cluster",
    *,
    mode: str | None = None,
    zone: str | None = None,
    level: str | None = None,
    prefix: str | None = None,
    batch: int = 1,
    **options: object,
) -> "BlockingOrderedQueue": ...
@overload
def open_ordered(
    name: str,
    where: str,
    *,
    mode: str | None = None,
    zone: str | None = None,
    level: str | None = None,
    prefix: str | None = None,
    batch: int = 1,
    **options: object,
) -> "OrderedOpening": ...
def open_ordered(
    name: str,
    where: Any,
    *,
    mode: str | None = None,
    zone: str | None = None,
    level: str | None = None,
    prefix: str | None = None,
    batch: int = 1,
    **options: object,
) -> Any:
    """Open the topic ``name`` of ordered messages (engine fifo): producers push, listeners receive.

    Messages of one ``key`` come out in the order in which they were pushed, one after the other.

    Args:
        name: name of the topic.
        where: as for ``open``.
        mode: ``rocketmq-5.3`` if not given, ``rocketmq-4.9`` or ``fenced``.
        zone: as for ``open``.
        level: as for ``open``.
        prefix: as for ``open``.
        batch: number of messages that a listener receives in one call, at most.
        options: further options of the engine, such as ``partitions`` and ``group`` (docs/fifo.md).

    Returns:
        An ``OrderedQueue``, or a ``BlockingOrderedQueue`` where ``where`` is blocking; for a URL, an object that
        yields the former in ``async with`` and the latter in ``with``.

    Raises:
        ScenarioError: for an unknown mode or option, with the accepted ones, as on the command line.
        ClusterError: if ``where`` is closed, or the topic cannot be opened there.

    Example::

        with queues.open_ordered("orders", "redis://127.0.0.1:6379") as orders:
            for state in ("create", "pay", "ship"):
                orders.push(Message(id=f"1-{state}", key="order-1", payload=state))
            with orders.listen(lambda delivered, handling: print(delivered[0].record.body)):
                orders.wait_empty(timeout_s=10)
    """
    from zonelab._face.opening import open_topic

    settings = {"engine": "fifo", "mode": mode, "zone": zone, "level": level, "prefix": prefix, "options": options}
    return open_topic(name, where, {**settings, "batch": batch})


if not TYPE_CHECKING:  # lest every name that is not there be Any
    __getattr__ = lazy_names(__name__, _HOMES)
