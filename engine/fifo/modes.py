"""The versions of RocketMQ that a group can be, and the profiles of their times."""

from enum import StrEnum

from zonelab.engine.fifo.settings import HARD_CODED, ConsumerSettings, ModeRules, Release, Times


class GroupMode(StrEnum):
    """Behaviour of a group: as which version of RocketMQ (measured: 4.9.4 and 5.3.1), or with tokens that
    zones check.
    """

    ROCKETMQ_4_9 = "rocketmq-4.9"
    ROCKETMQ_5_3 = "rocketmq-5.3"
    FENCED = "fenced"


class Profile(StrEnum):
    """``original``: RocketMQ's defaults. ``as-measured``: what can be set there divided by 20. ``scaled``: all is."""

    ORIGINAL = "original"
    AS_MEASURED = "as-measured"
    SCALED = "scaled"


FACTOR = 20

_RULES = {
    GroupMode.ROCKETMQ_5_3: ModeRules(),
    GroupMode.ROCKETMQ_4_9: ModeRules(
        own_at_once=False,
        hurries=False,
        renews_twice=False,
        holds_dropped=True,
        release=Release.DELAYED,
        dead_letters_wait=True,
        counts_last=False,
    ),
    GroupMode.FENCED: ModeRules(renews_twice=False, release=Release.DRAINED),
}

_TIMES = {
    GroupMode.ROCKETMQ_5_3: Times(),
    GroupMode.ROCKETMQ_4_9: Times(first_pull=0, revoke_wait=1_000),
    GroupMode.FENCED: Times(first_pull=0, revoke_wait=10_000, relock_retry=1_000, leave=0),
}

FENCED_RETRIES = 16
"""RocketMQ's for concurrent consumers: a message does not hold up its partition for ever."""

MARGIN_SHARE = 20
"""Clocks of two programs may differ by a lease divided by this."""


def group_settings(mode: GroupMode, profile: Profile = Profile.SCALED, *, factor: int = FACTOR) -> ConsumerSettings:
    """Settings of a group in ``mode``. ``factor``: what ``scaled`` divides by; the others have their own."""
    times = _TIMES[mode]
    if profile is Profile.SCALED:
        times = times.divided(factor)
    elif profile is Profile.AS_MEASURED:
        times = times.divided(FACTOR, keep=HARD_CODED)
    rules = _RULES[mode]
    if mode is GroupMode.FENCED:
        margin_ms = times.lease // MARGIN_SHARE
        return ConsumerSettings(times_ms=times, rules=rules, reconsumed_max=FENCED_RETRIES, clock_margin_ms=margin_ms)
    return ConsumerSettings(times_ms=times, rules=rules)
