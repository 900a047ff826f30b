"""Times and rules of a consumer group: what makes one version of RocketMQ differ from another, each with its name."""

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

FOREVER = 2**31 - 1
"""RocketMQ's "as often as you like"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """In ms, as RocketMQ 5.3 has them; those in ``HARD_CODED`` cannot be set there.

    ``lease``: of a lock at the zones; ``client_lease``: how long after a renewal its owner believes in it. ``leave``:
    the most that passes, as is drawn, from a graceful stop's unlock until it leaves the group (measured). ``idle``
    and ``notice`` are ours: between two looks at the end of a log, and at whether members changed, for which RocketMQ
    waits without asking.
    """

    lease: int = 60_000
    client_lease: int = 30_000
    renew_first: int = 1_000
    renew: int = 20_000
    rebalance: int = 20_000
    rebalance_least: int = 1_000
    first_pull: int = 500
    pull_retry: int = 1_000
    pull_idle: int = 120_000
    long_poll: int = 15_000
    credit_retry: int = 50
    relock: int = 100
    relock_in_loop: int = 10
    relock_retry: int = 3_000
    resume: int = 10
    suspend: int = 1_000
    suspend_least: int = 10
    suspend_most: int = 30_000
    slice: int = 60_000
    revoke_wait: int = 500
    forced_unlock: int = 20_000
    flush_first: int = 10_000
    flush: int = 5_000
    leave: int = 50
    heartbeat: int = 30_000
    route: int = 30_000
    member_expiry: int = 120_000
    member_scan: int = 10_000
    dead_letter_levels: tuple[int, ...] = (1_000, 5_000, 10_000, 30_000, 60_000, 120_000, 180_000, 240_000, 300_000)
    idle: int = 5
    notice: int = 5

    def __post_init__(self) -> None:
        for name in NUMBERS:
            value = getattr(self, name)
            least = 0 if name in ("first_pull", "leave") else 1
            if value < least:
                raise ValueError(f"{name} must be at least {least} ms, got {value}")
        if self.lease <= self.renew:
            raise ValueError(f"lease must be longer than the time between renewals, {self.renew} ms, got {self.lease}")
        if self.client_lease <= self.renew:
            raise ValueError(f"client_lease must be longer than renew, {self.renew} ms, got {self.client_lease}")
        if self.member_expiry <= self.heartbeat:
            raise ValueError(
                f"member_expiry must be longer than heartbeat, {self.heartbeat} ms, got {self.member_expiry}"
            )

    def divided(self, factor: int, *, keep: frozenset[str] = frozenset()) -> "Times":
        """All but those of ``keep`` and our own divided by ``factor``, and at least 1 ms."""
        if factor < 1:
            raise ValueError(f"factor must be at least 1, got {factor}")
        changed = {
            name: max(1, getattr(self, name) // factor) if getattr(self, name) else 0
            for name in NUMBERS
            if name not in keep | OURS
        }
        levels = tuple(max(1, level // factor) for level in self.dead_letter_levels)
        return replace(self, **changed, dead_letter_levels=self.dead_letter_levels if keep else levels)


OURS = frozenset({"idle", "notice"})

HARD_CODED = frozenset(
    {
        *("revoke_wait", "first_pull", "pull_retry", "long_poll", "flush_first", "renew_first", "credit_retry"),
        *("relock", "relock_in_loop", "relock_retry", "resume", "suspend_least", "suspend_most", "leave"),
    }
)

NUMBERS = tuple(each.name for each in fields(Times) if each.name != "dead_letter_levels")


class Release(StrEnum):
    """A member's treatment of a partition that is no longer its own.

    ``forced`` (5.3): it waits a little for the listener and unlocks; if the listener is still busy and the last
    renewal old, it unlocks all the same. ``delayed`` (4.9): it waits for the listener as long as that takes, and
    if messages are cached it unlocks later, by a timer that nothing stops. ``drained`` (fenced): it waits for the
    listener, whose result is stored, and renews its lease meanwhile.
    """

    FORCED = "forced"
    DELAYED = "delayed"
    DRAINED = "drained"


class Begin(StrEnum):
    """Start of a group that has no cursor: at the first message, or after the last one."""

    FIRST = "first"
    LAST = "last"


class Order(StrEnum):
    """The unit within which messages are delivered one after the other.

    ``global``: everything; the topic has one partition. ``partition``: all of a partition. ``key``: the messages of a
    key; those of different keys are worked on beside each other. ``none``: nothing, as RocketMQ's concurrent
    consumers do, which take no lock either: batches of one are no order.
    """

    GLOBAL = "global"
    PARTITION = "partition"
    KEY = "key"
    NONE = "none"


class Poison(StrEnum):
    """Treatment of a message that failed more often than ``reconsumed_max``.

    ``block``: it is tried for ever, and holds up what is behind it. ``skip``: it becomes a dead letter, as in RocketMQ,
    and what is behind it goes on without it. ``park``: it and all later messages of its key go to a side list, in
    order; other keys go on.
    """

    BLOCK = "block"
    SKIP = "skip"
    PARK = "park"


class MessageModel(StrEnum):
    """``clustering``: members share the partitions out. ``broadcasting``: each has all, and offsets of its own."""

    CLUSTERING = "clustering"
    BROADCASTING = "broadcasting"


class LeaseClock(StrEnum):
    """By what a fenced lease is over. ``margin``: the clocks of both programs, which differ by so much at most.

    ``observation``: nobody was seen to renew it for a whole lease, by the time of whoever wants it.
    """

    MARGIN = "margin"
    OBSERVATION = "observation"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeRules:
    """``own_at_once``: a partition whose lock was granted counts as locked; otherwise only the next renewal says so.

    ``hurries``: while it has not all that it is assigned, a member rebalances every ``rebalance_least``.
    ``renews_twice``: a second timer renews locks, and it stops last. ``holds_dropped``: a partition whose revoke waits
    for its listener is still renewed, and a stop unlocks it. ``dead_letters_wait``: a dead letter is listed after the
    delay of its level. ``counts_last``: the failed attempts that it reports include the last one.
    """

    own_at_once: bool = True
    hurries: bool = True
    renews_twice: bool = True
    holds_dropped: bool = False
    release: Release = Release.FORCED
    dead_letters_wait: bool = False
    counts_last: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumerSettings:
    """Settings of one group. ``batch``: messages that a listener gets at once. ``pulled``: messages read at once.

    ``credit`` and ``credit_bytes``: how many messages, and how much, a member caches a partition before it reads no
    more. ``span``: how far it reads beyond the lowest unfinished message, where there is no order by partition.
    ``threads``: how many listeners work at once. ``reconsumed_max``: a message that failed more often is dealt with as
    ``poison`` says. ``kept``: so many records behind the slowest group stay in a log. ``groups``: of the topic, as far
    as they are known beforehand; fenced logs are not trimmed before each of them has begun. ``clock_margin_ms``: how
    far the clocks of two programs may differ, for modes that go by them. ``lease_clock``: whether fenced leases do.
    """

    group: str = "group"
    times_ms: Times = field(default_factory=Times)
    rules: ModeRules = field(default_factory=ModeRules)
    assignment: str = "average"
    begins: Begin = Begin.FIRST
    order: Order = Order.PARTITION
    sharing: MessageModel = MessageModel.CLUSTERING
    batch: int = 1
    pulled: int = 32
    credit: int = 1_000
    credit_bytes: int = 100 * 2**20
    span: int = 2_000
    threads: int = 20
    reconsumed_max: int = FOREVER
    poison: Poison = Poison.SKIP
    kept: int = 10_000
    groups: tuple[str, ...] = ()
    clock_margin_ms: int = 0
    lease_clock: LeaseClock = LeaseClock.MARGIN

    @property
    def locks(self) -> bool:
        """Members hold the locks of their partitions."""
        return self.order is not Order.NONE and self.sharing is MessageModel.CLUSTERING

    def keeper(self, member: str) -> str:
        """Return the name under which offsets are kept: the group's, or ``member``'s if it gets everything."""
        return self.group if self.sharing is MessageModel.CLUSTERING else f"{self.group}/{member}"

    def __post_init__(self) -> None:
        if not self.group:
            raise ValueError(f"group must be a non-empty string, got {self.group!r}")
        for name, least, most in (
            ("batch", 1, 1_024),
            ("pulled", 1, 1_024),
            ("credit", 1, FOREVER),
            ("credit_bytes", 1, FOREVER),
            ("span", 1, FOREVER),
            ("threads", 1, 1_024),
            ("reconsumed_max", 0, FOREVER),
            ("kept", 0, FOREVER),
            ("clock_margin_ms", 0, FOREVER),
        ):
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be {least}..{most}, got {getattr(self, name)}")
