"""What a hardened queue counts beyond the original's figures, for whoever reads metrics."""

from engine.common.timings import Total
from engine.dyno.hardened.context import HardenedCounters


def totals_of(counters: HardenedCounters) -> tuple[Total, ...]:
    return (
        Total("lease_proven", "Leases that no vote confirmed but two zones showed", lambda: counters.proven),
        Total("lease_given_back", "Leases that nobody won, given back at once", lambda: counters.given_back),
        Total("lease_extended", "Leases that the heartbeat moved", lambda: counters.extended),
        Total("ack_refused", "Acks and extensions of leases that were lost", lambda: counters.refused),
        Total("record_mended", "Records for zones that lacked them or had an older one", lambda: counters.mended),
        Total("orphan_adopted", "Payloads without record that were listed", lambda: counters.adopted),
        Total("dead_letter", "Messages set aside", lambda: counters.set_aside),
        Total("shard_takeover", "Shards that were served for another zone", lambda: counters.taken_over),
    )
