"""The versions of RocketMQ that a group can be, and the profiles of their times."""

from enum import StrEnum

from engine.fifo.settings import HARD_CODED, ConsumerSettings, Release, Rules, Times


class Mode(StrEnum):
    """What a group does as which version of RocketMQ does it. Measured: 4.9.4 and 5.3.1."""

    ROCKETMQ_4_9 = "rocketmq-4.9"
    ROCKETMQ_5_3 = "rocketmq-5.3"


class Profile(StrEnum):
    """``original``: RocketMQ's defaults. ``as-measured``: what can be set there divided by 20. ``scaled``: all is."""

    ORIGINAL = "original"
    AS_MEASURED = "as-measured"
    SCALED = "scaled"


FACTOR = 20

_RULES = {
    Mode.ROCKETMQ_5_3: Rules(),
    Mode.ROCKETMQ_4_9: Rules(
        own_at_once=False,
        hurries=False,
        renews_twice=False,
        release=Release.DELAYED,
        dead_letters_wait=True,
        counts_last=False,
    ),
}

_TIMES = {Mode.ROCKETMQ_5_3: Times(), Mode.ROCKETMQ_4_9: Times(first_pull=0, revoke_wait=1_000)}


def group_settings(mode: Mode, profile: Profile = Profile.SCALED, *, factor: int = FACTOR) -> ConsumerSettings:
    """Settings of a group in ``mode``. ``factor``: what ``scaled`` divides by; the others have their own."""
    times = _TIMES[mode]
    if profile is Profile.SCALED:
        times = times.divided(factor)
    elif profile is Profile.AS_MEASURED:
        times = times.divided(FACTOR, keep=HARD_CODED)
    return ConsumerSettings(times_ms=times, rules=_RULES[mode])
