"""A job, its states, and how the pool stores it. Source: https://github.com/wuzhc/gmq at v1.0."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from zonelab.engine.common.job_queue import MS_PER_S
from zonelab.engine.message import Message
from zonelab.engine.ports import Argument

FIELDS = ("id", "topic", "delay", "TTR", "body", "status", "consume_num")
"""In the order in which the original writes them."""


class JobStatus(IntEnum):
    """``DELAY``: in a bucket, waiting or in flight. ``RESERVED``: popped, and not in a bucket yet."""

    DEFAULT = 0
    DELAY = 1
    READY = 2
    RESERVED = 3


class BrokenJob(Exception):
    """The pool holds a job without all of its fields, or none. The original answers with an error of its ``Atoi``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """``consumed``: how many times it was popped with a lease before."""

    id: str
    topic: str
    delay_s: int
    ttr_s: int
    body: str
    status: JobStatus = JobStatus.DEFAULT
    consumed: int = 0

    def flat(self) -> list[Argument]:
        """Field, value, field, value …, as HMSET takes them."""
        values: tuple[Argument, ...] = (
            self.id,
            self.topic,
            self.delay_s,
            self.ttr_s,
            self.body,
            int(self.status),
            self.consumed,
        )
        return [word for pair in zip(FIELDS, values, strict=True) for word in pair]

    @classmethod
    def of(cls, flat: Sequence[bytes]) -> "Job":
        """From the answer to HGETALL. Raises ``BrokenJob``."""
        found = {name.decode(): value.decode() for name, value in zip(flat[::2], flat[1::2], strict=True)}
        try:
            return cls(
                id=found["id"],
                topic=found["topic"],
                delay_s=int(found["delay"]),
                ttr_s=int(found["TTR"]),
                body=found["body"],
                status=JobStatus(int(found["status"])),
                consumed=int(found["consume_num"]),
            )
        except (KeyError, ValueError) as error:
            raise BrokenJob(f"a job of the fields {sorted(found)}") from error

    def message(self) -> Message:
        """The job as a message of the queue interface."""
        return Message(
            id=self.id,
            payload=self.body,
            timeout_ms=self.delay_s * MS_PER_S,
            topic=self.topic,
            lease_ms=self.ttr_s * MS_PER_S,
        )

    @property
    def leased(self) -> bool:
        """Return whether an ack may end it."""
        return self.status is JobStatus.RESERVED or (self.status is JobStatus.DELAY and self.consumed > 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """Message from an instance to the dispatcher: the job ``id`` is to be ready after ``delay_s``."""

    id: str
    topic: str
    delay_s: int
