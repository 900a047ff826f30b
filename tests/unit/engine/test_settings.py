"""Goal: every number of every queue's settings has the default that is stated and is refused beyond its borders.

Method: tables of all fields, tried on both sides of each border; a field that is in no table fails.
"""

from dataclasses import fields
from typing import Any

import pytest

from zonelab.engine.dyno.hardened.settings import HardenedSettings
from zonelab.engine.dyno.v1.settings import DynoSettings
from zonelab.engine.dyno.v2.settings import PipelinedSettings
from zonelab.engine.fifo.modes import GroupMode, Profile, group_settings
from zonelab.engine.fifo.settings import (
    Begin,
    ConsumerSettings,
    LeaseClock,
    MessageModel,
    ModeRules,
    Order,
    Poison,
    Times,
)
from zonelab.engine.gmq.settings import GmqSettings
from zonelab.engine.youzan.settings import YouzanSettings

AS_OFTEN_AS_YOU_LIKE = 2_147_483_647
"""Java's largest int."""
MINUTE_MS, HOUR_MS = 60_000, 3_600_000

NEEDED: dict[type, dict[str, Any]] = {
    HardenedSettings: {"prefix": "p", "shards": ("a", "b"), "shard": "a", "instance": "a-1"},
    DynoSettings: {"prefix": "p", "shards": ("a", "b"), "shard": "a"},
    PipelinedSettings: {"prefix": "p", "shard": "a"},
    GmqSettings: {},
    YouzanSettings: {},
    ConsumerSettings: {},
}

NUMBERS = [
    # settings, field, default, least, most
    (HardenedSettings, "lease_ms", MINUTE_MS, 1, None),
    (HardenedSettings, "margin_ms", 1_000, 0, None),
    (HardenedSettings, "keeper_interval_ms", 1_000, 1, None),
    (HardenedSettings, "page", 50, 1, None),
    (HardenedSettings, "poll_interval_ms", 50, 1, None),
    (HardenedSettings, "retention_ms", 24 * HOUR_MS, 1, None),
    (HardenedSettings, "grace_ms", MINUTE_MS, 0, None),
    (HardenedSettings, "takeover_ms", 30_000, 1, None),
    (HardenedSettings, "hold_max_ms", HOUR_MS, 0, None),
    (HardenedSettings, "deliveries_max", None, 1, None),
    (DynoSettings, "unack_ms", MINUTE_MS, 1, None),
    (DynoSettings, "unack_interval_ms", MINUTE_MS, 1, None),
    (DynoSettings, "poll_interval_ms", None, 1, None),
    (DynoSettings, "unack_batch", 1_000, 1, None),
    (PipelinedSettings, "unack_ms", MINUTE_MS, 1, None),
    (PipelinedSettings, "unack_interval_ms", MINUTE_MS, 1, None),
    (PipelinedSettings, "poll_interval_ms", 10, 1, None),
    (PipelinedSettings, "unack_batch", 1_000, 1, None),
    (GmqSettings, "buckets", 3, 1, None),
    (GmqSettings, "ttr_s", 60, 0, 2**31),
    (GmqSettings, "ttr_buckets", 3, 1, 26),
    (GmqSettings, "poll_interval_ms", 50, 1, None),
    (YouzanSettings, "buckets", 3, 1, None),
    (YouzanSettings, "ttr_s", 60, 1, 24 * 3_600),
    (YouzanSettings, "poll_interval_ms", 50, 1, None),
    (YouzanSettings, "scan_interval_ms", None, 1, None),
    (YouzanSettings, "lock_ms", 10_000, 1, None),
    (ConsumerSettings, "batch", 1, 1, 1_024),
    (ConsumerSettings, "pulled", 32, 1, 1_024),
    (ConsumerSettings, "credit", 1_000, 1, AS_OFTEN_AS_YOU_LIKE),
    (ConsumerSettings, "credit_bytes", 104_857_600, 1, AS_OFTEN_AS_YOU_LIKE),
    (ConsumerSettings, "span", 2_000, 1, AS_OFTEN_AS_YOU_LIKE),
    (ConsumerSettings, "threads", 20, 1, 1_024),
    (ConsumerSettings, "reconsumed_max", AS_OFTEN_AS_YOU_LIKE, 0, AS_OFTEN_AS_YOU_LIKE),
    (ConsumerSettings, "kept", 10_000, 0, AS_OFTEN_AS_YOU_LIKE),
    (ConsumerSettings, "clock_margin_ms", 0, 0, AS_OFTEN_AS_YOU_LIKE),
]

