"""The courses of each queue on three real zones: of gmq and Youzan those in which no timer looks and no lock ends."""

from typing import Any

from support.windows import youzan
from support.windows.gmq import COURSES, GmqStage
from support.windows.real import COURSES as DYNO_COURSES
from support.windows.real import MS, PATIENCE_NS, RealStage
from support.windows.youzan import YouzanStage

from zonelab.engine.gmq import GmqDispatcher

_GMQ = (
    "two_pushes_at_once",
    "push_dies_after_pool",
    "pop_dies_after_taking",
    "pop_dies_after_reserving",
    "pop_take_reply_lost",
    "pop_reserve_refused",
    "pop_reply_lost_ttr_0",
    "pop_of_a_job_that_is_gone",
    "stopped_with_a_push_in_flight",
)
_LOCK_MUST_END = (
    *youzan.WITH_LOCK,
    "timer_dies_after_listing",
    "timer_dies_while_it_schedules_again",
    "finish_of_an_id_that_is_ready_twice",
)


class RealGmqStage(RealStage, GmqStage):
    """Its dispatchers end with the course."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._running: list[GmqDispatcher] = []

    async def dispatcher(self, *arguments: Any, **options: Any) -> GmqDispatcher:
        self._running.append(await super().dispatcher(*arguments, **options))
        return self._running[-1]

    async def settle(self, place: str = "", message_id: str = "x") -> None:
        deadline_ns = self.cluster.runtime.now_ns() + PATIENCE_NS
        while place not in (state := await self.state(message_id)):
            assert self.cluster.runtime.now_ns() < deadline_ns, f"{message_id} is at {state}, never at {place}"
            await self.cluster.runtime.sleep(MS)

    async def play_named(self, window: str) -> str:
        try:
            return await self.play_here(COURSES["default"][window])
        finally:
            for dispatcher in self._running:
                await dispatcher.close()


class RealYouzanStage(RealStage, YouzanStage):
    async def play_named(self, window: str) -> str:
        return await self.play_here(youzan.COURSES["default"][window])


STAGES = {"dyno": RealStage, "gmq": RealGmqStage, "youzan": RealYouzanStage}
PLAYED = {
    ("dyno", "original"): tuple(DYNO_COURSES),
    ("dyno", "default"): tuple(DYNO_COURSES),
    ("gmq", "original"): _GMQ,
    ("gmq", "default"): _GMQ,
    ("youzan", "original"): tuple(youzan.COURSES["original"]),
    ("youzan", "default"): tuple(name for name in youzan.COURSES["default"] if name not in _LOCK_MUST_END),
}
