"""Three simulated zones, gmq on them, and ways to let a client or the dispatcher die, be overtaken or get an error."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from support.engine.dyno import SHARDS
from support.engine.gmq import Refusing, Tapped
from support.windows.stage import Died, Stage, Wrap, of_zones

from zonelab.engine.gmq import DispatchedCard, GmqDispatcher, GmqKeys, GmqQueue, GmqSettings, GoChannel
from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Indeterminate, ServerError

TTR_S = 2
LATER_S = 60
S = 1_000


class GmqStage(Stage):
    """``settings`` are the course's to replace before it makes a program."""

    def __init__(self, *, compat: bool, cluster: Any = None) -> None:
        super().__init__(compat=compat, cluster=cluster)
        self.settings = GmqSettings(ttr_s=TTR_S, compat=compat)
        self.gmq_keys = GmqKeys(prefix=self.settings.prefix)
        self.cards = GoChannel[DispatchedCard](self.cluster.runtime)

    def set(self, **settings: Any) -> None:
        self.settings = replace(self.settings, **settings)

    def instance(
        self,
        zone: str = "a",
        *,
        wrap: Wrap = lambda connection: connection,
        cards: GoChannel[DispatchedCard] | None = None,
    ) -> GmqQueue:
        """What a program of ``zone`` holds; its cards go to the first dispatcher if nothing is said."""
        return GmqQueue(
            runtime=self.cluster.runtime,
            clock=self.cluster.clock(zone),
            quorum=wrap(self.connection(zone, self.level)),
            cards=cards or self.cards,
            settings=self.settings,
        )

    async def dispatcher(
        self,
        zone: str = "a",
        *,
        wrap: Wrap = lambda connection: connection,
        cards: GoChannel[DispatchedCard] | None = None,
    ) -> GmqDispatcher:
        """One that runs."""
        dispatcher = GmqDispatcher(
            f"dispatcher-{zone}",
            runtime=self.cluster.runtime,
            clock=self.cluster.clock(zone),
            quorum=wrap(self.connection(zone, self.level)),
            cards=cards or self.cards,
            settings=self.settings,
        )
        await dispatcher.start()
        return dispatcher

    async def push(self, *names: str, delay_s: int = 0) -> None:
        """By a program of its own; and let the dispatcher write what it was handed."""
        await self.instance().push([Message(id=name, timeout_ms=delay_s * S) for name in names or "x"])
        await self.settle("B" if delay_s else "R", *names[:1])

    async def settle(self, place: str = "", message_id: str = "x") -> None:
        """Until the dispatcher has written what it was handed: the job is in ``place``, if it ever gets there."""
        await self.sleep(50)

    async def later(self, duration_s: int = LATER_S, *, cards: GoChannel[DispatchedCard] | None = None) -> str:
        """What a program pops and acknowledges from now on, once a second, when a dispatcher runs again."""
        if cards is None and self.cards.closed:
            await self.dispatcher()
        queue = self.instance(cards=cards)
        delivered: list[str] = []
        for _ in range(duration_s):
            try:
                got = await queue.pop(9)
            except (Indeterminate, ServerError):
                got = []
                delivered.append("an error")
            delivered += [delivery.message.id for delivery in got]
            for delivery in got:
                await queue.ack(delivery)
            await self.sleep(S)
        return f"then delivered: {' '.join(delivered) or 'nothing'}"

    async def state(self, message_id: str = "x") -> str:
        """P in the pool, B in a delay bucket, T in a TTR bucket, R for each time that it is listed as ready."""
        return of_zones({zone: await self._state(zone, message_id) for zone in SHARDS})

    async def _state(self, zone: str, message_id: str) -> str:
        keys, settings = self.gmq_keys, self.settings
        buckets = [("B", keys.delay_bucket(number)) for number in range(settings.buckets)]
        buckets += [("T", keys.ttr_bucket(number)) for number in range(settings.ttr_buckets)]
        found = ["P"] if await self.redis("EXISTS", keys.job(message_id), zone=zone) else []
        for letter, key in buckets:
            if await self.redis("ZSCORE", key, message_id, zone=zone) is not None:
                found.append(letter)
        ready = await self.redis("LRANGE", keys.ready(settings.topics[0]), 0, -1, zone=zone)
        return " ".join([*found, *["R"] * ready.count(message_id.encode())]) or "gone"

    async def fields(self, message_id: str = "x") -> str:
        """The pool's hash of a job, name by name."""
        flat = await self.redis("HGETALL", self.gmq_keys.job(message_id), zone="a")
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return " ".join(f"{name.decode()}={value.decode()}" for name, value in pairs) or "gone"

    async def redis(self, *words: str | int, zone: str | None = None) -> Any:
        """The answer of ``zone``, or of the last of all zones."""
        for name in (zone,) if zone else SHARDS:
            (reply,) = await self.cluster.direct(name).execute(words)
        return reply

    async def has_taken(self, zone: str = "a") -> Delivery:
        """The one delivery that there is, of a program of its own."""
        (delivery,) = await self.instance(zone).pop(1)
        await self.settle("T" if self.settings.ttr_s else "")
        return delivery

    def now_s(self) -> int:
        return self.cluster.clock("a").now_ms() // S


GmqCourse = Callable[[GmqStage], Coroutine[Any, Any, str]]


class Killed(BaseException):
    """The end of a dispatcher."""


async def _die() -> None:
    raise Died


async def _be_killed() -> None:
    raise Killed


def killed_before(step: str, nth: int = 1) -> Wrap:
    """The dispatcher ends just before its ``nth`` such step: see ``support.engine.gmq.step``."""
    return lambda connection: Tapped(connection, step, _be_killed, nth=nth)


def dies_after(step: str, nth: int = 1) -> Wrap:
    return lambda connection: Tapped(connection, step, _die, nth=nth, after=True)


def meanwhile(step: str, event: Callable[[], Coroutine[Any, Any, object]], *, after: bool = False) -> Wrap:
    """Another does something before, or ``after``, the first such step."""
    return lambda connection: Tapped(connection, step, event, after=after)


def refused(step: str, *, times: int = 1) -> Wrap:
    """Redis answers the first such steps with an error."""
    return lambda connection: Refusing(connection, step, ServerError("ERR busy"), times=times)


def loses_reply(step: str, *, times: int = 1) -> Wrap:
    """The first such steps are carried out, and their replies are lost."""
    return lambda connection: Refusing(connection, step, Indeterminate("reply lost"), times=times, applied=True)


async def confirmed(push: Coroutine[Any, Any, Any]) -> str:
    await push
    return "confirmed"
