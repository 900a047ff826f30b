"""The ``queue:`` section of a scenario that names the engine fifo."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from zonelab.cluster.fields import Count, Millis, MillisFrom0
from zonelab.engine.fifo.modes import FACTOR, MARGIN_SHARE, Profile, group_settings
from zonelab.engine.fifo.modes import GroupMode as EngineMode
from zonelab.engine.fifo.producer import SendMode
from zonelab.engine.fifo.settings import (
    FOREVER,
    Begin,
    ConsumerSettings,
    LeaseClock,
    MessageModel,
    Order,
    Poison,
    Times,
)
from zonelab.scenarios.spec.ordered.resizes import Resize
from zonelab.scenarios.spec.queue_settings import QueueMode, QueueSettings, named

_PROFILE = group_settings(EngineMode.ROCKETMQ_5_3).times_ms


class SelectorName(StrEnum):
    """Which partition a key goes to: ``zonelab.engine.fifo.routing.selectors``."""

    HASH = "hash"
    RANDOM = "random"
    CONSISTENT_HASH = "consistent-hash"


class AssignmentName(StrEnum):
    """Which partitions a member gets: ``zonelab.engine.fifo.assignment.strategies``."""

    AVERAGE = "average"
    CIRCLE = "circle"
    CONSISTENT_HASH = "consistent-hash"
    ROOM_NEARBY = "room-nearby"


def _nearest(kind: type[StrEnum]) -> BeforeValidator:
    return BeforeValidator(lambda given: named(given, tuple(kind)))


class FifoQueueSettings(QueueSettings):
    """``unack_ms`` is the lease of a partition's lock at the zones, ``unack_interval_ms`` the time between rebalances.

    Both are the profile's if they are not given. The other times of locks keep their proportion to the lease.
    """

    modes: ClassVar[tuple[QueueMode, ...]] = (QueueMode.ROCKETMQ_4_9, QueueMode.ROCKETMQ_5_3, QueueMode.FENCED)

    mode: QueueMode = QueueMode.ROCKETMQ_5_3
    unack_ms: Millis = _PROFILE.lease
    unack_interval_ms: Millis = _PROFILE.rebalance
    order: Annotated[Order, _nearest(Order)] = Order.PARTITION
    partitions: Annotated[int, Field(strict=True, ge=1, le=1_024)] = 4
    selector: Annotated[SelectorName, _nearest(SelectorName)] = SelectorName.HASH
    assignment: Annotated[AssignmentName, _nearest(AssignmentName)] = AssignmentName.AVERAGE
    producer: Annotated[SendMode, _nearest(SendMode)] = SendMode.ORDERED
    profile: Annotated[Profile, _nearest(Profile)] = Profile.SCALED
    factor: Count = FACTOR
    """Divisor of the profile ``scaled``."""
    client_lease_ms: Millis = _PROFILE.client_lease
    """Time after a renewal during which the owner of a partition believes in its lock."""
    renew_ms: Millis = _PROFILE.renew
    """Time between renewals of locks."""
    reconsumed_max: Annotated[int, Field(strict=True, ge=0, le=FOREVER)] | None = None
    """A message that failed more often is a dead letter; none: it is tried for ever, as by default in RocketMQ, or with
    mode fenced as often as RocketMQ's concurrent consumers try."""
    poison: Annotated[Poison, _nearest(Poison)] = Poison.SKIP
    """Treatment of such a message."""
    threads: Annotated[int, Field(strict=True, ge=1, le=1_024)] = 20
    """Batches that a consumer works on at once."""
    credit: Annotated[int, Field(strict=True, ge=1, le=FOREVER)] = 1_000
    """Messages of a partition that a consumer caches, or has not committed, before it reads no more."""
    span: Annotated[int, Field(strict=True, ge=1, le=FOREVER)] = 2_000
    """Messages read beyond the lowest unfinished one, without order by partition."""
    resizes: tuple[Resize, ...] = ()
    """Changes of the number of partitions during the run."""
    begins: Annotated[Begin, _nearest(Begin)] = Begin.FIRST
    """Start of a group that has no cursor."""
    group: Annotated[str, Field(min_length=1)] = "group"
    """Name of the consumer group that messages are acknowledged by."""
    more_groups: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Other groups, which get every message, too. The consumers of a zone are in ``group`` and these in turn."""
    kept: Annotated[int, Field(strict=True, ge=0, le=FOREVER)] = ConsumerSettings().kept
    """Records behind the slowest group that stay in a partition's log; older ones are deleted."""
    sharing: Annotated[MessageModel, _nearest(MessageModel)] = MessageModel.CLUSTERING
    """``broadcasting``: every consumer gets every message, and has offsets of its own."""
    commit_every: Count | None = None
    """Listeners commit by hand after so many messages of a partition; none: each batch is committed."""
    margin_ms: MillisFrom0 | None = None
    """With mode fenced: a lease counts as ended so long after its end; none: a twentieth of it."""

    lease_clock: Annotated[LeaseClock, _nearest(LeaseClock)] = LeaseClock.MARGIN
    """With mode fenced: by what a lease is over."""

    @model_validator(mode="before")
    @classmethod
    def _times_of_profile(cls, given: Any) -> Any:
        """Written out, so that every other part of the lab knows how long a lease is."""
        times = _times(given) if isinstance(given, dict) else None
        if times is None:
            return given  # the fields themselves say what is wrong
        lease_ms = given["unack_ms"] if type(given.get("unack_ms")) is int else times.lease
        of_profile = {
            "unack_ms": lease_ms,
            "unack_interval_ms": times.rebalance,
            "client_lease_ms": max(1, lease_ms * times.client_lease // times.lease),
            "renew_ms": max(1, lease_ms * times.renew // times.lease),
        }
        return of_profile | given

    @property
    def partition_count(self) -> int:
        return 1 if self.order is Order.GLOBAL else self.partitions

    @property
    def fenced(self) -> bool:
        """Grants have tokens, which zones and sinks check."""
        return self.mode is QueueMode.FENCED

    @property
    def margin_of_clocks_ms(self) -> int:
        return max(1, self.unack_ms // MARGIN_SHARE) if self.margin_ms is None else self.margin_ms

    @property
    def sending(self) -> SendMode:
        """Fenced partitions take numbered records only."""
        return SendMode.IDEMPOTENT if self.fenced else self.producer

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.group, *self.more_groups)

    def group_of(self, number: int) -> str:
        """Return the group of the consumer with that number in its zone."""
        return self.groups[number % len(self.groups)]

    def consumer_settings(self, *, batch: int) -> ConsumerSettings:
        """Return the group's settings for the engine; the rules of a scenario ensure that they go together."""
        base = group_settings(EngineMode(self.mode), self.profile, factor=self.factor)
        times = replace(
            base.times_ms,
            lease=self.unack_ms,
            client_lease=self.client_lease_ms,
            renew=self.renew_ms,
            rebalance=self.unack_interval_ms,
        )
        return replace(
            base,
            group=self.group,
            sharing=self.sharing,
            times_ms=times,
            assignment=self.assignment,
            order=self.order,
            poison=self.poison,
            begins=self.begins,
            threads=self.threads,
            credit=self.credit,
            span=self.span,
            batch=batch,
            reconsumed_max=base.reconsumed_max if self.reconsumed_max is None else self.reconsumed_max,
            clock_margin_ms=self.margin_of_clocks_ms,
            lease_clock=self.lease_clock,
            kept=self.kept,
            groups=() if self.sharing is MessageModel.BROADCASTING else self.groups,
        )


def _times(given: Mapping[str, Any]) -> Times | None:
    """Return the times of the profile that ``given`` names; None if it names none."""
    mode, profile = given.get("mode", QueueMode.ROCKETMQ_5_3), given.get("profile", Profile.SCALED)
    factor = given.get("factor", FACTOR)
    if mode not in set(EngineMode) or profile not in set(Profile) or type(factor) is not int or factor < 1:
        return None
    return group_settings(EngineMode(mode), Profile(profile), factor=factor).times_ms
