"""Messages, which go into a queue, and deliveries, which come out of it."""

from dataclasses import dataclass, field

PRIORITY_MIN = 0
PRIORITY_MAX = 99


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message as its producer made it.

    ``id`` is a text that is not empty, ``payload`` a text that may be. ``shard``: of a message that comes out, the
    shard that had it; the engine chooses it. ``timeout_ms`` is the delay before it may be delivered. ``priority`` runs
    from 0 to 99 and a smaller number is served first (the order dyno-queues really has, whatever its Javadoc says).
    Messages are equal if their ``id`` is equal, as in dyno-queues: a redelivery equals the first delivery even if its
    payload was replaced.

    ``topic``: where it is put, of a queue that has several; None: where the queue puts what names none. ``key``: what
    must be served in order, of a queue that knows orders. ``lease_ms``: a lease of its own instead of the queue's; 0 is
    none, at most once. A queue ignores the fields that it does not support.

    Raises:
        ValueError: for an empty id, a priority out of range, an empty topic, or a negative lease.

    Example::

        soon = Message(id="1", payload="hello", timeout_ms=5_000, priority=10)
        print(soon == Message(id="1", payload="hello again"))  # True
    """

    id: str
    payload: str = field(default="", compare=False)
    timeout_ms: int = field(default=0, compare=False)
    priority: int = field(default=0, compare=False)
    shard: str | None = field(default=None, compare=False)
    topic: str | None = field(default=None, compare=False)
    key: str | None = field(default=None, compare=False)
    lease_ms: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ValueError(f"message id must be a non-empty string, got {self.id!r}")
        if not PRIORITY_MIN <= self.priority <= PRIORITY_MAX:
            raise ValueError(f"priority must be {PRIORITY_MIN}..{PRIORITY_MAX}, got {self.priority}")
        if self.topic == "":
            raise ValueError("topic must be a non-empty string or None, got ''")
        if self.lease_ms is not None and self.lease_ms < 0:
            raise ValueError(f"lease_ms must be at least 0 or None, got {self.lease_ms}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """Proof of an acknowledged push: where the message was put and when it becomes due.

    ``id``: of the message. ``shard``: the shard, or the partition of a topic, that has it. ``due_ms``: Unix time in ms.

    Example::

        with cluster("sim") as lab, queues.open("jobs", lab) as queue:
            now, later = queue.push([Message(id="1"), Message(id="2", timeout_ms=60_000)])
            print(now.id, later.due_ms - now.due_ms >= 60_000)  # 1 True
    """

    id: str
    shard: str
    due_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """One delivery of a message.

    The lease was written between ``lease_start_ms`` (read just before) and ``leased_ms`` (read just after the
    servers confirmed it); it ends at ``lease_end_ms`` unless extended. All three are the wall clock of the node
    that popped. A checker needs both bounds: it may call two deliveries concurrent only if no order of the
    writes inside the bounds makes them legal. ``token`` names the lease where a queue gives leases names. ``shard``:
    the shard that had the message.

    Example::

        with cluster("sim", zones=("a",)) as lab, queues.open("jobs", lab, unack_ms=30_000) as queue:
            queue.push(Message(id="1", payload="hello"))
            (delivery,) = queue.pop(1, wait_ms=5_000)
            print(delivery.message.payload, delivery.lease_end_ms - delivery.lease_start_ms)  # hello 30000
    """

    message: Message
    shard: str
    lease_start_ms: int
    leased_ms: int
    lease_end_ms: int
    token: str = ""


def id_of(message: str | Delivery) -> str:
    """The id of a message that is given by its id or by a delivery of it."""
    return message if isinstance(message, str) else message.message.id
