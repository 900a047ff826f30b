"""The ``queue:`` section of a scenario: what every engine takes, and a model for what one engine takes beside it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, Field, field_validator, model_validator

from zonelab.analysis.near_names import did_you_mean
from zonelab.cluster.fields import Count, Flag, Millis, Section
from zonelab.engine.gmq.settings import SECONDS_MAX, TTR_BUCKETS_MAX
from zonelab.engine.youzan.jobs import DELAY_S_MAX
from zonelab.engine.youzan.settings import TTR_S_MAX

MS_PER_S = 1_000

BUCKETS_MAX = 1_000
"""Each has a timer of its own."""

WRITTEN_FOR_ALL: dict[str, Any] = {"sharding": "round_robin", "deliveries_max": None, "v1_producers": False}
"""Options of dyno-queues that resolved scenarios of every engine once named, with the value that says nothing."""

Model = TypeVar("Model", bound="QueueSettings")


class Sharding(StrEnum):
    """A producer's choice of a message's shard."""

    ROUND_ROBIN = "round_robin"
    ID_HASH = "id_hash"
    LOCAL_ONLY = "local_only"


class QueueMode(StrEnum):
    """Which engine a queue is: the one that is named, or the same hardened against faults (docs/hardened.md).

    Ordered messages (docs/fifo.md) have versions of RocketMQ instead, or partitions that are fenced.
    """

    DEFAULT = "default"
    HARDENED = "hardened"
    ROCKETMQ_4_9 = "rocketmq-4.9"
    ROCKETMQ_5_3 = "rocketmq-5.3"
    FENCED = "fenced"


class Dispatchers(StrEnum):
    """Placement of gmq's dispatchers: one in the first zone, or one in each zone."""

    ONE = "one"
    EACH_ZONE = "each_zone"


def named(given: Any, accepted: Sequence[StrEnum]) -> Any:
    """``given``. Raises ``ValueError``, which offers the nearest name, if it is none of ``accepted``."""
    if isinstance(given, str) and given in accepted:
        return given
    shown = str(given) if isinstance(given, StrEnum) else repr(given)
    raise ValueError(f"got {shown}{did_you_mean(str(given), accepted)}; accepted: {', '.join(accepted)}")


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names or not all(names) or len(set(names)) != len(names):
        raise ValueError(f"got {list(names)!r}; accepted: one or more distinct non-empty names, e.g. [jobs, mails]")
    return names


Topics = Annotated[tuple[str, ...], AfterValidator(_distinct)]
"""In the order in which consumers ask them."""


class QueueSettings(Section):
    """Settings that every engine takes."""

    modes: ClassVar[tuple[QueueMode, ...]] = (QueueMode.DEFAULT, QueueMode.HARDENED)
    """Modes of engines with such options."""
    delay_ms_max: ClassVar[int | None] = None
    """The longest delay of a message; None: any."""
    lease_ms_own: ClassVar[range | None] = None
    """Range of a message's own lease; None: there are none."""

    engine: Annotated[str, Field(strict=True)] = "dyno"
    """One of ``zonelab.scenarios.spec.engines.ENGINES``."""
    mode: QueueMode = QueueMode.DEFAULT
    unack_ms: Millis = 2_000
    """Length of a lease: a message not acknowledged within it is delivered again."""
    unack_interval_ms: Millis = 500
    """Time between two looks for leases that have ended."""
    compat: Flag = False
    """Reproduce the defects of the original."""
    factory: str | None = None
    """A queue of the user's own, ``MODULE:FUNCTION``, in place of ``engine`` and ``mode`` (docs/properties.md)."""

    @field_validator("mode", mode="before")
    @classmethod
    def _of_engine(cls, given: Any) -> Any:
        return named(given, cls.modes)

    @model_validator(mode="before")
    @classmethod
    def _without_what_says_nothing(cls, given: Any) -> Any:
        """Drop fields of dyno-queues that have their defaults: files written out for another engine stay valid."""
        if not isinstance(given, dict):
            return given
        idle = {name for name, value in WRITTEN_FOR_ALL.items() if name in given and given[name] == value}
        return {name: value for name, value in given.items() if name in cls.model_fields or name not in idle}

    def of(self, model: type[Model]) -> Model:
        """Itself. Raises ``TypeError`` if it is of another model."""
        if not isinstance(self, model):
            raise TypeError(f"queue.engine {self.engine} takes {type(self).__name__}, not {model.__name__}")
        return self


class ShardedSettings(QueueSettings):
    """Settings of an engine with a shard a zone."""

    sharding: Sharding = Sharding.ROUND_ROBIN
    deliveries_max: Count | None = None
    """Hardened: a message that was delivered so often is set aside as a dead letter; none: never."""


class DynoQueueSettings(ShardedSettings):
    v1_producers: Flag = False
    """Hardened: producers are clients of dyno-queues V1, on the same keys."""


class GmqQueueSettings(ShardedSettings):
    delay_ms_max: ClassVar[int | None] = SECONDS_MAX * MS_PER_S
    lease_ms_own: ClassVar[range | None] = range(SECONDS_MAX * MS_PER_S + 1)

    unack_ms: Annotated[int, Field(strict=True, ge=1, le=SECONDS_MAX * MS_PER_S)] = 2_000
    """The TTR, rounded up to whole seconds, unless hardened."""
    topics: Topics = ("jobs",)
    buckets: Annotated[int, Field(strict=True, ge=1, le=BUCKETS_MAX)] = 3
    """Sorted sets of delayed jobs, each with a timer of its own."""
    ttr_buckets: Annotated[int, Field(strict=True, ge=1, le=TTR_BUCKETS_MAX)] = 3
    """The same of jobs in flight."""
    dispatchers: Dispatchers | None = None
    """None: one, but in hardened mode one in each zone."""


class YouzanQueueSettings(QueueSettings):
    delay_ms_max: ClassVar[int | None] = DELAY_S_MAX * MS_PER_S
    lease_ms_own: ClassVar[range | None] = range(1, TTR_S_MAX * MS_PER_S + 1)

    unack_ms: Annotated[int, Field(strict=True, ge=1, le=TTR_S_MAX * MS_PER_S)] = 2_000
    """Time to run, rounded up to whole seconds."""
    topics: Topics = ("jobs",)
    buckets: Annotated[int, Field(strict=True, ge=1, le=BUCKETS_MAX)] = 3
    """Sorted sets of jobs, each with a timer of its own."""
    scan_interval_ms: Millis | None = None
    """Time between two looks of a timer; None: 100, or 1 000 with ``compat``."""
    lock_ms: Millis | None = None
    """Time for which a timer that died keeps others from its bucket; None: as long as a lease."""
