"""The row of docs/gmq-windows.md that a lost job belongs to, by the last command that the server executed for it."""

from dataclasses import dataclass, field

REACHED_BY_A_KILL = (
    "push_dies_after_pool",
    "killed_before_it_lists",
    "killed_before_it_puts_into_a_bucket",
    "pop_dies_after_taking",
    "pop_dies_after_reserving",
    "killed_before_it_writes_a_lease",
    "pop_reply_lost",
    "pop_reply_lost_ttr_0",
    "killed_during_a_scan",
    "scan_reply_lost",
)
"""The others need an error reply, two services, a stop in order, or a client that leaves."""

STOPPED_AT = {
    "push_dies_after_pool": "stopped_with_a_push_in_flight",
    "pop_dies_after_taking": "stopped_with_a_pop_in_flight",
    "pop_dies_after_reserving": "stopped_with_a_pop_in_flight",
    "pop_reply_lost_ttr_0": "stopped_with_a_pop_in_flight",
    "pop_reply_lost": "pop_reply_lost",
}
"""The same last command, when the service was stopped in order: the row of N2. Others do not explain a loss then."""


@dataclass
class Fate:
    """What clients know of one job."""

    delay_s: int
    ttr_s: int
    confirmed: bool = False
    received: int = 0
    received_now: bool = False
    acked: bool = False
    acking: bool = False
    reply_lost: bool = False


@dataclass
class Pool:
    """Of one job, as the server has it after a kill."""

    there: bool
    listed: bool
    places: list[str] = field(default_factory=list)


def row_of(job_id, fate, pool, log):
    """None if the job is not lost; ``""`` if it is, and no row has it. ``pop_reply_lost`` loses none."""
    last, number = log.last.get(job_id.encode(), ("", 0))
    if not pool.there:
        gone_unseen = fate.confirmed and not fate.received and not fate.acking
        if not gone_unseen:
            return None
        return "pop_reply_lost_ttr_0" if fate.ttr_s == 0 and last in ("ack", "DEL") else ""
    if pool.listed:
        waits_unseen = last in ("lease", "HINCRBY") and not fate.received and not fate.reply_lost
        fate.reply_lost = fate.reply_lost or waits_unseen
        return "pop_reply_lost" if waits_unseen else None
    match last:
        case "push" | "HMSET":
            if not fate.confirmed:
                return "push_dies_after_pool"
            return "killed_before_it_puts_into_a_bucket" if fate.delay_s > 0 else "killed_before_it_lists"
        case "RPOP":
            return "pop_dies_after_taking"
        case "reserve" | "HSET" | "HINCRBY":
            return "killed_before_it_writes_a_lease" if fate.received_now else "pop_dies_after_reserving"
        case "due":
            return "killed_during_a_scan" if log.listed.get(number) else "scan_reply_lost"
    return ""
