"""The queue for programs without an event loop of their own."""

from zonelab.engine.dyno.v1.queue import DynoQueue
from zonelab.engine.sync import CoroutineRunner, StartableFacade, blocking


class BlockingQueue(StartableFacade):
    """The operations that every dyno-queue has, as ordinary calls, each executed by ``run``.

    Meaning, results and errors are those of the queue. As a context manager it starts and closes the queue.
    """

    def __init__(self, queue: DynoQueue, run: CoroutineRunner) -> None:
        super().__init__(queue, run)
        self.name = queue.name

    push = blocking(DynoQueue.push)
    pop = blocking(DynoQueue.pop)
    ack = blocking(DynoQueue.ack)
    ack_all = blocking(DynoQueue.ack_all)
    peek = blocking(DynoQueue.peek)
    get = blocking(DynoQueue.get)
    set_unack_timeout = blocking(DynoQueue.set_unack_timeout)
    set_timeout = blocking(DynoQueue.set_timeout)
    remove = blocking(DynoQueue.remove)
    ensure = blocking(DynoQueue.ensure)
    size = blocking(DynoQueue.size)
    shard_sizes = blocking(DynoQueue.shard_sizes)
    clear = blocking(DynoQueue.clear)
    process_unacks = blocking(DynoQueue.process_unacks)


class BlockingDynoQueue(BlockingQueue):
    """``BlockingQueue`` with the further operations of version 1."""

    bulk_pop = blocking(DynoQueue.bulk_pop)
    unsafe_pop_all_shards = blocking(DynoQueue.unsafe_pop_all_shards)
    unsafe_bulk_pop = blocking(DynoQueue.unsafe_bulk_pop)
    pop_with_id = blocking(DynoQueue.pop_with_id)
    unsafe_pop_with_id_all_shards = blocking(DynoQueue.unsafe_pop_with_id_all_shards)
    pop_msg_with_predicate = blocking(DynoQueue.pop_msg_with_predicate)
    unsafe_peek_all_shards = blocking(DynoQueue.unsafe_peek_all_shards)
    local_get = blocking(DynoQueue.local_get)
    get_all_messages = blocking(DynoQueue.get_all_messages)
    get_msg_with_predicate = blocking(DynoQueue.get_msg_with_predicate)
    contains_predicate = blocking(DynoQueue.contains_predicate)
    find_stale_messages = blocking(DynoQueue.find_stale_messages)
    atomic_remove = blocking(DynoQueue.atomic_remove)
    atomic_process_unacks = blocking(DynoQueue.atomic_process_unacks)
