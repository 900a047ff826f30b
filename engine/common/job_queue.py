"""Queues of jobs that wait in a list for each topic, served in strict order of the topics, a job at a time.

What gmq and the queue of Youzan share. Times count in whole seconds.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from zonelab.engine.common.failures import COMMAND_FAILURES, operation
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.common.polling import pop_when_ready
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Runtime

MS_PER_S = 1_000


def whole_seconds(milliseconds: int) -> int:
    """Rounded up."""
    return max(0, -(-milliseconds // MS_PER_S))


def checked_seconds(name: str, milliseconds: int, *, least: int = 0, most: int) -> int:
    """Whole seconds, rounded up. Raises ``ValueError`` if they are fewer than ``least`` or more than ``most``."""
    seconds = whole_seconds(milliseconds)
    if not least <= seconds <= most:
        accepted = f"{least}..{most * MS_PER_S}" if least else f"at most {most * MS_PER_S}"
        raise ValueError(f"{name} must be {accepted}, got {milliseconds}")
    return seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class JobQueueSettings:
    """``topics``: those an instance pops from, in strict order; a message that names none goes to the first.

    ``ttr_s`` ("time to run"): length of a lease. ``buckets``: number of sorted sets of delayed jobs, each with a timer
    of its own. ``poll_interval_ms``: pause between two reads of a waiting pop. ``compat``: as the original, with its
    defects.
    """

    prefix: str
    topics: tuple[str, ...] = ("jobs",)
    buckets: int = 3
    ttr_s: int = 60
    poll_interval_ms: int = 50
    compat: bool = False

    def __post_init__(self) -> None:
        if not self.prefix:
            raise ValueError(f"prefix must be a non-empty string, got {self.prefix!r}")
        if not self.topics or not all(self.topics) or len(set(self.topics)) != len(self.topics):
            raise ValueError(f"topics must be one or more distinct non-empty names, got {self.topics!r}")
        self.check_positive("buckets", "poll_interval_ms")

    def check_positive(self, *names: str) -> None:
        """Raise ``ValueError`` for a setting of ``names`` that is given and smaller than 1."""
        for name in names:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")


class JobQueue(Startable):
    """One instance: which topic it pops from, how many jobs, how long it waits. Subclasses know the jobs."""

    def __init__(self, *, runtime: Runtime, settings: JobQueueSettings) -> None:
        self._runtime, self._polled = runtime, settings

    async def start(self) -> None:
        """Do nothing: an instance has no work in the background."""

    async def close(self) -> None:
        """Leases and jobs stay as they are."""

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        """Add each of ``messages`` as a job. Raises ``ValueError``, before any is, for times that no job may have."""
        for message in messages:
            self._check(message)
        with operation("push") as effects:
            receipts = []
            for message in messages:
                receipts.append(await self._add(message))
                effects.count += 1
        return receipts

    async def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """Up to ``count`` ready jobs, as soon as there is one, of the first topic that has any; none after ``wait_ms``.

        An error after the first is kept from the caller, who has a use for the others.
        """
        take = partial(self._take, count)
        return await pop_when_ready(self._runtime, take, wait_ms=wait_ms, poll_ms=self._polled.poll_interval_ms)

    @abstractmethod
    def _check(self, message: Message) -> None:
        """Raise ``ValueError`` for a message with times that no job may have."""

    @abstractmethod
    async def _add(self, message: Message) -> Receipt: ...

    @abstractmethod
    async def _take_ready(self, topic: str) -> str | None:
        """An id, which no list has any more."""

    @abstractmethod
    async def _lease(self, job_id: str) -> Delivery | None:
        """None if the job is gone."""

    def _goes_on(self) -> bool:
        """Return whether a pop that meets a job that is gone asks for the next one."""
        return True

    async def _take(self, count: int) -> list[Delivery]:
        deliveries: list[Delivery] = []
        while len(deliveries) < count:
            try:
                job_id = await self._next_ready()
                delivery = None if job_id is None else await self._lease(job_id)
            except COMMAND_FAILURES:
                if deliveries:
                    return deliveries
                raise
            if delivery is not None:
                deliveries.append(delivery)
            elif job_id is None or not self._goes_on():
                return deliveries
        return deliveries

    async def _next_ready(self) -> str | None:
        for topic in self._polled.topics:
            job_id = await self._take_ready(topic)
            if job_id is not None:
                return job_id
        return None
