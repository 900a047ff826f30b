"""The blocking façade offers every operation of the queue, as an ordinary call with the same parameters.

Method: signatures compared by introspection; one pass through all calls on a simulated server; then an event loop in
a background thread, as an ordinary program would have it.
"""

import asyncio
import inspect
import threading

import pytest
from support.engine.dyno import SettableClock, make_queue

from zonelab.engine.dyno import DynoQueue, LocalOnly, ShardSize
from zonelab.engine.dyno.v1.blocking import BlockingDynoQueue, BlockingQueue
from zonelab.engine.message import Message
from zonelab.engine.ports import Unavailable


def operations(kind):
    return {
        name: [
            (parameter.name, parameter.kind, parameter.default)
            for parameter in inspect.signature(member).parameters.values()
        ]
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_every_operation_is_there_with_the_same_parameters():
    assert operations(BlockingDynoQueue) == operations(DynoQueue)


def test_no_operation_of_the_facade_is_a_coroutine_and_each_of_the_queue_is():
    facade = BlockingDynoQueue
    assert not any(inspect.iscoroutinefunction(getattr(facade, name)) for name in operations(facade))
    queue = [inspect.unwrap(getattr(DynoQueue, name)) for name in operations(DynoQueue)]
    assert all(inspect.iscoroutinefunction(operation) for operation in queue)


def test_an_ordinary_program_can_use_the_queue(lab):
    clock = SettableClock()
    queue = make_queue(lab.direct("a"), runtime=lab.runtime, clock=clock, strategy=LocalOnly("a"), unack_ms=1000)
    with BlockingQueue(queue, lab.run) as blocking:
        x, y = Message(id="x", payload="p"), Message(id="y")
        assert blocking.name == queue.name
        assert [receipt.id for receipt in blocking.push([x])] == ["x"]
        assert (blocking.ensure(x), blocking.ensure(y)) == (False, True)
        assert (blocking.size(), blocking.peek(5)) == (2, [x, y])
        assert blocking.set_timeout("y", timeout_ms=500) is True
        assert [delivery.message.payload for delivery in blocking.pop(2, wait_ms=1)] == ["p"]
        assert blocking.shard_sizes()["a"] == ShardSize(waiting=1, unacked=1)
        assert blocking.set_unack_timeout("x", timeout_ms=10) is True
        clock.advance(500)
        assert blocking.process_unacks().requeued == 1
        assert sorted(delivery.message.id for delivery in blocking.pop(2)) == ["x", "y"]
        assert (blocking.ack("x"), blocking.ack_all(["x", "y"])) == (True, [False, True])
        assert (blocking.get("x"), blocking.remove("x")) == (None, False)
        blocking.push([x])
        blocking.clear()
        assert blocking.size() == 0


def test_what_v1_has_beyond_that_is_there_as_well(lab):
    clock = SettableClock()
    queue = make_queue(lab.direct("a"), runtime=lab.runtime, clock=clock, strategy=LocalOnly("a"), unack_ms=1000)
    with BlockingDynoQueue(queue, lab.run) as blocking:
        blocking.push([Message(id="x"), Message(id="y")])
        assert [delivery.message.id for delivery in blocking.bulk_pop(1, wait_ms=0)] == ["x"]
        clock.advance(1000)
        assert blocking.atomic_process_unacks().requeued == 1
        assert (blocking.atomic_remove("y"), blocking.atomic_remove("y")) == (True, False)


class LoopThread:
    """An event loop in a thread, and ``run`` for other threads."""

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        return self

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    def __exit__(self, *error):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def test_results_and_errors_cross_from_a_loop_in_another_thread():
    class Answering:
        async def execute(self, *commands):
            await asyncio.sleep(0)
            if commands[0][0] == "HDEL":
                raise Unavailable("gone")
            return [0]

    queue = make_queue(Answering(), runtime=None, clock=SettableClock())
    with LoopThread() as loop:
        blocking = BlockingQueue(queue, loop.run)
        assert blocking.size() == 0
        with pytest.raises(Unavailable, match="gone"):
            blocking.remove("x")
