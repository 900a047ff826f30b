"""A multi-zone cluster testbed and consistency lab for delay queues on Redis.

The public interface is the names in ``__all__`` of this module, ``zonelab.queues``, ``zonelab.testing`` and
``zonelab.runs``. Everything else is internal and may change at any time. Names are loaded when they are first used,
so importing this module costs nothing.

Example::

    from zonelab import Message, connect, queues

    with connect("redis://127.0.0.1:6379") as server, queues.open("jobs", server) as queue:
        queue.push(Message(id="1", payload="hello"))
        for delivery in queue.pop(1, wait_ms=5_000):
            print(delivery.message.payload, queue.ack(delivery))
"""

from typing import TYPE_CHECKING

from zonelab._lazy_names import lazy_names

if TYPE_CHECKING:
    from zonelab._face.server import BlockingServer, Server, connect
    from zonelab.cluster.zone import ClusterError
    from zonelab.engine.message import Delivery, Message, Receipt
    from zonelab.engine.ports import Indeterminate, ServerError, Unavailable
    from zonelab.scenarios.errors import ScenarioError

    from . import queues, runs, testing

__all__ = [
    "BlockingServer",
    "ClusterError",
    "Delivery",
    "Indeterminate",
    "Message",
    "Receipt",
    "ScenarioError",
    "Server",
    "ServerError",
    "Unavailable",
    "connect",
    "queues",
    "runs",
    "testing",
]

_HOMES = {
    "BlockingServer": "zonelab._face.server",
    "ClusterError": "zonelab.cluster.zone",
    "Delivery": "zonelab.engine.message",
    "Indeterminate": "zonelab.engine.ports",
    "Message": "zonelab.engine.message",
    "Receipt": "zonelab.engine.message",
    "ScenarioError": "zonelab.scenarios.errors",
    "Server": "zonelab._face.server",
    "ServerError": "zonelab.engine.ports",
    "Unavailable": "zonelab.engine.ports",
    "connect": "zonelab._face.server",
    "queues": "zonelab.queues",
    "runs": "zonelab.runs",
    "testing": "zonelab.testing",
}


if not TYPE_CHECKING:  # lest every name that is not there be Any
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
