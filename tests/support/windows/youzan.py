"""The windows in which the Youzan design and ouqiang's program of it can go wrong, on three simulated zones."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from support.engine.dyno import SHARDS
from support.engine.gmq import Refusing
from support.windows.stage import (
    Stage,
    Wrap,
    X,
    death,
    dies,
    fails,
    failure,
    loses_reply,
    meanwhile,
    of_zones,
    said,
)

from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Connection, ServerError
from zonelab.engine.youzan import YouzanKeys, YouzanQueue, YouzanSettings, YouzanTimers

TTR_S = 2
S = 1_000


class YouzanStage(Stage):
    """``settings`` are the course's to replace before it makes a program."""

    def __init__(self, *, compat: bool, cluster: Any = None) -> None:
        super().__init__(compat=compat, cluster=cluster)
        self.settings = YouzanSettings(prefix="youzan", ttr_s=TTR_S, buckets=1, lock_ms=S // 2, compat=compat)
        self._queue: YouzanQueue | None = None
        self.youzan_keys = YouzanKeys(prefix=self.settings.prefix, compat=compat)

    def set(self, **settings: Any) -> None:
        self.settings = replace(self.settings, **settings)

    def instance(self, zone: str = "a", *, wrap: Wrap = lambda connection: connection) -> YouzanQueue:
        return YouzanQueue(
            runtime=self.cluster.runtime,
            clock=self.cluster.clock(zone),
            quorum=wrap(self.connection(zone, self.level)),
            settings=self.settings,
        )

    @property
    def queue(self) -> YouzanQueue:
        """The instance of the program that all clients ask: its buckets take turns."""
        self._queue = self._queue or self.instance()
        return self._queue

    def timers(self, zone: str = "a", *, wrap: Wrap = lambda connection: connection) -> YouzanTimers:
        """A program of timers, not started: its scans are begun by hand."""
        connection = wrap(self.connection(zone, self.level))
        return YouzanTimers(
            f"timers-{zone}",
            runtime=self.cluster.runtime,
            clock=self.cluster.clock(zone),
            quorum=connection,
            local=connection,
            settings=self.settings,
        )

    async def push(self, name: str = "x", *, delay_s: int = 0) -> None:
        await self.queue.push([Message(id=name, timeout_ms=delay_s * S)])

    async def tick(self, timers: YouzanTimers | None = None) -> None:
        """One scan of every bucket."""
        for bucket in range(1, self.settings.buckets + 1):
            await (timers or self.timers()).scan(bucket)

    async def take(self) -> Delivery:
        (delivery,) = await self.queue.pop(1)
        return delivery

    async def later(self) -> str:
        """What a program pops and finishes in the next four leases, with a scan a second."""
        delivered: list[str] = []
        for _ in range(4 * TTR_S):
            await self.sleep(S)
            await self.tick(self.timers("b"))
            got = await self.queue.pop(9)
            delivered += [delivery.message.id for delivery in got]
            for delivery in got:
                await self.queue.ack(delivery)
        return f"then delivered: {' '.join(delivered) or 'nothing'}"

    async def state(self, message_id: str = "x") -> str:
        """P in the pool, B in a bucket, R for each time that it is listed as ready."""
        return of_zones({zone: await self._state(zone, message_id) for zone in SHARDS})

    async def _state(self, zone: str, message_id: str) -> str:
        keys, direct = self.youzan_keys, self.cluster.direct(zone)
        (pool,) = await direct.execute(("EXISTS", keys.job(message_id)))
        (ready,) = await direct.execute(("LRANGE", keys.ready(self.settings.topics[0]), 0, -1))
        found = ["P"] if pool else []
        for number in range(1, self.settings.buckets + 1):
            (score,) = await direct.execute(("ZSCORE", keys.bucket(number), message_id))
            found += [] if score is None else ["B"]
        assert isinstance(ready, list)
        return " ".join([*found, *["R"] * ready.count(message_id.encode())]) or "gone"


YouzanCourse = Callable[[YouzanStage], Coroutine[Any, Any, str]]


async def _ready(stage: YouzanStage) -> None:
    await stage.push()
    await stage.tick()


async def push_dies_after_pool(stage: YouzanStage) -> str:
    await death(stage.instance(wrap=dies("SET")).push([X]))
    before = await stage.state()
    await stage.push()
    return f"{before}; the retry mends it: {await stage.state()}; {await stage.later()}"


async def timer_dies_after_listing(stage: YouzanStage) -> str:
    await stage.push()
    await death(stage.timers(wrap=dies("RPUSH")).scan(1))
    before = await stage.state()
    await stage.sleep(S)
    await stage.tick()
    return f"{before}; the next scan: {await stage.state()}; pops: {await _two_pops(stage)}"


async def _two_pops(stage: YouzanStage) -> str:
    return ", ".join([said(await stage.queue.pop(1)) for _ in range(2)])


async def timer_dies_while_it_schedules_again(stage: YouzanStage) -> str:
    """x was pushed again with a later time, so that it has two entries."""
    stage.set(buckets=2)
    await stage.push(delay_s=1)
    await stage.push(delay_s=3)
    await stage.sleep(S)
    await death(stage.timers(wrap=dies("ZREM" if stage.compat else "ZADD")).scan(2))
    return f"{await stage.state()}; {await stage.later()}"


async def scheduled_again_into_its_own_bucket(stage: YouzanStage) -> str:
    """Its entry is older than its job says."""
    await stage.push(delay_s=3)
    for zone in SHARDS:
        await stage.cluster.direct(zone).execute(("ZADD", stage.youzan_keys.bucket(1), 1, "x"))
    await stage.tick()
    return f"{await stage.state()}; {await stage.later()}"


async def pushed_again_with_a_later_time(stage: YouzanStage) -> str:
    stage.set(buckets=2)
    await stage.push(delay_s=1)
    await stage.push(delay_s=3)
    for _ in range(3):
        await stage.sleep(S)
        await stage.tick()
    return f"{await stage.state()}; pops: {await _two_pops(stage)}"


async def _lease_during_removal(stage: YouzanStage, buckets: int) -> str:
    """x is popped between RPUSH and ZREM of the timer, and its consumer dies."""
    stage.set(buckets=buckets)
    await stage.push()
    got: list[Delivery] = []

    async def pop() -> None:
        got.extend(await stage.queue.pop(1))

    await stage.tick(stage.timers(wrap=meanwhile("ZREM", pop)))
    return f"pop: {said(got)}; {await stage.state()}; {await stage.later()}"


async def race_19_of_one_bucket(stage: YouzanStage) -> str:
    return await _lease_during_removal(stage, 1)


async def race_19_of_three_buckets(stage: YouzanStage) -> str:
    return await _lease_during_removal(stage, 3)


async def pop_dies_after_taking(stage: YouzanStage) -> str:
    await _ready(stage)
    await death(stage.instance(wrap=dies("LPOP")).pop(1))
    return f"{await stage.state()}; {await stage.later()}"


async def pop_take_reply_lost(stage: YouzanStage) -> str:
    await _ready(stage)
    told = await failure(stage.instance(wrap=loses_reply("LPOP")).pop(1))
    return f"pop: {told}; {await stage.state()}; {await stage.later()}"


async def pop_lease_fails(stage: YouzanStage) -> str:
    await _ready(stage)
    told = await failure(stage.instance(wrap=fails("ZADD")).pop(1))
    return f"pop: {told}; {await stage.state()}; {await stage.later()}"


async def pop_reply_lost(stage: YouzanStage) -> str:
    await _ready(stage)
    await stage.take()
    return f"{await stage.state()}; {await stage.later()}"


async def finish_of_an_id_that_is_ready_twice(stage: YouzanStage) -> str:
    """The first delivery is finished; y is ready behind the second entry."""
    await stage.push()
    await death(stage.timers(wrap=dies("RPUSH")).scan(1))
    await stage.sleep(S)
    await stage.tick()
    await stage.push("y")
    await stage.tick()
    await stage.queue.ack(await stage.take())
    return f"the next pops: {await _two_pops(stage)}"


async def late_finish(stage: YouzanStage) -> str:
    await _ready(stage)
    first = await stage.take()
    await stage.sleep(TTR_S * S)
    await stage.tick()
    second = await stage.take()
    acks = [said(await stage.queue.ack(delivery)) for delivery in (first, second)]
    return f"the first consumer's finish: {acks[0]}, the second's: {acks[1]}; {await stage.later()}"


async def job_cannot_be_read(stage: YouzanStage) -> str:
    """Redis answers the first two GETs with an error."""
    made: list[Refusing] = []

    def refusing(connection: Connection) -> Connection:
        made.append(Refusing(connection, "GET", ServerError("ERR busy"), times=2))
        return made[0]

    await stage.push()
    await failure(stage.timers(wrap=refusing).scan(1))
    return f"asked again in the same scan: {said(made[0].times == 0)}; {await stage.state()}; {await stage.later()}"


async def two_programs_of_timers(stage: YouzanStage) -> str:
    await stage.push()

    async def scan_too() -> None:
        await stage.timers("b").scan(1)

    await stage.tick(stage.timers(wrap=meanwhile("RPUSH", scan_too)))
    return f"{await stage.state()}; pops: {await _two_pops(stage)}"


async def lock_holder_dies(stage: YouzanStage) -> str:
    await stage.push()
    await death(stage.timers(wrap=dies("GET")).scan(1))
    return await stage.later()


async def lock_holder_dies_without_expiry(stage: YouzanStage) -> str:
    stage.set(lock_ms=None)
    return await lock_holder_dies(stage)


async def lock_shorter_than_a_scan(stage: YouzanStage) -> str:
    stage.set(lock_ms=5)
    await stage.push()

    async def scan_too() -> None:
        await stage.sleep(10)
        await stage.timers("b").scan(1)

    await stage.tick(stage.timers(wrap=meanwhile("RPUSH", scan_too)))
    return f"{await stage.state()}; pops: {await _two_pops(stage)}"


WITH_LOCK = {
    course.__name__: course for course in (lock_holder_dies, lock_holder_dies_without_expiry, lock_shorter_than_a_scan)
}
_ALL: dict[str, YouzanCourse] = {
    course.__name__: course
    for course in (
        push_dies_after_pool,
        timer_dies_after_listing,
        timer_dies_while_it_schedules_again,
        scheduled_again_into_its_own_bucket,
        pushed_again_with_a_later_time,
        race_19_of_one_bucket,
        race_19_of_three_buckets,
        pop_dies_after_taking,
        pop_take_reply_lost,
        pop_lease_fails,
        pop_reply_lost,
        finish_of_an_id_that_is_ready_twice,
        late_finish,
        job_cannot_be_read,
        two_programs_of_timers,
    )
} | WITH_LOCK
COURSES = {"original": {name: course for name, course in _ALL.items() if name not in WITH_LOCK}, "default": _ALL}
"""By mode, and name. A course returns what was seen, in words."""


def play(window: str, mode: str) -> str:
    return YouzanStage(compat=mode == "original").play(_ALL[window])