OTHERS: dict[type, dict[str, Any]] = {
    HardenedSettings: {"payloads_compared": False, "without": ()},
    DynoSettings: {"single_ring": False, "compat": False, "without": ()},
    PipelinedSettings: {"compat": False, "without": ()},
    GmqSettings: {"prefix": "gmq", "topics": ("jobs",), "compat": False},
    YouzanSettings: {"prefix": "youzan", "topics": ("jobs",), "compat": False},
    ConsumerSettings: {
        "group": "group",
        "times_ms": Times(),
        "rules": ModeRules(),
        "assignment": "average",
        "begins": Begin.FIRST,
        "order": Order.PARTITION,
        "sharing": MessageModel.CLUSTERING,
        "poison": Poison.SKIP,
        "groups": (),
        "lease_clock": LeaseClock.MARGIN,
    },
}


@pytest.mark.parametrize(("kind", "name", "default", "least", "most"), NUMBERS)
def test_a_number_has_its_default_and_its_borders(kind, name, default, least, most):
    needed = NEEDED[kind]
    assert getattr(kind(**needed), name) == default
    for accepted in (least, most):
        if accepted is not None:
            assert getattr(kind(**{**needed, name: accepted}), name) == accepted
    for refused in (least - 1, None if most is None else most + 1):
        if refused is not None:
            with pytest.raises(ValueError, match=rf"^{name} must be .*{least}.*, got {refused}$"):
                kind(**{**needed, name: refused})


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (HardenedSettings, "lease-nx"),
        (DynoSettings, "tombstones"),
        (PipelinedSettings, "requeue-before-unlease"),
    ],
)
def test_mechanisms_of_another_queue_cannot_be_switched_off(kind, name):
    with pytest.raises(ValueError, match=f"^without must be among .*, got '{name}'$"):
        kind(**NEEDED[kind], without=(name,))


@pytest.mark.parametrize("kind", NEEDED)
def test_no_field_is_without_a_stated_default(kind):
    stated = {**OTHERS[kind], **{name: default for each, name, default, *_ in NUMBERS if each is kind}}
    made = kind(**NEEDED[kind])
    assert {each.name: getattr(made, each.name) for each in fields(kind)} == NEEDED[kind] | stated


@pytest.mark.parametrize(
    ("settings", "shown", "compat", "otherwise"),
    [
        (DynoSettings, "unack_ms", 60, 60_000),
        (DynoSettings, "pop_poll_ms", 200, 50),
        (YouzanSettings, "scan_ms", 1_000, 100),
    ],
)
def test_what_is_not_given_is_as_the_original_has_it_with_compat(settings, shown, compat, otherwise):
    field = {"pop_poll_ms": "poll_interval_ms", "scan_ms": "scan_interval_ms"}.get(shown, shown)
    for wanted, expected in ((True, compat), (False, otherwise)):
        assert getattr(settings(**NEEDED[settings], compat=wanted), shown) == expected
        assert getattr(settings(**NEEDED[settings], compat=wanted, **{field: 7}), shown) == 7


ROCKETMQ_5_3_S = {
    "lease": 60,
    "client_lease": 30,
    "renew_first": 1,
    "renew": 20,
    "rebalance": 20,
    "rebalance_least": 1,
    "first_pull": 0.5,
    "pull_retry": 1,
    "pull_idle": 120,
    "long_poll": 15,
    "credit_retry": 0.05,
    "relock": 0.1,
    "relock_in_loop": 0.01,
    "relock_retry": 3,
    "resume": 0.01,
    "suspend": 1,
    "suspend_least": 0.01,
    "suspend_most": 30,
    "slice": 60,
    "revoke_wait": 0.5,
    "forced_unlock": 20,
    "flush_first": 10,
    "flush": 5,
    "leave": 0.05,
    "heartbeat": 30,
    "route": 30,
    "member_expiry": 120,
    "member_scan": 10,
}
"""The times of its sources, in seconds."""

