"""A V1 queue on one server with a clock that stands still, and what the tests of its further operations share."""

from support.engine.dyno import EPOCH_MS, OnServer, content, fresh_name, make_queue

from zonelab.engine.dyno import LocalOnly
from zonelab.engine.message import Message

LEASE_MS = 1000
X = Message(id="x", payload="p", priority=7)


class DynoBench(OnServer):
    """A V1 queue with the shards a, b and c that serves a and, unless told otherwise, pushes there."""

    def __init__(self, lab, **settings):
        super().__init__(lab, compat=settings.get("compat", False), now_ms=settings.pop("now_ms", EPOCH_MS))
        self.settings = {"name": fresh_name(), "unack_ms": LEASE_MS, "strategy": LocalOnly("a"), **settings}
        self.queue = self.another()

    def another(self, connection=None, **settings):
        """Another program's object of the same queue."""
        values = {**self.settings, **settings}
        return make_queue(connection or self.direct, runtime=self.lab.runtime, clock=self.clock, **values)

    def __call__(self, operation):
        return self.run(operation)

    def push(self, *messages, into="a", **fields):
        """Messages, or the ids of messages with ``fields``."""
        made = [each if isinstance(each, Message) else Message(id=each, **fields) for each in messages]
        self(self.another(strategy=LocalOnly(into)).push(made))

    def lease(self, *messages):
        """Push and pop them."""
        self.push(*messages)
        assert len(self.pop(len(messages))) == len(messages)

    def pop(self, count, **options):
        return ids(self(self.queue.pop(count, **options)))

    def peek(self, count):
        return [message.id for message in self(self.queue.peek(count))]

    def lease_of(self, message_id, shard="a"):
        self.redis("ZADD", self.queue.keys.unack(shard), self.clock.now_ms() + LEASE_MS, message_id)

    def store_payload(self, message_id, raw):
        self.redis("HSET", self.queue.keys.messages, message_id, raw)

    def drop_payload(self, message_id):
        self.redis("HDEL", self.queue.keys.messages, message_id)

    def content(self):
        return self(content(self.direct, self.queue.keys))

    def states(self, *ids):
        found = self.content()
        return [found.state(message_id) for message_id in ids]


def messages(*ids, **fields):
    return [Message(id=message_id, **fields) for message_id in ids]


def ids(deliveries):
    return [delivery.message.id for delivery in deliveries]


async def consume(queue, message_id):
    assert await queue.pop_with_id(message_id) is not None
    assert await queue.ack(message_id)
