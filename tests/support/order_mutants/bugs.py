"""Bugs of ordered messages, there while they are entered: ``mutants`` names them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer import process_queue
from zonelab.engine.fifo.consumer.consume_loop import ConsumeLoop
from zonelab.engine.fifo.consumer.results import GOES_ON, Results, columns_of
from zonelab.engine.fifo.fenced.cursor import CursorState, GroupCursor, SetAside, WriteEffects
from zonelab.engine.fifo.fenced.member.ownership import FencedOwnership
from zonelab.engine.fifo.fenced.member.results import FencedResults
from zonelab.engine.fifo.fenced.member.told import told
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.producer import Producer
from zonelab.engine.fifo.settings import ConsumerSettings, Order
from zonelab.scenarios.clients.sinks import Sink
from zonelab.scenarios.queues.ordered.fifo_fenced import FencedUnderTest

Plant = Callable[[], AbstractContextManager[Any]]


def method(owner: type, name: str, changed: Callable[..., Any]) -> Plant:
    return lambda: patch.object(owner, name, changed)


def unfenced(self: Sink, effect: Any) -> Any:
    self.fenced = False
    return TAKE(self, effect)


TAKE = Sink.take


async def committed_first(self: ConsumeLoop, queue: Any, batch: Any, handling: Any) -> Any:
    lanes = [name for name, lane in queue._lanes.items() if batch[0].entry.offset in lane.taken]
    await self._results._commit(queue, lanes[0])
    return await HANDED_OVER(self, queue, batch, handling)


HANDED_OVER = ConsumeLoop._handed_over


async def skipped(self: Results, queue: Any, lane: str, _batch: Any, _handling: Any) -> None:
    await self._commit(queue, lane)
    return GOES_ON


async def through_a_side_topic(self: Results, queue: Any, lane: str, batch: Any, _handling: Any) -> None:
    for each in batch:
        each.failed += 1

    async def again() -> None:
        await self._context.sleep(10)
        queue._lanes.setdefault(lane, process_queue._Lane())
        queue.put_back(batch, lane)

    self._context.spawn(again(), "side topic")
    return GOES_ON


async def aside_in_two(self: FencedResults, queue: Any, lane: str, batch: Any) -> bool:
    """The dead letter, and then that the message is finished."""
    these = [
        SetAside(offset=each.entry.offset, record=each.entry.record, why="dead_letter", attempts=each.failed + 1)
        for each in batch
    ]

    def finished(state: CursorState) -> CursorState:
        return state.moved_to(Progress(state.progress.cursor, tuple(each.offset for each in these)))

    try:
        tenure = self._tenure(queue)
        cursor: GroupCursor = tenure.cursor
        with told(self._context, "dead_letter", queue.partition, [columns_of(each.entry) for each in batch]):
            aside = [(f"{cursor._group} {each.offset}", cursor._told(each)) for each in these]
            await cursor._change(lambda state: state, WriteEffects(aside=aside))
        await cursor._change(finished)
    except COMMAND_FAILURES:
        self._lose(queue)
        return False
    queue.finish(batch, lane)
    return True


@contextmanager
def keeping_the_cache() -> Iterator[None]:
    """Whoever lost a partition and gets it again goes on with what it had read."""

    def lost(self: FencedOwnership, queue: Any) -> None:
        self._tenures.forget(queue.partition, queue.token)
        queue.locked = False

    async def kept(self: FencedOwnership, queue: Any) -> bool:
        tenure = self._tenures.of(queue.partition, queue.token)
        if tenure is not None:
            await self._renewal(queue.partition, tenure)
            return self.believes(queue)
        held, context = None, self._context
        del context.queues[queue.partition]
        try:
            if await self.take(queue.partition):
                held = self._tenures.held[queue.partition]
                queue.token, queue.locked, queue.locked_ms = held.token, True, context.clock.now_ms()
        finally:
            context.queues[queue.partition] = queue
        return held is not None

    with patch.object(FencedOwnership, "lose", lost), patch.object(FencedOwnership, "_keep", kept):
        yield


async def tried_elsewhere(self: Producer, partition: Any, message: Any, key: str, epoch: int) -> Any:
    """What was not confirmed is sent once more, to the next partition."""
    try:
        return await APPEND(self, partition, message, key, epoch)
    except COMMAND_FAILURES:
        following = (self._partitions.index(partition) + 1) % len(self._partitions)
        return await APPEND(self, self._partitions[following], message, key, epoch)


APPEND = Producer._append


async def not_written(self: GroupCursor, *, begins: int) -> None:
    """Where a group begins is in the memory of its first owner."""
    if self.register.state:
        await ADOPT(self, begins=begins)
    else:
        self.state = CursorState(progress=Progress(begins))


ADOPT = GroupCursor.adopt


def one_attempt_more(self: FencedUnderTest, name: str) -> ConsumerSettings:
    settings = SETTINGS_OF(self, name)
    return replace(settings, reconsumed_max=settings.reconsumed_max + 1)


SETTINGS_OF = FencedUnderTest._settings_of


async def always_passed(*_: Any) -> bool:
    return True


@contextmanager
def no_barrier() -> Iterator[None]:
    with patch("zonelab.engine.fifo.topics.followed.FollowedRoute.passed", always_passed):
        yield


def zones_of_one_name(self: FencedUnderTest, site: Any, _session: str, settings: Any, member: str) -> Any:
    """To the zones all members of a zone are one."""
    return ZONES(self, site, site.zone, settings, member)


ZONES = FencedUnderTest._zones


@contextmanager
def a_pool() -> Iterator[None]:
    """Each message of a partition is worked on by itself."""
    with patch.dict(process_queue._LANES, {Order.PARTITION: process_queue._LANES[Order.NONE]}):
        yield
