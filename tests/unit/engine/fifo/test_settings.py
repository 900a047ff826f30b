"""Goal: the profiles keep RocketMQ's proportions, and settings that no group can have are refused in one line."""

import pytest

from zonelab.engine.fifo.modes import Mode, Profile, group_settings
from zonelab.engine.fifo.settings import ConsumerSettings, Times


@pytest.mark.parametrize("factor", [1, 20, 40])
def test_scaled_times_keep_their_proportions(mode, factor):
    times = group_settings(Mode(mode), factor=factor).times_ms
    assert times.lease == 60_000 // factor == 2 * times.client_lease == 3 * times.renew
    assert times.member_expiry == 2 * times.lease
    assert (times.suspend, times.first_pull) == (1_000 // factor, 500 // factor if mode.endswith("5.3") else 0)


def test_as_measured_divides_what_can_be_set_and_nothing_else(mode):
    times = group_settings(Mode(mode), Profile.AS_MEASURED).times_ms
    assert (times.lease, times.client_lease, times.renew, times.rebalance) == (3_000, 1_500, 1_000, 1_000)
    assert (times.pull_retry, times.flush_first, times.long_poll, times.relock_retry) == (1_000, 10_000, 15_000, 3_000)
    assert (times.revoke_wait, times.first_pull) == ((500, 500) if mode.endswith("5.3") else (1_000, 0))
    assert times.dead_letter_levels[3] == 30_000


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Times(lease=20_000), "lease must be longer than the time between renewals, 20000 ms, got 20000"),
        (lambda: Times(client_lease=5), "client_lease must be longer than renew, 20000 ms, got 5"),
        (lambda: Times(member_expiry=9), "member_expiry must be longer than heartbeat, 30000 ms, got 9"),
        (lambda: Times(suspend=0), "suspend must be at least 1 ms, got 0"),
        (lambda: Times().divided(0), "factor must be at least 1, got 0"),
        (lambda: ConsumerSettings(group=""), "group must be a non-empty string, got ''"),
        (lambda: ConsumerSettings(batch=1_025), "batch must be 1..1024, got 1025"),
        (lambda: ConsumerSettings(reconsumed_max=-1), "reconsumed_max must be 0..2147483647, got -1"),
    ],
)
def test_settings_out_of_range_are_refused(make, told):
    with pytest.raises(ValueError, match=f"^{told}$"):
        make()