DELAY_LEVELS_S = (1, 5, 10, 30, 60, 120, 180, 240, 300)
LOOKS_MS = {"idle": 5, "notice": 5}
"""Not RocketMQ's, and scaled by no profile."""
NOT_SET_THERE = """
    revoke_wait first_pull pull_retry long_poll flush_first renew_first credit_retry relock relock_in_loop relock_retry
    resume suspend_least suspend_most leave
"""
OTHER_TIMES_MS = {
    GroupMode.ROCKETMQ_5_3: {},
    GroupMode.ROCKETMQ_4_9: {"first_pull": 0, "revoke_wait": 1_000},
    GroupMode.FENCED: {"first_pull": 0, "revoke_wait": 10_000, "relock_retry": 1_000, "leave": 0},
}


@pytest.mark.parametrize("mode", GroupMode)
def test_times_are_rocketmqs_and_each_profile_divides_those_that_it_names(mode):
    times_ms = {name: round(1_000 * seconds) for name, seconds in ROCKETMQ_5_3_S.items()} | OTHER_TIMES_MS[mode]
    levels_ms = tuple(1_000 * level for level in DELAY_LEVELS_S)
    for profile, divisor, kept in (
        (Profile.ORIGINAL, 1, ""),
        (Profile.AS_MEASURED, 20, NOT_SET_THERE),
        (Profile.SCALED, 20, ""),
    ):
        divided = {
            name: value if name in kept.split() else max(1, value // divisor) if value else 0
            for name, value in times_ms.items()
        }
        levels = levels_ms if kept else tuple(level // divisor for level in levels_ms)
        made = group_settings(mode, profile)
        assert made.times_ms == Times(**divided, **LOOKS_MS, dead_letter_levels=levels)
        fenced = mode is GroupMode.FENCED
        assert made.clock_margin_ms == (made.times_ms.lease // 20 if fenced else 0)
        assert made.reconsumed_max == (16 if fenced else AS_OFTEN_AS_YOU_LIKE)


@pytest.mark.parametrize("name", [*ROCKETMQ_5_3_S, *LOOKS_MS])
def test_a_time_of_a_group_is_at_least_a_millisecond_but_for_two(name):
    least = 0 if name in ("first_pull", "leave") else 1
    with pytest.raises(ValueError, match=f"^{name} must be at least {least} ms, got {least - 1}$"):
        Times(**{name: least - 1})
    tied = {"lease": "renew", "client_lease": "renew", "member_expiry": "heartbeat"}
    if name not in tied:
        assert getattr(Times(**{name: least}), name) == least
        return
    shorter = getattr(Times(), tied[name])
    assert getattr(Times(**{name: shorter + 1}), name) == shorter + 1
    with pytest.raises(ValueError, match=f"^{name} must be longer than .*{shorter} ms, got {shorter}$"):
        Times(**{name: shorter})


def test_members_lock_where_there_is_an_order_and_partitions_are_shared_out():
    for order in Order:
        for sharing in MessageModel:
            made = ConsumerSettings(group="g", order=order, sharing=sharing)
            assert made.locks is (order is not Order.NONE and sharing is MessageModel.CLUSTERING)
            assert made.keeper("m") == ("g" if sharing is MessageModel.CLUSTERING else "g/m")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Times().divided(0), "factor must be at least 1, got 0"),
        (lambda: ConsumerSettings(group=""), "group must be a non-empty string, got ''"),
    ],
)
def test_a_group_without_a_name_or_with_no_time_is_refused(make, told):
    with pytest.raises(ValueError, match=f"^{told}$"):
        make()
